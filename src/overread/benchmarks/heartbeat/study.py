"""A run as arrays: its videos, what every reader said of them, and what measures are made of it.

Seeds and passes are never resampled: ten seeds of a video are not ten videos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.marks import (
    ANSWERED,
    UNANSWERED,
    Average,
    Facts,
    Marks,
    Phase,
    facts_of,
    marks_of,
)
from overread.benchmarks.heartbeat.volumes import kept_in, methods_of
from overread.case import Measure
from overread.measuring.arrays import RunArrays
from overread.measuring.estimates import Estimate, Floats, Mask, Resampling
from overread.measuring.notes import NOTHING, noted, remarked
from overread.measuring.specs import SHARE_OF, Condition, Counted, Estimator, Spec
from overread.measuring.units import SHARE, Unit

if TYPE_CHECKING:
    from overread.benchmarks.base import Tables

ASKED: Final = "asked"
"""Records of how much a run asks, by `of`: seeds, passes of each, frames of the longest window."""
TIES_WRONG: Final = "ties_wrong"
"""The flag of passes whose votes, where they tie, count as wrong."""
# Of more columns (a correlation per seed) a share of the resamples must do.
_WIDE: Final = 8


class HeartRun(RunArrays):
    """The videos of a run and its readers' marks, under one edition."""

    def __init__(self, tables: Tables, edition: Edition) -> None:
        self.edition: Final = edition
        self._cases: Final = tables.cases
        self.facts: Final = facts_of(tables.cases)
        self.marks: Final = tuple(marks_of(tables.answers, self.facts))
        # Of windows that somebody else showed nobody here knows what they left out.
        self.placed: Final = bool(tables.asked_under) and edition.window == "fixed"
        super().__init__(
            self.facts.cases,
            self.facts.patients,
            tables.readers,
            Resampling(
                self.facts.patients,
                boot=edition.boot,
                seed=edition.seed,
                of="videos",
                by_content=True,
                robust=edition.robust,
            ),
            columns={
                name: np.select(parts, words, "")
                for name, words, parts in _parted(self.facts)
                if not parts[-1].all()
            },
            orders={name: words for name, words, _ in _parted(self.facts)},
        )

    @cached_property
    def volumes(self) -> Mapping[str, Floats]:
        """The ventricle's volumes by case, one per frame of the clip, where they were kept."""
        return kept_in(self._cases, "frame_volumes")

    @cached_property
    def areas(self) -> Mapping[str, Floats]:
        """The same of the masks' areas."""
        return kept_in(self._cases, "frame_areas")

    @cached_property
    def volume_method(self) -> str:
        """How the volumes were got, which is printed with what is made of them."""
        return methods_of(self._cases)

    @property
    def over(self) -> Literal["seeds", "videos"]:
        """Which mean is the headline: the paper's over seeds, or ours over videos."""
        return "seeds" if self.edition.aggregation == "truncated" else "videos"

    @cached_property
    def asked(self) -> list[str]:
        """The readers with any answer, in their order."""
        return list(dict.fromkeys(marks.reader for marks in self.marks))

    def like(self, marks: Marks, **other: str) -> Marks | None:
        """The same reader's marks of a setting that differs in this."""
        wanted = {"reader": marks.reader, **marks.by(), **other}
        return next((m for m in self.marks if {"reader": m.reader, **m.by()} == wanted), None)


def _parted(facts: Facts) -> Iterator[tuple[str, list[str], list[Mask]]]:
    """Clips below, between and above two values: per cent of EF, frames per second."""
    for name, values, low, high in (("ef", facts.ef, 40, 50), ("fps", facts.fps, 40, 60)):
        words = [f"below {low}", f"{low} to {high}", f"{high} or more", "unknown"]
        parts = [values < low, (values >= low) & (values < high), values >= high, np.isnan(values)]
        yield name, words, parts


# ---------------------------------------------------------------- what specs are made of


Better = Literal["higher", "lower"] | None
Made = Iterator[Estimate | Measure]
# What a measure by phase is made of: the run, the reader's marks, the phase and a bare record.
MakePhase = Callable[[Any, Any, Phase, Measure], Made]


def phase_spec(
    name: str,
    says: str,
    of: Callable[[Any, Any, Phase], Counted],
    unit: Unit = SHARE,
    better: Better = "higher",
    *,
    tasks: Sequence[str] = ("t1",),
    when: Callable[[HeartRun, Marks, Phase], bool] = lambda run, marks, phase: True,
    estimate: Estimator = SHARE_OF,
) -> Spec:
    """A measure of values by video and seed, given by phase in these tasks."""

    def conditions(run: HeartRun, marks: Marks) -> Iterable[Condition]:
        if marks.task not in tasks:
            return ()
        return [marks.by(phase) for phase in marks.phases if when(run, marks, phase)]

    def counted(run: HeartRun, marks: Marks, condition: Condition) -> Counted:
        return of(run, marks, "ed" if condition["phase"] == "ed" else "es")

    return Spec(
        name=name,
        says=says,
        of=counted,
        unit=unit,
        better=better,
        conditions=conditions,
        estimate=estimate,
    )


def made_spec(
    name: str,
    says: str,
    make: Callable[[Any, Any], Made] = lambda run, marks: iter(()),
    unit: Unit = SHARE,
    better: Better = None,
) -> Spec:
    """A measure that no table of values by video holds; of no reader where nothing makes it."""
    return Spec(name=name, says=says, make=make, unit=unit, better=better)


def made_by_phase(
    name: str,
    says: str,
    make: MakePhase,
    unit: Unit = SHARE,
    better: Better = None,
    *,
    tasks: Sequence[str] = ("t1",),
) -> Spec:
    """The same, given by phase in these tasks."""

    def every_phase(run: HeartRun, marks: Marks) -> Made:
        for phase in marks.phases if marks.task in tasks else ():
            bare = Measure(reader=marks.reader, measure=name, by=marks.by(phase), n=0)
            yield from make(run, marks, phase, bare)

    return made_spec(name, says, every_phase, unit, better)


def mean_estimate(
    record: Measure,
    average: Average,
    limits: tuple[float, float],
    *,
    seeds: bool = True,
    nothing: str | None = None,
) -> Estimate:
    """A mean with both spreads; `nothing` is said where there is none."""
    filled = msgspec.structs.replace(
        record,
        value=average.point,
        n=average.n,
        sd_seeds=average.sd_seeds if seeds else None,
        sd_videos=average.sd_videos,
    )
    return Estimate(
        record=filled if average.n else noted(filled, NOTHING, nothing),
        columns=average.columns,
        again=Average.again,
        counted=average.counted,
        limits=limits,
        coarse=average.columns.shape[1] > _WIDE,
    )


def averaged(
    over: Literal["seeds", "videos"] | None = None, *, nothing: str | None = None
) -> Estimator:
    """An estimator: the mean of values by video and seed; as the edition has it without `over`."""

    def estimate(record: Measure, counted: Counted, run: Any, unit: Unit) -> Estimate:
        average = Average(counted.table, over or run.over)
        told = _with_stops(record, counted, ANSWERED)
        return mean_estimate(told, average, unit.limits, nothing=nothing)

    return estimate


def _with_stops(record: Measure, counted: Counted, worst: int) -> Measure:
    """At some seeds the published code stops, though some video fared no worse than this there."""
    if counted.why is None or counted.why.ndim < 2:
        return record
    answered = ((counted.why <= worst) & counted.population[:, None]).any(axis=0)
    stopped = int((np.isnan(counted.table).all(axis=0) & answered).sum())
    return remarked(record, f"the published code stops at {stopped} seeds" if stopped else None)


def share_right(record: Measure, counted: Counted, run: Any, unit: Unit) -> Estimate | Measure:
    """The share of videos and seeds that are right.

    The authors' is the mean of the seeds' own; n counts videos x seeds in either.
    """
    if run.edition.unparsed_t2 == "wrong":
        average = Average(counted.table, "videos")
        return msgspec.structs.replace(
            SHARE_OF(record, counted, run, unit),
            sd_seeds=average.sd_seeds,
            sd_videos=average.sd_videos,
        )
    average = Average(counted.table, "seeds")
    made = mean_estimate(_with_stops(record, counted, UNANSWERED), average, unit.limits)
    n = int((~np.isnan(counted.table)).sum())
    return msgspec.structs.replace(made, record=msgspec.structs.replace(made.record, n=n))
