"""Digests of image files: read once, and a reply is kept under the pixels that were shown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from overread.case import Inline, Message, Overlay, Picture, Request, Source, Trial
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
    monkeypatch.setattr("overread.engine.sources.digest", lambda _: pytest.fail("read again"))
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

    def overwritten(what: Picture) -> object:
        film(tmp_path / "film.png", WHITE)
        return render(what)

    film(tmp_path / "film.png", BLACK)
    with monkeypatch.context() as patch:
        patch.setattr("overread.engine.studio.render", overwritten)
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
