"""A forecast of clips: frames count as pictures, and 36,000 trials take seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from overread.case import Clip, Message, Picture, Request, Source, Traits, Trial
from overread.engine import Sources, Store
from overread.imaging import lossless_clip
from overread.readers import parse_spec
from overread.runs import _planning, plan
from overread.runs._opening import Seat
from support.clip_files import frame
from support.readers import Scripted

SPEC = parse_spec("openai:m@http://127.0.0.1:1/v1")


def forecast(monkeypatch: pytest.MonkeyPatch, store: Store, trials, **traits: object):
    monkeypatch.setattr(_planning, "trials_of", lambda *_: trials)
    seat = Seat(Scripted(traits=Traits(**traits)), SPEC)
    return _planning._forecast(None, None, seat, store, False, None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as made:
        yield made


def write(folder: Path, n: int) -> list[Source]:
    data = lossless_clip([frame(number) for number in range(3)])
    for number in range(n):
        (folder / f"{number}.mkv").write_bytes(data + bytes([number]))
    return [Source(str(folder), f"{number}.mkv") for number in range(n)]


@pytest.mark.parametrize("known", [False, True], ids=["never read", "digests known"])
@pytest.mark.parametrize("form", ["images", "sheet", "video"])
def test_frames_count_as_pictures(
    monkeypatch, store: Store, tmp_path: Path, known: bool, form: str
) -> None:
    one, two = write(tmp_path, 2)
    if known:
        sources = Sources(store, 1)
        sources(one), sources(two)
        sources.keep()
    shown = [Clip(one, (0, 1, 2)), Clip(two, (0, 1)), Clip(one, (0, 1, 2))]

    def trials() -> Iterator[Trial]:
        for number, clip in enumerate(shown):
            yield Trial("c", {}, Request((Message("user", (clip, "x" * 40, str(number))),)))
        yield Trial("c", {}, Request((Message("user", (Picture(one), "y" * 40)),)))

    found = forecast(monkeypatch, store, trials, clips=form)
    assert (found.trials, found.calls) == (4, 4)
    assert found.pictures == 3 + 2 + 1  # the clip shown twice is rendered once
    assert found.undigested == (0 if known else 4)
    assert found.tokens_in == 4 * 10 + 256 * (3 + 2 + 3 + 1)


def test_a_text_reader_is_shown_none(monkeypatch, store: Store, tmp_path: Path) -> None:
    (one,) = write(tmp_path, 1)
    trials = [Trial("c", {}, Request((Message("user", (Clip(one, (0, 1)), "q")),)))]
    found = forecast(monkeypatch, store, lambda: trials, modality="text")
    assert (found.pictures, found.calls) == (0, 1)


def hearts(folder: Path, n: int) -> Path:
    """n clips of 40 frames, all in the authors' window, and masks that serve them all."""
    data = lossless_clip([np.full((8, 8), 3 * number, np.uint8) for number in range(40)])
    np.savez(folder / "masks.npz", lv=np.ones((40, 8, 8), np.uint8))
    rows = ["clip,ed,es,mask"]
    for number in range(n):
        (folder / f"{number}.mkv").write_bytes(data + bytes([number]))
        rows.append(f"{number}.mkv,11,28,masks.npz")
    (folder / "cases.csv").write_text("\n".join(rows))
    return folder / "cases.csv"


@pytest.mark.parametrize("known", [False, True], ids=["never read", "digests known"])
def test_the_papers_thirty_six_thousand_trials_are_planned_in_seconds(
    tmp_path: Path, known: bool
) -> None:
    cases, place = hearts(tmp_path, 100), tmp_path / "store.sqlite"
    if known:
        with Store(place) as store:
            keeper = Sources(store, 1)
            for name in ("masks.npz", *(f"{number}.mkv" for number in range(100))):
                keeper(Source(str(tmp_path), name))
            keeper.keep()
    began = time.perf_counter()
    (found,) = plan(
        "heartbeat", cases, [Scripted()], edition="authors", store=place, settings={"tasks": "t1"}
    )
    taken = time.perf_counter() - began
    assert (found.trials, found.calls) == (36_000, 36_000)
    assert found.undigested == (0 if known else 36_000)
    # With and without the overlay: the two contexts that have one show the same clip.
    assert found.pictures == 100 * 2 * 40
    assert taken < 5
