"""Guessers that stand beside the readers, as rows of their own: `baseline:NAME`.

They answer the windows that were shown, whoever read them: the first frame, the middle, what the
window's length gives away, and where the masks' area, or the volume, is largest and smallest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.heartbeat.chance import length_guess
from overread.benchmarks.heartbeat.ejection import frame_table
from overread.benchmarks.heartbeat.errors import Average, best_constant, others_median
from overread.benchmarks.heartbeat.frames import skill_of
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
            truth = shown.truth[phase]
            error = Average(np.abs(guesses[phase] - truth), study.over)
            if error.point is None:
                continue
            started = Measure(reader=f"baseline:{name}", measure="mae", by=by)
            yield draft(started, error, unit=1.0, limits=(0.0, np.inf))
            constant = Average(best_constant(truth, shown.facts.patients), study.over)
            started = Measure(reader=f"baseline:{name}", measure="skill", by=by)
            yield skill_of(started, error, constant, truth)


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
    return _extremes(shown, *frame_table(study, f"{name}s", values)) if values else None


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


def _extremes(shown: Marks, table: Floats, lengths: NDArray[np.int64]) -> dict[Phase, Floats]:
    """Where the window has its largest and its smallest value.

    Of the masks' area, this is the most that an overlay can give.
    """
    start = shown.facts.ed[:, None] - shown.truth["ed"]
    known = ~np.isnan(start) & ~np.isnan(shown.count)
    begin = np.where(known, start, 0).astype(np.int64)[:, :, None]
    frames = np.where(known, shown.count, 0).astype(np.int64)[:, :, None]
    local = np.arange(int(frames.max(initial=1)))
    place = begin + local
    held = (local < frames) & (place >= 0) & (place < lengths[:, None, None])
    video = np.arange(table.shape[0])[:, None, None]
    volume = np.where(held, table[video, np.where(held, place, 0)], np.nan)
    none = np.isnan(volume).all(axis=2)
    largest = np.where(np.isnan(volume), -np.inf, volume).argmax(axis=2)
    smallest = np.where(np.isnan(volume), np.inf, volume).argmin(axis=2)
    return {"ed": np.where(none, np.nan, largest), "es": np.where(none, np.nan, smallest)}
