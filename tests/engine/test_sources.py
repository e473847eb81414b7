"""Digests of image files: read once, and a reply is kept under the pixels that were shown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from overread.case import BadInput, Inline, Message, Overlay, Picture, Request, Source, Trial
from overread.engine import Sources, Store, Studio, Tally, ask, read_back
from overread.imaging import render
from support.readers import Scripted

BLACK, WHITE = 0, 255


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as made:
        yield made


def film(path: Path, grey: int) -> None:
    """Write a film; each grey has a time of its own, however coarse the clock of the disk is."""
    Image.new("L", (8, 8), grey).save(path)
    os.utime(path, (1_000 + grey, 1_000 + grey))


def picture(folder: Path, *masks: str) -> Picture:
    overlays = tuple(Overlay(Source(str(folder), mask)) for mask in masks)
    return Picture(Source(str(folder), "film.png"), overlays)


def test_a_file_is_read_once(store: Store, tmp_path: Path, monkeypatch) -> None:
    film(tmp_path / "film.png", BLACK)
    source = Source(str(tmp_path), "film.png")
    first = Sources(store, 1)
    found = first(source)
    first.keep()
    monkeypatch.setattr("overread.imaging.digest", lambda _: pytest.fail("read again"))
    assert first(source) == found
    assert Sources(store, 1)(source) == found


def test_a_picture_is_unchanged_while_its_files_are(store: Store, tmp_path: Path) -> None:
    for name in ("film.png", "mask.png"):
        film(tmp_path / name, BLACK)
    shown, plain = picture(tmp_path, "mask.png"), picture(tmp_path)
    sources = Sources(store, 1)
    assert sources.unknown([Request((Message("user", (shown,)),))]) == {
        shown.source,
        shown.operations[0].mask,
    }
    for source in (shown.source, shown.operations[0].mask):
        sources(source)
    sources.keep()
    assert sources.unchanged(shown)
    film(tmp_path / "mask.png", WHITE)
    assert not sources.unchanged(shown)
    assert sources.unchanged(plain)
    film(tmp_path / "film.png", WHITE)
    assert not sources.unchanged(plain)


def test_a_file_digested_a_moment_ago_is_unchanged(store: Store, tmp_path: Path) -> None:
    film(tmp_path / "film.png", BLACK)
    sources = Sources(store, 1)
    sources(picture(tmp_path).source)
    assert sources.unchanged(picture(tmp_path))  # though its digest is not committed yet


def test_a_file_that_went_is_no_longer_the_same(store: Store, tmp_path: Path) -> None:
    film(tmp_path / "film.png", BLACK)
    sources = Sources(store, 1)
    sources(picture(tmp_path).source)
    (tmp_path / "film.png").unlink()
    assert not sources.unchanged(picture(tmp_path))


def test_bytes_in_memory_never_change(store: Store) -> None:
    assert Sources(store, 1).unchanged(Picture(Inline(b"a file's bytes")))


def test_no_reply_is_kept_for_a_file_that_changed_after_its_digest_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan() -> Iterator[Trial]:
        yield Trial("case", {}, Request((Message("user", (picture(tmp_path), "q")),)))

    def go(reader: Scripted) -> tuple[Tally, str]:
        with Store(tmp_path / "store.sqlite") as store:
            studio = Studio(Sources(store, 1))
            tally = asyncio.run(ask(plan, reader, store, studio, dataset=1))
            ((_, _, reason),) = read_back(plan, reader, store, studio)
            studio.close()
        return tally, reason

    def overwritten(what: Picture, opened: object) -> object:
        film(tmp_path / "film.png", WHITE)
        return render(what)

    film(tmp_path / "film.png", BLACK)
    with monkeypatch.context() as patch:
        patch.setattr("overread.imaging.render", overwritten)
        asked = Scripted()
        tally, reason = go(asked)
    assert (tally.answered, tally.failed) == (0, 1)
    assert not asked.asked
    assert "changed during the run" in reason
    # Under either content the same command asks: nothing stands under a key that is not its own.
    for grey in (BLACK, WHITE):
        film(tmp_path / "film.png", grey)
        tally, reason = go(Scripted())
        assert (tally.kept, tally.answered, reason) == (0, 1, "")


def written_in_place(path: Path, data: bytes) -> None:
    """Other bytes of the same length in the same file, with the time it had put back."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        assert len(data) == before.st_size
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(path)
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def until_the_clock_of_the_disk_goes_on(folder: Path) -> None:
    """Its ticks are of some milliseconds."""
    beside = folder / "tick"
    beside.touch()
    first = beside.stat().st_ctime_ns
    while beside.stat().st_ctime_ns == first:
        beside.touch()


def test_a_file_changed_in_place_with_its_old_size_and_time_is_asked_again(tmp_path: Path) -> None:
    source = picture(tmp_path).source

    def plan() -> Iterator[Trial]:
        yield Trial("case", {}, Request((Message("user", (Picture(source), "q")),)))

    def go() -> Tally:
        with Store(tmp_path / "store.sqlite") as store:
            studio = Studio(Sources(store, 1))
            tally = asyncio.run(ask(plan, Scripted(), store, studio, dataset=1))
            studio.close()
        return tally

    for grey in (BLACK, WHITE):
        Image.new("L", (8, 8), grey).save(tmp_path / f"{grey}.bmp")
    (tmp_path / "film.png").write_bytes((tmp_path / f"{BLACK}.bmp").read_bytes())
    assert go().answered == 1
    assert go().kept == 1
    until_the_clock_of_the_disk_goes_on(tmp_path)
    written_in_place(tmp_path / "film.png", (tmp_path / f"{WHITE}.bmp").read_bytes())
    tally = go()
    assert (tally.kept, tally.answered) == (0, 1)
    assert go().kept == 1


def test_another_file_under_the_name_with_its_size_and_time_is_noticed(
    store: Store, tmp_path: Path
) -> None:
    film(tmp_path / "film.png", BLACK)
    sources = Sources(store, 1)
    found = sources(picture(tmp_path).source)
    sources.keep()
    data = (tmp_path / "film.png").read_bytes()
    other = tmp_path / "other.png"
    other.write_bytes(bytes([*data[:-1], data[-1] ^ 1]))
    times = os.stat(tmp_path / "film.png")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(tmp_path / "film.png")
    assert Sources(store, 1)(picture(tmp_path).source) != found
    assert not sources.unchanged(picture(tmp_path))


def test_a_file_that_was_only_touched_is_unchanged(store: Store, tmp_path: Path) -> None:
    film(tmp_path / "film.png", BLACK)
    sources = Sources(store, 1)
    sources(picture(tmp_path).source)
    os.link(tmp_path / "film.png", tmp_path / "backup.png")
    os.utime(tmp_path / "film.png", (5, 5))
    assert sources.unchanged(picture(tmp_path))
    assert sources.unchanged(picture(tmp_path))


def test_a_store_of_an_earlier_version_learns_its_files_anew(store: Store, tmp_path: Path) -> None:
    """It kept the time alone where the mark stands now."""
    film(tmp_path / "film.png", BLACK)
    path = tmp_path / "film.png"
    known = os.stat(path)
    store.keep_sources([(str(path), known.st_size, known.st_mtime_ns, b"old" * 5 + b".", 1)])
    sources = Sources(store, 1)
    assert sources.peek(picture(tmp_path).source) is None
    found = sources(picture(tmp_path).source)
    sources.keep()
    assert Sources(store, 1).peek(picture(tmp_path).source) == found


def test_a_folder_of_masks_whose_names_are_not_utf_8_is_one_line(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "masks").mkdir()
    film(tmp_path / "masks" / "0.png", WHITE)
    source = Source(str(tmp_path), "masks")
    odd = os.path.join(os.fsencode(tmp_path / "masks"), b"note\xff.txt")
    with open(odd, "wb"):
        pass
    sources = Sources(store, 1)
    assert len(sources(source)) == 16  # what is no image does not matter
    os.rename(odd, odd[:-9] + b"m\xff1.png")
    with pytest.raises(BadInput, match="is not UTF-8. Rename the file") as refused:
        Sources(store, 1)(source)
    assert "\n" not in str(refused.value)
    assert str(refused.value).isascii()
