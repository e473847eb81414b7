"""Each picture is made once, and its film opened once for all that is shown of it."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from overread import imaging
from overread.case import (
    BadInput,
    Box,
    Fill,
    Message,
    Occlude,
    Operation,
    Overlay,
    Picture,
    Prompt,
    Reply,
    Request,
    Resize,
    Shown,
    Source,
    Trial,
)
from overread.engine import Sources, Store, Studio, ask
from overread.engine.studio import digests
from overread.imaging import Opened, _own_png, _png, _render, pixels, render
from support.readers import Scripted


def films(folder: Path, n: int = 1, side: int = 90, kind: str = "jpg") -> list[Source]:
    chance = np.random.default_rng(0)
    made = []
    for number in range(n):
        name = f"{number}.{kind}"
        Image.fromarray(chance.integers(0, 256, (side, side), dtype=np.uint8)).save(folder / name)
        made.append(Source(str(folder), name))
    return made


def conditions(source: Source) -> list[Picture]:
    """A film as it is, and twice with something of it hidden, each way in place."""
    sized = Resize(30, 30)
    hidden: list[tuple[Operation, ...]] = [
        (),
        (Fill(Box(3, 4, 9, 9)),),
        (Occlude(Box(12, 4, 9, 9), "mean"),),
        (Overlay(source, (255, 0, 0), 0.5),),
    ]
    return [Picture(source, (sized, *more)) for more in hidden]


@contextmanager
def studio_of(folder: Path) -> Iterator[Studio]:
    with Store(folder / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        try:
            yield studio
        finally:
            studio.close()


async def shown(studio: Studio, *pictures: Picture) -> list[Shown]:
    async def one(picture: Picture) -> Shown:
        asked = Request((Message("user", (picture,)),))
        digest, named = digests(asked, studio.sources)
        (made,) = (await studio.show(asked, digest, named)).pictures
        return made

    return await asyncio.gather(*map(one, pictures))


class Looking(Scripted):
    """Keeps the bytes it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bytes] = []

    async def reply(self, prompt: Prompt) -> Reply:
        self.seen += [picture.data for picture in prompt.pictures]
        return await super().reply(prompt)


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of pictures that were opened, masks left out."""
    names: list[str] = []
    plain = _render.open_image

    def counted(data: bytes, name: str) -> Image.Image:
        names.append(name)
        return plain(data, name)

    monkeypatch.setattr(_render, "open_image", counted)
    return names


def test_the_conditions_of_a_case_open_its_film_once(tmp_path: Path, openings: list[str]) -> None:
    sources = films(tmp_path, 5)
    plan = [picture for source in sources for picture in conditions(source)]
    with studio_of(tmp_path) as studio:
        asyncio.run(shown(studio, *plan))
    assert sorted(openings) == sorted(source.name for source in sources)


def test_what_is_made_of_a_kept_film_is_what_is_made_of_the_file(tmp_path: Path) -> None:
    """In whatever order: an operation changes its picture and never the film."""
    (source,) = films(tmp_path)
    alone = [render(picture).data for picture in conditions(source)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
        opened = Opened()
        found = {k: render(conditions(source)[k], opened).data for k in order}
        assert [found[k] for k in range(4)] == alone


def test_films_are_kept_within_their_bytes(tmp_path: Path, openings: list[str]) -> None:
    opened = Opened(most_bytes=3000)  # three of 30 x 30, and none of 90 x 90
    sources = films(tmp_path, 6)
    for source in sources:
        render(Picture(source, (Resize(30, 30),)), opened)
        assert opened.held_bytes <= 3000
    openings.clear()
    for source in reversed(sources):  # the last three are there
        render(Picture(source, (Resize(30, 30), Fill(Box(0, 0, 3, 3)))), opened)
    assert openings == [source.name for source in reversed(sources[:3])]
    held = opened.held_bytes
    render(Picture(sources[0]), opened)
    assert opened.held_bytes == held


def test_a_file_that_changed_is_opened_again(tmp_path: Path) -> None:
    (source,) = films(tmp_path, kind="png")
    opened, picture = Opened(), Picture(source, (Resize(30, 30),))
    before = render(picture, opened).data
    Image.new("L", (90, 90), 7).save(tmp_path / source.name)
    assert (pixels(render(picture, opened)) == 7).all()
    assert before != render(picture, opened).data


def test_a_film_that_cannot_be_opened_is_said_of_every_condition(tmp_path: Path) -> None:
    (source,) = films(tmp_path)
    (tmp_path / source.name).write_bytes(b"no picture")

    async def refusals(studio: Studio) -> list[object]:
        each = (shown(studio, picture) for picture in conditions(source))
        return await asyncio.gather(*each, return_exceptions=True)

    with studio_of(tmp_path) as studio:
        found = asyncio.run(refusals(studio))
        assert not studio._making
        assert not studio._opening
    assert all(isinstance(each, BadInput) and "unknown format" in str(each) for each in found)


def test_no_thread_waits_for_another_to_open_its_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one film is opened, for however many pictures, the other threads have other films."""
    sources = films(tmp_path, 3)
    with studio_of(tmp_path) as studio:
        studio.pool.shutdown()
        studio.pool = ThreadPoolExecutor(len(sources))
        opening, met = {source.name: threading.Event() for source in sources}, []
        plain = imaging.render

        def slow(picture: Picture, opened: Opened) -> Shown:
            opening[picture.source.name].set()
            met.append(all(event.wait(20) for event in opening.values()))
            return plain(picture, opened)

        monkeypatch.setattr(imaging, "render", slow)
        # All of the first film's come before any of the others'.
        plan = [picture for source in sources for picture in conditions(source)]
        asyncio.run(shown(studio, *plan))
    assert met == [True] * 12


def test_replies_given_to_the_same_pixels_in_other_bytes_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store filled when Pillow wrote every PNG answers everything, and nobody is asked again."""
    sources = films(tmp_path, 3) + films(tmp_path, 3, kind="png")
    plan = [
        Trial(f"{n}", {}, Request((Message("user", (picture, "?")),)))
        for n, picture in enumerate(p for source in sources for p in conditions(source))
    ]

    def asked(studio: Studio) -> tuple[int, list[bytes]]:
        reader = Looking()
        tally = asyncio.run(ask(lambda: plan, reader, studio.sources._store, studio, dataset=1))
        return tally.kept, reader.seen

    def pillows(image: Image.Image) -> bytes:
        file = io.BytesIO()
        image.save(file, "PNG", compress_level=1)
        return file.getvalue()

    with monkeypatch.context() as before:
        before.setattr(_png, "png", pillows)
        before.setattr(_own_png, "own_png", lambda data, name, operations: None)
        with studio_of(tmp_path) as studio:
            kept, sent = asked(studio)
    assert (kept, len(sent)) == (0, 24)
    with studio_of(tmp_path) as studio:
        assert asked(studio) == (24, [])
    (tmp_path / "store.sqlite").unlink()
    with studio_of(tmp_path) as studio:  # which would be sent otherwise, and look the same
        _, anew = asked(studio)
    assert not set(sent) & set(anew)
    same = [pixels(Shown("image/png", data)).tobytes() for data in sent]
    assert sorted(same) == sorted(pixels(Shown("image/png", data)).tobytes() for data in anew)


def test_rendered_pictures_are_kept_within_their_bytes(tmp_path: Path) -> None:
    """However many small pictures a run shows, it holds no more than so many megabytes of them."""
    with studio_of(tmp_path) as studio:
        assert studio.cache._most <= 64_000_000
        assert studio.opened._most <= 24_000_000


def test_what_was_made_is_let_go_when_nobody_is_asked_any_more(tmp_path: Path) -> None:
    (source,) = films(tmp_path)
    with studio_of(tmp_path) as studio:
        before = asyncio.run(shown(studio, *conditions(source)))
        assert studio.cache.held_bytes > 0 < studio.opened.held_bytes
        studio.forget()
        assert studio.cache.held_bytes == 0 == studio.opened.held_bytes
        after = asyncio.run(shown(studio, *conditions(source)))  # made anew
    assert [each.data for each in before] == [each.data for each in after]
    assert before[0] is not after[0]


@pytest.mark.slow
def test_a_film_shown_four_times_costs_little_more_than_once(tmp_path: Path) -> None:
    (source,) = films(tmp_path, side=1500)

    def seconds(pictures: list[Picture], opened: Opened | None) -> float:
        began = time.process_time()
        for picture in pictures:
            render(picture, opened)
        return time.process_time() - began

    ways = conditions(source)[:3]
    render(ways[0])
    once = min(seconds(ways[:1], Opened()) for _ in range(3))
    shared = min(seconds(ways, Opened()) for _ in range(3))
    assert shared < 1.6 * once
