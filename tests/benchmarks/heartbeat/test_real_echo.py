"""Real clips, where they are at hand: counted, overlaid, and measured through the whole engine.

Their phases were derived from their masks, so that `area` finds them under the overlay shows that
files, windows and frames are put together rightly, and nothing of how well it sees.
"""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import overread as ov
from overread.benchmarks.heartbeat.cases import probe_clip
from overread.benchmarks.heartbeat.edition import CORRECTED, Options
from overread.benchmarks.heartbeat.loading import load
from overread.benchmarks.heartbeat.volumes import ejected, neighbours, volumes_of
from overread.case import Clip, ClipMask, Source
from overread.imaging import Films, pixels, render_clip
from support.clip_files import masks_at
from support.commands import phantom_cache, workspace
from support.datasets import write_csv

__all__ = ["phantom_cache", "workspace"]

WINDOW = 30


class Beat(NamedTuple):
    """A row of beats.csv with its masks, and where its neighbours' frames begin."""

    clip: str
    number: str
    ed: int
    es: int
    mask: str
    first: float
    last: float

    @property
    def case_id(self) -> str:
        return f"{Path(self.clip).stem}-{self.number}"


@pytest.fixture(scope="module")
def echo(shared: Path) -> Path:
    return shared / "data" / "echo"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def beats(echo: Path) -> list[Beat]:
    masks = {row["clip"]: row["mask"] for row in rows_of(echo / "manifest.csv")}
    rows = [row for row in rows_of(echo / "beats.csv") if (echo / row["clip"]).is_file()]
    ends = [(row["clip"], int(row["ed_frame"]), int(row["es_frame"])) for row in rows]
    # Half way from one beat's end-systole to the next one's end-diastole.
    between = [
        (es + ed) / 2 if one == two else None for (one, _, es), (two, ed, _) in pairwise(ends)
    ]
    first = [-np.inf if edge is None else edge for edge in (None, *between)]
    last = [np.inf if edge is None else edge for edge in (*between, None)]
    return [
        Beat(clip, row["beat"], ed, es, masks[clip], *edges)
        for row, (clip, ed, es), edges in zip(
            rows, ends, zip(first, last, strict=True), strict=True
        )
    ]


# ---------------------------------------------------------------- frames and overlays


def test_every_clip_decodes_to_its_stated_number_of_frames(echo: Path) -> None:
    rows = [row for row in rows_of(echo / "manifest.csv") if (echo / row["clip"]).is_file()]
    assert rows
    for row in rows:
        stated = int(row["n_frames"])
        assert (
            probe_clip(echo, row["clip"], stated).frames
            == probe_clip(echo, row["clip"]).frames
            == stated
        )
        frames = Films(0).frames(Source(str(echo), row["clip"]), range(stated))
        assert len(frames) == stated
        assert {frame.shape[:2] for frame in frames} == {(int(row["height"]), int(row["width"]))}


def test_what_is_red_is_the_mask_and_the_rest_is_the_clip(echo: Path, beats: list[Beat]) -> None:
    """At both phases of every beat; the label's box says where the ventricle is."""
    for beat in beats:
        frames, source = (beat.ed, beat.es), Source(str(echo), beat.clip)
        plain = render_clip(Clip(source, frames)).frames
        over = ClipMask(Source(str(echo), beat.mask))
        shown = render_clip(Clip(source, frames, mask=over)).frames
        masks = masks_at(echo / beat.mask)
        for number, before, after in zip(frames, plain, shown, strict=True):
            grey, colour = pixels(before).astype(int), pixels(after).astype(int)
            grey = grey if grey.ndim == 3 else np.repeat(grey[..., None], 3, axis=2)
            red = colour[..., 0] - colour[..., 1:].max(axis=2) > 40
            assert np.array_equal(red, masks[number])
            assert np.array_equal(colour[~red], grey[~red])


def test_the_ventricle_is_larger_at_end_diastole(echo: Path, beats: list[Beat]) -> None:
    for beat in beats:
        masks = masks_at(echo / beat.mask)
        assert masks[beat.ed].sum() > masks[beat.es].sum()


# ---------------------------------------------------------------- through the engine


def cases_of(folder: Path, beats: list[Beat]) -> Path:
    """A csv in a folder of its own; the clips stay where they are."""
    rows = [(b.clip, b.case_id, b.ed, b.es, b.mask) for b in beats]
    return write_csv(folder / "cases.csv", ("clip", "case_id", "ed", "es", "mask"), rows)


def asked(cases: Path, echo: Path, frames: int) -> tuple[pl.DataFrame, list[Any]]:
    run = ov.run(
        "heartbeat",
        cases,
        ["control:area"],
        out=cases.parent / "run",
        store=cases.parent / "store.sqlite",
        settings={
            "root": str(echo),
            "contexts": "original,segmented",
            "formats": "edv_esv",
            "tasks": "t1",
            "seeds": "2020",
            "passes": "1",
            "boot": "100",
            "frames": str(frames),
        },
    )
    assert run.unanswered == 0
    return pl.read_parquet(run.folder / "answers.parquet"), run.records


@pytest.fixture(scope="module")
def groups(beats: list[Beat]) -> list[tuple[int, list[Beat]]]:
    """Every beat once, in the shortest window of the two that holds it."""
    short = [b for b in beats if 2.5 * abs(b.ed - b.es) >= WINDOW and abs(b.ed - b.es) < WINDOW]
    long = [b for b in beats if abs(b.ed - b.es) >= WINDOW]
    longest = max((abs(b.ed - b.es) for b in long), default=0)
    return [(WINDOW, short), *([(longest + 1, long)] if long else [])]


def test_area_finds_the_phases_under_the_overlay(
    echo: Path,
    beats: list[Beat],
    groups: list[tuple[int, list[Beat]]],
    workspace: Path,
    record_property: Any,
) -> None:
    errors: list[tuple[int, int]] = []
    unseen: list[tuple[int, int]] = []
    for frames, some in groups:
        by_id = {beat.case_id: beat for beat in some}
        answers, records = asked(cases_of(workspace / str(frames), some), echo, frames)
        assert answers["outcome"].unique().to_list() == ["answered"]
        assert set(answers["count"]) == {frames}
        for row in answers.iter_rows(named=True):
            beat, window = by_id[row["case"]], slice(row["start"], row["start"] + frames)
            assert (row["start"] + row["truth_ed"], row["start"] + row["truth_es"]) == beat[2:4]
            off = row["pred_ed"] - row["truth_ed"], row["pred_es"] - row["truth_es"]
            if row["context"] == "original":
                unseen.append(off)
                continue
            # The frames it got are the very frames of the window, in order, each with its mask.
            areas = masks_at(echo / beat.mask)[window].sum(axis=(1, 2)).astype(float)
            assert (row["pred_ed"], row["pred_es"]) == ejected(areas)
            if beat.first < window.start and window.stop - 1 < beat.last:
                errors.append(off)
        for context in ("original", "segmented"):
            found = [m for m in records if m.measure == "mae" and m.by.get("context") == context]
            own = [m for m in found if m.reader == "control:area"]
            assert len(own) == 2
            assert all(m.value is not None and m.n == answers["case"].n_unique() for m in own)
    assert len(errors) >= len(beats) // 2
    assert (np.abs(errors).mean(axis=0) <= 2).all()
    # Without the overlay its figure is whatever it is; it is there, and it is told.
    assert np.isfinite(unseen).all()
    record_property("mae_without_overlay", np.abs(unseen).mean(axis=0).tolist())


BLIND = ("first-frame", "middle-frame", "random", "length-prior", "order-biased")


def test_the_clips_own_masks_have_more_skill_than_who_does_not_look(
    echo: Path, workspace: Path
) -> None:
    """In the standard window, in both phases; and nobody who does not look has any."""
    run = ov.run(
        "heartbeat",
        echo / "beats.csv",
        [f"control:{name}" for name in (*BLIND, "area")],
        out=workspace / "blind",
        store=workspace / "blind.sqlite",
        settings={
            "tasks": "t1",
            "contexts": "original,segmented",
            "formats": "edv_esv,esv_edv",
            "seeds": "2020",
            "passes": "1",
        },
    )
    skills = [m for m in run.records if m.measure == "skill"]
    for phase in ("ed", "es"):
        own = [m for m in skills if m.by["phase"] == phase]
        (masks,) = (m for m in own if m.reader == "baseline:area")
        seen = [m for m in own if m.reader == "control:area" and m.by["context"] == "segmented"]
        names = {f"control:{name}" for name in BLIND}
        names |= {f"baseline:{name}" for name in ("first", "middle", "length")}
        blind = [m for m in own if m.reader in names]
        assert {m.reader for m in blind} == names
        for looking in (masks, *seen):
            assert looking.value > max(m.value for m in blind)
        assert all(m.low is None or m.low <= 1e-12 for m in blind)
    cases = pl.read_parquet(run.folder / "cases.parquet")
    # One clip beats so fast that its next end-diastole is in some window; it is on record.
    assert cases["other_ed"].list.len().sum() > 0


def test_neighbouring_beats_are_found_where_the_list_has_them(
    echo: Path, beats: list[Beat]
) -> None:
    for beat in beats:
        curve = volumes_of(masks_at(echo / beat.mask))
        others = neighbours(curve, beat.ed, beat.es)
        assert others is not None
        listed = [b for b in beats if b.clip == beat.clip and b != beat]
        for found, phase in zip(others, ("ed", "es"), strict=True):
            inner = [getattr(b, phase) for b in listed]
            inner = [k for k in inner if 5 < k < len(curve) - 20]
            assert all(min(abs(k - f) for f in found) <= 3 for k in inner)


def test_the_folder_itself_is_a_set_of_cases(echo: Path, beats: list[Beat]) -> None:
    cases, left = load(echo, CORRECTED, Options(videos=len(beats)))
    assert left == []
    assert [(c.clip, c.ed, c.es, c.mask) for c in cases] == [
        (b.clip, b.ed, b.es, b.mask) for b in beats
    ]
