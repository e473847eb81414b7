"""Guessers that stand beside the readers, as rows of their own: `baseline:NAME`.

They answer the windows that were shown, whoever read them: the first frame, the middle, what the
window's length gives away, and between which frames the masks' area, or the volume, falls most (or,
held to the annotated beat alone, where it is largest and smallest).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.heartbeat.beats import ejected
from overread.benchmarks.heartbeat.chance import length_guess
from overread.benchmarks.heartbeat.ejection import frame_table
from overread.benchmarks.heartbeat.errors import Average, others_median
from overread.benchmarks.heartbeat.frames import constant_errors, skill_of
from overread.benchmarks.heartbeat.marks import Floats, Marks, Phase
from overread.benchmarks.heartbeat.study import Draft, Study, draft
from overread.case import Measure

__all__ = ["BASELINES", "baselines"]

BASELINES: Final = ("first", "middle", "length", "area", "volume")
_PHASES: Final[tuple[Phase, ...]] = ("ed", "es")


def baselines(study: Study) -> Iterator[Draft]:
    """`mae` and `skill` of every guesser, by task and phase, over the run's windows."""
    shown = _windows(study)
    if shown is None:
        return
    for name in BASELINES:
        guesses = _guesses(name, shown, study)
        if guesses is None:
            continue
        for phase in _PHASES:
            by = {"task": "t1", "phase": phase}
            held = shown.held(guesses[phase], phase, study.edition.beat)
            error = Average(np.abs(held - shown.truth[phase]), study.over)
            if error.point is None:
                continue
            started = Measure(reader=f"baseline:{name}", measure="mae", by=by)
            yield draft(started, error, unit=1.0, limits=(0.0, np.inf))
            constant = Average(constant_errors(shown, study, phase), study.over)
            started = Measure(reader=f"baseline:{name}", measure="skill", by=by)
            places = shown.places(phase, study.edition.beat)
            yield skill_of(started, error, constant, places, study.edition.observers)


def _windows(study: Study) -> Marks | None:
    """The fullest setting of T1: windows are the same in all contexts and formats."""
    found = [marks for marks in study.marks if marks.task == "t1"]
    return max(found, key=lambda m: int((~np.isnan(m.count)).sum()), default=None)


def _guesses(name: str, shown: Marks, study: Study) -> dict[Phase, Floats] | None:
    count = shown.count
    if name == "first":
        first = np.where(np.isnan(count), np.nan, 0.0)
        return {"ed": first, "es": first}
    if name == "middle":
        middle = np.floor(count / 2)
        return {"ed": middle, "es": middle}
    if name == "length":
        return _length(shown, study)
    values = study.areas if name == "area" else study.volumes
    if not values:
        return None
    curves = _curves(shown, *frame_table(study, f"{name}s", values))
    return _extremes(curves) if study.edition.beat == "annotated" else _ejections(curves)


def _length(shown: Marks, study: Study) -> dict[Phase, Floats]:
    """What N says: both targets in the authors' window; no more than a constant if N never varies.

    Which windows were shown the data say, not the edition: imported ones are the authors' own.
    """
    if np.unique(shown.count[~np.isnan(shown.count)]).size < 2:
        patients = shown.facts.patients
        return {phase: others_median(shown.truth[phase], patients) for phase in _PHASES}
    both = {n: length_guess(int(n)) for n in np.unique(shown.count[~np.isnan(shown.count)])}
    early, late = (
        np.array([[both[n][which] if n in both else np.nan for n in row] for row in shown.count])
        for which in (0, 1)
    )
    # Which phase comes first N does not say: what most videos have.
    ed_first = np.nanmean(np.where(np.isnan(shown.truth["ed"]), np.nan,
                                   shown.truth["ed"] < shown.truth["es"])) >= 0.5  # fmt: skip
    return {"ed": early, "es": late} if ed_first else {"ed": late, "es": early}


def _curves(shown: Marks, table: Floats, lengths: NDArray[np.int64]) -> Floats:
    """The values of the frames shown (videos, seeds, frames), NaN where none is known."""
    known = ~np.isnan(shown.start) & ~np.isnan(shown.count)
    begin = np.where(known, shown.start, 0).astype(np.int64)[:, :, None]
    frames = np.where(known, shown.count, 0).astype(np.int64)[:, :, None]
    local = np.arange(int(frames.max(initial=1)))
    place = begin + local
    held = (local < frames) & (place >= 0) & (place < lengths[:, None, None])
    video = np.arange(table.shape[0])[:, None, None]
    return np.where(held, table[video, np.where(held, place, 0)], np.nan)


def _extremes(curves: Floats) -> dict[Phase, Floats]:
    """Where the window has its largest and its smallest value."""
    none = np.isnan(curves).all(axis=2)
    largest = np.where(np.isnan(curves), -np.inf, curves).argmax(axis=2)
    smallest = np.where(np.isnan(curves), np.inf, curves).argmin(axis=2)
    return {"ed": np.where(none, np.nan, largest), "es": np.where(none, np.nan, smallest)}


def _ejections(curves: Floats) -> dict[Phase, Floats]:
    """Where the window's values begin and end to fall most.

    Of the masks' area, this is about the most that an overlay can give.
    """
    found = np.full((*curves.shape[:2], 2), np.nan)
    for video, seeds in enumerate(curves):
        seen: dict[bytes, tuple[int, int]] = {}  # all seeds show one window
        for seed, curve in enumerate(seeds):
            if not np.isnan(curve).all():
                key = curve.tobytes()
                if key not in seen:
                    seen[key] = ejected(curve)
                found[video, seed] = seen[key]
    return {"ed": found[:, :, 0], "es": found[:, :, 1]}
