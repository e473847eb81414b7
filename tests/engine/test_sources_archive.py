"""Digests of what lies inside archives: known without reading, and noticed when it changes."""

from __future__ import annotations

import asyncio
import io
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from overread.case import Message, Picture, Request, Source, Trial
from overread.engine import Sources, Store, Studio, ask, read_back
from overread.imaging import render
from support.readers import Scripted


def png(grey: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (8, 8), grey).save(file, "PNG")
    return file.getvalue()


def packed(path: Path, greys: dict[str, int]) -> str:
    with zipfile.ZipFile(path, "w") as made:
        for name, grey in greys.items():
            made.writestr(name, png(grey))
    return str(path)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return packed(tmp_path / "dataset.zip", {"a.png": 1, "b.png": 2})


@pytest.fixture
def table(tmp_path: Path) -> str:
    images = [{"bytes": png(n), "path": ""} for n in range(3)]
    pl.DataFrame({"image": images}).write_parquet(tmp_path / "test.parquet")
    return str(tmp_path / "test.parquet")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as made:
        yield made


def test_a_member_is_known_at_once_and_the_store_is_not_asked(store, root, monkeypatch) -> None:
    monkeypatch.setattr("overread.imaging._archive.Archive.read", lambda *_: pytest.fail("read"))
    monkeypatch.setattr(store, "source", lambda *_: pytest.fail("asked"))
    first, again = Sources(store, 1), Sources(store, 1)
    for name in ("a.png", "b.png"):
        source = Source(root, name)
        peeked = first.peek(source)
        assert peeked is not None
        assert peeked == first(source) == again(source)
    first.keep()


def test_a_row_is_read_once_and_its_digest_kept_by_its_number(store, table, monkeypatch) -> None:
    rows = [Source(table, str(n)) for n in range(3)]
    first = Sources(store, store.dataset_id("medcmr", "set", "open"))
    assert [first.peek(row) for row in rows] == [None] * 3
    found = [first(row) for row in rows]
    assert len(set(found)) == 3
    first.keep()
    monkeypatch.setattr("overread.imaging.digest", lambda _: pytest.fail("read again"))
    assert [Sources(store, 1).peek(row) for row in rows] == found
    store.forget("set")
    assert [Sources(store, 1).peek(row) for row in rows] == [None] * 3


@pytest.mark.parametrize("kind", ["zip", "parquet"])
def test_an_archive_that_changed_or_went_is_noticed(store, root, table, kind) -> None:
    place = root if kind == "zip" else table
    picture = Picture(Source(place, "a.png" if kind == "zip" else "0"))
    sources = Sources(store, 1)
    sources(picture.source)
    assert sources.unchanged(picture)
    with open(place, "ab") as file:
        file.write(b" ")
    assert not sources.unchanged(picture)
    Path(place).unlink()
    assert not sources.unchanged(picture)


def test_no_reply_is_kept_for_an_archive_that_changed_during_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = packed(tmp_path / "dataset.zip", {"a.png": 1})

    def plan() -> Iterator[Trial]:
        yield Trial("case", {}, Request((Message("user", (Picture(Source(root, "a.png")), "q")),)))

    def go() -> tuple[int, str]:
        with Store(tmp_path / "store.sqlite") as store:
            studio = Studio(Sources(store, 1))
            tally = asyncio.run(ask(plan, Scripted(), store, studio, dataset=1))
            ((_, _, reason),) = read_back(plan, Scripted(), store, studio)
            studio.close()
        return tally.answered, reason

    def overwritten(what: Picture, opened: object) -> object:
        packed(tmp_path / "dataset.zip", {"a.png": 200, "b.png": 3})
        return render(what)

    with monkeypatch.context() as patch:
        patch.setattr("overread.imaging.render", overwritten)
        answered, reason = go()
    assert answered == 0
    assert "changed" in reason
    assert go() == (1, "")


def test_a_run_resumes_from_a_copy_of_the_archive(tmp_path: Path, root: str) -> None:
    """The key holds what a member is, not where its archive lies."""
    copy = tmp_path / "elsewhere.zip"
    copy.write_bytes(Path(root).read_bytes())

    def asked(place: str) -> int:
        def plan() -> Iterator[Trial]:
            for name in ("a.png", "b.png"):
                message = Message("user", (Picture(Source(place, name)), "q"))
                yield Trial(name, {}, Request((message,)))

        with Store(tmp_path / "store.sqlite") as store:
            studio = Studio(Sources(store, 1))
            tally = asyncio.run(ask(plan, Scripted(), store, studio, dataset=1))
            studio.close()
        return tally.answered

    assert asked(root) == 2
    assert asked(str(copy)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zip", "parquet"])
def test_an_archive_changed_in_place_with_its_old_size_and_time_is_noticed(
    store, tmp_path, root, table, kind
) -> None:
    def rows(name: str, first: int) -> None:
        images = [{"bytes": png(grey), "path": ""} for grey in (first, 2)]
        frame = pl.DataFrame({"image": images})
        frame.write_parquet(tmp_path / name, compression="uncompressed", statistics=False)

    rows("test.parquet", 1)
    rows("other.parquet", 9)
    packed(tmp_path / "other.zip", {"a.png": 9, "b.png": 2})  # the same names and sizes
    place = Path(root if kind == "zip" else table)
    source = Source(str(place), "a.png" if kind == "zip" else "0")
    before, known = place.stat(), Sources(store, 1)
    found = known(source)
    known.keep()
    data, other = place.read_bytes(), (tmp_path / f"other.{kind}").read_bytes()
    assert data != other
    time.sleep(0.05)  # the clock of a disk has ticks of some milliseconds
    with open(place, "r+b") as file:
        assert file.write(other) == len(data)
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (place.stat().st_size, place.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert not known.unchanged(Picture(source))
    time.sleep(0.6)  # an archive is looked at once in a while
    assert Sources(store, 1)(source) != found
