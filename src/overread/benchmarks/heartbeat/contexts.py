"""Does the overlay help, and does dropping the medical words? Paired by video."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.errors import Average
from overread.benchmarks.heartbeat.frames import error_of
from overread.benchmarks.heartbeat.marks import Floats, Marks
from overread.benchmarks.heartbeat.pairs import right_of
from overread.benchmarks.heartbeat.study import Draft, Metric, Study
from overread.case import Measure

__all__ = ["METRICS", "flip_p"]

# Each context against the one it changes a single thing of.
_VERSUS: Final = {"segmented": "original", "non_medical": "segmented"}
# Signs drawn at a time: some tens of megabytes.
_CHUNK: Final = 1 << 22


def flip_p(
    differences: Floats, patients: Any, flips: int, seed: int, kept: dict[Any, Any] | None = None
) -> float | None:
    """Two-sided p of a paired difference: patients' sums change sign by a fair coin.

    Seeded draws, the data themselves among them, so p is never 0. None with fewer than two
    patients; the order and the names of the patients do not matter.
    """
    _, where = np.unique(patients, return_inverse=True)
    sums = np.sort(np.abs(np.bincount(where, weights=differences)))
    if sums.size < 2:
        return None
    total = abs(float(differences.sum()))
    # Rounding must not decide a tie.
    least = total - 1e-9 * max(1.0, float(sums.sum()))
    beyond = sum(
        int((np.abs(some @ sums) >= least).sum())
        for some in _signs(sums.size, flips, seed, {} if kept is None else kept)
    )
    return (1 + beyond) / (1 + flips)


def _signs(patients: int, flips: int, seed: int, kept: dict[Any, Any]) -> Iterator[Floats]:
    """Rows of -1 and 1, some at a time; a set small enough is drawn once for all tests."""
    step = max(1, _CHUNK // patients)
    key = ("signs", patients, flips, seed)
    if key in kept:
        yield kept[key]
        return
    rng = np.random.default_rng(seed)
    for start in range(0, flips, step):
        rows = min(step, flips - start)
        coins = rng.integers(0, 2, size=(rows, patients), dtype=np.int8)
        drawn: Floats = 2.0 * coins.astype(np.float64) - 1
        if rows == flips:
            kept[key] = drawn
        yield drawn


def _versus(marks: Marks, study: Study) -> Marks | None:
    for other in study.marks:
        if (other.reader, other.task, other.format, other.context) == (
            marks.reader,
            marks.task,
            marks.format,
            _VERSUS.get(marks.context),
        ):
            return other
    return None


def _diff_mae(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    other = _versus(marks, study)
    if other is None or marks.task != "t1":
        return
    for phase in marks.phases:
        here, there = (error_of(m, study, phase).per_video for m in (marks, other))
        by = marks.by(phase) | {"versus": other.context}
        yield _difference(marks, study, "diff_mae", by, here - there, (-np.inf, np.inf))


def _diff_accuracy(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    other = _versus(marks, study)
    if other is None or marks.task != "t2":
        return
    here, there = (Average(right_of(m, study), "videos").per_video for m in (marks, other))
    by = marks.by(marks.phases[0]) | {"versus": other.context}
    yield _difference(marks, study, "diff_accuracy", by, here - there, (-1.0, 1.0))


def _difference(
    marks: Marks,
    study: Study,
    name: str,
    by: dict[str, str],
    each: Floats,
    limits: tuple[float, float],
) -> Draft:
    average = Average(each[:, None], "videos")
    record = Measure(reader=marks.reader, measure=name, by=by, value=average.point, n=average.n)
    if average.point is None:
        note = "no video was answered in both contexts"
        return Draft(record=msgspec.structs.replace(record, note=note))
    held = average.counted
    boot, seed = study.edition.boot, study.edition.seed
    p = flip_p(each[held], marks.facts.patients[held], boot, seed, study.kept)
    record = msgspec.structs.replace(
        record,
        sd_videos=average.sd_videos,
        p=p,
        family=None if p is None else f"{name}: {by['context']} versus {by['versus']}",
    )
    return Draft(
        record=record,
        columns=average.columns,
        again=Average.again,
        counted=held,
        unit=1.0,
        limits=limits,
    )


METRICS: Final = (
    Metric(
        name="diff_mae",
        says="mae less that of the context it is set beside; below 0 it helps",
        tasks=("t1",),
        make=_diff_mae,
    ),
    Metric(
        name="diff_accuracy",
        says="accuracy less that of the context it is set beside; above 0 it helps",
        tasks=("t2",),
        make=_diff_accuracy,
    ),
)
