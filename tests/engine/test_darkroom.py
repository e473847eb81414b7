"""Small PNG files are looked at by a process beside the run; nothing of it is seen from outside."""

import asyncio
import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from termios import FIONREAD
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from overread.case import BadInput, Box, Fill, Message, Picture, Request, Resize, Shown, Source
from overread.engine import Sources, Store, Studio
from overread.engine.darkroom import MANY, Darkroom, Looked
from overread.engine.studio import digests
from overread.imaging import digest, place, render
from overread.imaging.darkroom import HEAD, NOTHING, SMALL, looked_at

if TYPE_CHECKING:
    from overread.imaging.darkroom import Size

SIDE = 24
AS_IT_IS = (Resize(SIDE, SIDE),)


def films(folder: Path, n: int, kind: str = "png") -> list[Source]:
    chance = np.random.default_rng(1)
    made = []
    for number in range(n):
        name = f"{number}.{kind}"
        shade = np.add.outer(np.arange(SIDE), chance.integers(0, 200) + np.arange(SIDE))
        pixels = shade.astype(np.uint8)
        note = PngImagePlugin.PngInfo()
        note.add_text("Patient", f"Nobody {number}")
        options = {"pnginfo": note} if kind == "png" else {}
        Image.fromarray(pixels).save(folder / name, **options)
        made.append(Source(str(folder), name))
    return made


@contextmanager
def studio_of(folder: Path) -> Iterator[Studio]:
    with Store(folder / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        try:
            yield studio
        finally:
            studio.close()


def requests_of(sources: list[Source], *more: Fill) -> list[Request]:
    return [Request((Message("user", (Picture(s, (*AS_IT_IS, *more)), "?")),)) for s in sources]


async def shown(studio: Studio, requests: list[Request]) -> list[Shown | str]:
    """What each of these shows, or why it cannot be shown, named chunk by chunk as in a run."""

    async def one(request: Request) -> Shown | str:
        try:
            named = digests(request, studio.sources)
            return (await studio.show(request, *named)).pictures[0]
        except BadInput as error:
            return str(error)

    found: list[Shown | str] = []
    for first in range(0, len(requests), MANY):
        chunk = requests[first : first + MANY]
        await studio.digest(chunk)
        found += await asyncio.gather(*map(one, chunk))
    return found


def bytes_of(found: list[Shown | str]) -> list[bytes]:
    return [
        one if isinstance(one, bytes) else one.data for one in found if not isinstance(one, str)
    ]


def test_what_it_sends_is_what_would_be_rendered_here(tmp_path: Path) -> None:
    sources = films(tmp_path, 3 * MANY)
    requests = requests_of(sources)
    with studio_of(tmp_path) as studio:
        found = asyncio.run(shown(studio, requests))
        assert studio._darkroom._process is not None
    assert bytes_of(found) == [render(request.pictures[0]).data for request in requests]
    for one in found:
        assert isinstance(one, Shown)
        assert b"Nobody" not in one.data
        assert one.digest == hashlib.blake2b(one.data, digest_size=16).digest()


def test_each_file_is_read_once_for_its_name_and_for_what_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read in this process is what was read before that one was there, or must be made."""
    from overread.imaging import _files, _render

    here: list[str] = []
    for module in (_files, _render):
        plain = module.read
        monkeypatch.setattr(
            module, "read", lambda source, plain=plain: here.append(source.name) or plain(source)
        )
    sources = films(tmp_path, 3 * MANY)
    noise = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "80.png")  # larger than its pixels: made anew
    with studio_of(tmp_path) as studio:
        names: list[str] = []
        look = studio._darkroom.look
        monkeypatch.setattr(
            studio._darkroom,
            "look",
            lambda orders, *more: (
                names.extend(one.name for one, _ in orders) or look(orders, *more)
            ),
        )
        asyncio.run(shown(studio, requests_of(sources)))
    assert len(names) == len(set(names))
    assert set(names) | set(here) == {source.name for source in sources}
    assert set(names) & set(here) <= {"80.png", *(f"{n}.png" for n in range(MANY))}
    assert len(names) >= 2 * MANY


def test_names_are_those_that_threads_give(tmp_path: Path) -> None:
    sources = films(tmp_path, 2 * MANY) + films(tmp_path, MANY, "jpg")
    with studio_of(tmp_path) as studio:
        asyncio.run(shown(studio, requests_of(sources)))
        assert [studio.sources(one) for one in sources] == [digest(one) for one in sources]


def test_files_with_something_hidden_are_named_there_and_rendered_here(tmp_path: Path) -> None:
    requests = requests_of(films(tmp_path, 2 * MANY), Fill(Box(2, 2, 4, 4)))
    with studio_of(tmp_path) as studio:
        found = asyncio.run(shown(studio, requests))
    assert bytes_of(found) == [render(request.pictures[0]).data for request in requests]


def test_odd_files_are_refused_in_the_words_of_the_decoder(tmp_path: Path) -> None:
    sources = films(tmp_path, 3 * MANY)
    whole = (tmp_path / "40.png").read_bytes()
    (tmp_path / "40.png").write_bytes(whole[:-30])
    (tmp_path / "41.png").write_bytes(b"")
    (tmp_path / "42.png").write_bytes(b"\xff\xd8 no picture")
    (tmp_path / "43.png").unlink()
    os.chmod(tmp_path / "44.png", 0)
    blank = io.BytesIO()
    Image.new("RGBA", (SIDE, SIDE)).save(blank, "PNG")  # has alpha: not sent as it stands
    (tmp_path / "45.png").write_bytes(blank.getvalue())
    odd = [Source(str(tmp_path), name) for name in ("../0.png", "caf\udce9.png", "no\0.png")]
    requests = requests_of([*sources, *odd])

    async def reasons() -> list[Shown | str]:
        with studio_of(tmp_path) as studio:
            return await shown(studio, requests)

    found = asyncio.run(reasons())
    for request, one in zip(requests, found, strict=True):
        try:
            assert isinstance(one, Shown)
            assert one.data == render(request.pictures[0]).data
        except (BadInput, AssertionError):
            with pytest.raises(BadInput) as refused:
                render(request.pictures[0])
            assert one == str(refused.value)
    refused_at = {n for n, one in enumerate(found) if isinstance(one, str)} - {44}  # root reads it
    assert refused_at == {40, 41, 42, 43, *range(3 * MANY, 3 * MANY + 3)}


def test_a_file_that_changes_between_its_name_and_its_sending_is_not_sent(tmp_path: Path) -> None:
    sources = films(tmp_path, 3 * MANY)
    requests = requests_of(sources)
    with studio_of(tmp_path) as studio:
        asyncio.run(shown(studio, requests))
        named = digests(requests[70], studio.sources)
        studio.cache.forget()
        other = (tmp_path / "71.png").read_bytes()
        (tmp_path / "70.png").write_bytes(other)
        with pytest.raises(BadInput, match="changed during the run"):
            asyncio.run(studio.show(requests[70], *named))


def test_a_run_goes_on_without_it(tmp_path: Path) -> None:
    """Killed while it is asked: threads do what it does not answer."""
    requests = requests_of(films(tmp_path, 8 * MANY))
    with studio_of(tmp_path) as studio:

        async def killed_on_the_way() -> list[Shown | str]:
            await studio.digest(requests[:MANY])
            process = studio._darkroom._process
            assert process is not None
            killing = threading.Timer(0.02, os.kill, (process.pid, signal.SIGKILL))
            killing.start()
            found = await shown(studio, requests)
            killing.join()
            return found

        found = asyncio.run(killed_on_the_way())
    assert bytes_of(found) == [render(request.pictures[0]).data for request in requests]


def test_few_files_start_no_process(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        asyncio.run(shown(studio, requests_of(films(tmp_path, MANY - 1))))
        assert studio._darkroom._process is None


def test_it_is_gone_when_nobody_is_asked_any_more(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        asyncio.run(shown(studio, requests_of(films(tmp_path, 2 * MANY))))
        process = studio._darkroom._process
        assert process is not None
        studio.forget()
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


def test_files_of_other_kinds_start_no_process(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        asyncio.run(shown(studio, requests_of(films(tmp_path, 2 * MANY, "jpg"))))
        assert studio._darkroom._process is None


def test_where_none_can_be_started_it_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def fails(module: str) -> None:
        tried.append(module)
        raise OSError

    monkeypatch.setattr("overread.engine.darkroom.started", fails)
    requests = requests_of(films(tmp_path, 3 * MANY))
    with studio_of(tmp_path) as studio:
        found = asyncio.run(shown(studio, requests))
    assert bytes_of(found) == [render(request.pictures[0]).data for request in requests]
    assert len(tried) == 1


def opened(studio: Studio, folder: Path) -> None:
    """Have the process started, which many files are looked at for."""
    (folder / "first").mkdir()
    asyncio.run(shown(studio, requests_of(films(folder / "first", MANY))))
    assert studio._darkroom._process is not None


def test_a_name_is_of_the_file_that_stood_there(tmp_path: Path) -> None:
    """Where a link leads elsewhere by the time it is followed, neither file gets the other's name."""
    sources = films(tmp_path, MANY + 2)
    one, other = tmp_path / "0.png", tmp_path / "1.png"
    (tmp_path / "link.png").symlink_to(one)
    link = Source(str(tmp_path), "link.png")
    with studio_of(tmp_path) as studio:
        opened(studio, tmp_path)
        look = studio._darkroom.look

        def looked_late(orders: list[Any], *more: Any) -> Awaitable[None]:
            (tmp_path / "link.png").unlink()
            (tmp_path / "link.png").symlink_to(other)
            return look(orders, *more)

        studio._darkroom.look = looked_late  # type: ignore[method-assign]
        asyncio.run(studio.digest(requests_of([link, *sources[2:]])))
        assert studio.sources(link) == digest(link)
        studio.sources.keep()
        kept = Sources(studio.sources._store, 1)
        assert [kept(source) for source in sources] == [digest(source) for source in sources]


def test_what_is_sent_is_what_the_key_names(tmp_path: Path) -> None:
    """Also where the file was named anew meanwhile: by other bytes than the key was made of."""
    sources = films(tmp_path, 2)
    (request,) = requests_of(sources[:1])
    with studio_of(tmp_path) as studio:
        opened(studio, tmp_path)
        studio.cache.forget()  # films of the same bytes
        named = digests(request, studio.sources)
        (tmp_path / "0.png").write_bytes((tmp_path / "1.png").read_bytes())
        look = studio._darkroom.look

        def looked_and_named(orders: list[Any], *more: Any) -> Awaitable[None]:
            at = msgspec.structs.replace(place(sources[0]), digest=digest(sources[0]))
            studio.sources.take(sources[0], at)
            return look(orders, *more)

        studio._darkroom.look = looked_and_named  # type: ignore[method-assign]
        with pytest.raises(BadInput, match="changed during the run"):
            asyncio.run(studio.show(request, *named))


def test_no_more_is_kept_for_later_than_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of all are told, whatever the size of the files."""
    sources = films(tmp_path, 8 * MANY)
    requests = requests_of(sources)
    sent = len(render(requests[0].pictures[0]).data)
    monkeypatch.setattr("overread.engine.studio._AHEAD", 20 * sent)
    with studio_of(tmp_path) as studio:
        opened(studio, tmp_path)
        for _ in range(2):  # the second time there is as much room as the first
            studio.cache.forget()
            studio.sources._known.clear()
            asyncio.run(studio.digest(requests))
            assert 10 < len(studio.cache._kept) <= 24
        assert [studio.sources.peek(one) for one in sources] == [digest(one) for one in sources]
        found = asyncio.run(shown(studio, requests))
    assert bytes_of(found) == [render(request.pictures[0]).data for request in requests]


def test_what_lies_ready_is_bounded_in_bytes(tmp_path: Path) -> None:
    """The process waits for who has no time, and where a pipe has no room for orders they wait."""
    side, n = 256, 40
    chance = np.random.default_rng(1)
    whole = 0
    for number in range(n):
        pixels = chance.integers(0, 128, (side, side), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        whole += (tmp_path / f"{number}.png").stat().st_size
    sources = [Source(str(tmp_path), f"{number}.png") for number in range(n)]
    pictured = [(source, ((side, side),)) for source in sources]
    named = [(source, None) for source in sources * 50]

    async def looked(darkroom: Darkroom) -> list[list[Looked]]:
        found: list[list[Looked]] = []

        def look(orders: Any) -> asyncio.Future[None]:
            these: list[Looked] = []
            found.append(these)
            return asyncio.ensure_future(darkroom.look(orders, lambda _, one: these.append(one)))

        looking = [look(pictured), *(look(named) for _ in range(12))]
        await asyncio.sleep(0)
        time.sleep(0.5)
        there = array("i", [0])
        ioctl(darkroom._answers, FIONREAD, there)
        assert 0 < there[0] <= 1 << 20 < whole
        assert darkroom._unsent
        await asyncio.gather(*looking)
        return found

    (tmp_path / "first").mkdir()
    darkroom = Darkroom()
    try:
        darkroom.open(films(tmp_path / "first", MANY))
        shown, *others = asyncio.run(asyncio.wait_for(looked(darkroom), 120))
    finally:
        darkroom.close()
    assert [one.shown for one in shown] == [
        render(Picture(source, (Resize(side, side),))) for source in sources
    ]
    for each in others:
        assert [one.at for one in each] == [one.at for one in shown] * 50


def test_a_loop_that_ends_meanwhile_leaves_nobody_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Answers to who has gone are dropped without a word; whoever asks next is answered."""
    requests = requests_of(films(tmp_path, 4 * MANY))
    with studio_of(tmp_path) as studio:
        opened(studio, tmp_path)
        process = studio._darkroom._process
        assert process is not None

        async def breaks_off() -> None:
            os.kill(process.pid, signal.SIGSTOP)
            naming = asyncio.ensure_future(studio.digest(requests))
            while not studio._darkroom._asked:
                await asyncio.sleep(0.01)
            naming.cancel()

        asyncio.run(breaks_off())
        os.kill(process.pid, signal.SIGCONT)
        found = asyncio.run(asyncio.wait_for(shown(studio, requests), 60))
    assert bytes_of(found) == [render(request.pictures[0]).data for request in requests]
    assert caplog.records == []


def test_ending_it_answers_all_who_wait(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    requests = requests_of(films(tmp_path, 4 * MANY))
    with studio_of(tmp_path) as studio:
        opened(studio, tmp_path)
        process = studio._darkroom._process
        assert process is not None

        async def closed_on_the_way() -> bool:
            os.kill(process.pid, signal.SIGSTOP)
            naming = asyncio.ensure_future(studio.digest(requests))
            while not studio._darkroom._asked:
                await asyncio.sleep(0.01)
            studio._darkroom.close()
            return await asyncio.wait_for(naming, 60)

        assert asyncio.run(closed_on_the_way())
        assert all(studio.sources.peek(r.pictures[0].source) for r in requests)
    assert caplog.records == []


def test_who_asks_after_its_end_is_not_kept_waiting(tmp_path: Path) -> None:
    """Whether it was ended or ended by itself."""
    sources = films(tmp_path, MANY)
    orders = [(source, None) for source in sources]

    async def looked(darkroom: Darkroom) -> list[Looked]:
        found: list[Looked] = []
        await asyncio.wait_for(darkroom.look(orders, lambda _, one: found.append(one)), 20)
        return found

    for end in ("closed", "killed"):
        darkroom = Darkroom()
        darkroom.open(sources)
        assert len(asyncio.run(looked(darkroom))) == MANY
        process = darkroom._process
        assert process is not None
        if end == "closed":
            darkroom.close()
        else:
            os.kill(process.pid, signal.SIGKILL)
        assert asyncio.run(looked(darkroom)) == []
        assert not darkroom.takes(sources[0])
        assert not darkroom.open(sources)
        assert process.poll() is not None


def looked(source: Source, sizing: "Sequence[Size] | None" = None) -> tuple[bytes, bytes]:
    """What a file is called, and what may be sent of it."""
    path = os.path.join(source.root, source.name)
    head, *parts = looked_at(os.path.realpath(source.root), path, sizing)
    return HEAD.unpack(head)[0].strip(b"\0"), parts[-1] if parts else b""


def test_a_file_of_many_pixels_is_left_to_threads(tmp_path: Path) -> None:
    """Their budget is of one process; a file of 30 kB may stand for 30 MB of pixels."""
    Image.new("L", (6000, 5000)).save(tmp_path / "0.png")
    source = Source(str(tmp_path), "0.png")
    assert looked(source, ((6000, 5000),)) == (digest(source), b"")


def test_a_file_that_has_grown_is_left_to_threads(tmp_path: Path) -> None:
    (source,) = films(tmp_path, 1)
    with (tmp_path / "0.png").open("ab") as file:
        file.write(bytes(SMALL))
    assert looked(source) == (b"", b"")


def test_what_is_said_of_one_file(tmp_path: Path) -> None:
    (source,) = films(tmp_path, 1)
    own = render(Picture(source, AS_IT_IS)).data
    assert looked(source) == (digest(source), b"")
    assert looked(source, ((SIDE, SIDE),)) == (digest(source), own)
    assert looked(source, ((SIDE,), (SIDE, SIDE))) == (digest(source), own)
    assert looked(source, ((8, 8),)) == (digest(source), b"")
    assert looked(source, ((SIDE - 1,),)) == (digest(source), b"")
    assert looked(Source(source.root, "nowhere.png")) == (b"", b"")


def test_a_link_is_followed_no_further_than_the_root(tmp_path: Path) -> None:
    """And a pipe that nobody writes to keeps nobody waiting."""
    (tmp_path / "root").mkdir()
    (tmp_path / "other").mkdir()
    (within,) = films(tmp_path / "root", 1)
    films(tmp_path / "other", 1)
    (tmp_path / "root" / "in.png").symlink_to(tmp_path / "root" / "0.png")
    (tmp_path / "root" / "out.png").symlink_to(tmp_path / "other" / "0.png")
    (tmp_path / "root" / "round.png").symlink_to(tmp_path / "root" / "round.png")
    os.mkfifo(tmp_path / "root" / "pipe.png")
    base = str(tmp_path / "root")
    head, led, own = looked_at(base, f"{base}/in.png", ((SIDE, SIDE),))
    assert HEAD.unpack(head)[0] == digest(within)
    assert led.decode() == f"{base}/0.png"
    assert own
    for name in ("out.png", "round.png", "pipe.png", "nowhere.png", "no\0.png", "caf\udce9.png"):
        assert looked_at(base, f"{base}/{name}", ()) == (NOTHING,)
    (tmp_path / "linked").symlink_to(tmp_path / "root")
    linked = [Source(str(tmp_path / "linked"), name) for name in ("0.png", "in.png", "out.png")]
    found: list[Looked] = []

    async def all_looked(darkroom: Darkroom) -> None:
        await darkroom.look([(one, None) for one in linked], lambda _, one: found.append(one))

    darkroom = Darkroom()
    try:
        darkroom.open(linked * MANY)
        asyncio.run(all_looked(darkroom))
    finally:
        darkroom.close()
    assert [one.at for one in found[:2]] == [
        msgspec.structs.replace(place(one), digest=digest(one)) for one in linked[:2]
    ]
    assert found[2] == Looked()


def test_starting_it_imports_little(tmp_path: Path) -> None:
    """Typing and msgspec take three times as long as all the rest."""
    asked = "import sys, overread.imaging.darkroom; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{asked}"],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"typing", "msgspec", "re", "numpy", "PIL", "overread.case", "asyncio", "subprocess"}
    assert not heavy & set(done.stdout.split())
