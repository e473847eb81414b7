"""A run under one edition: its readers' marks, and the one resampling of videos behind all of them.

A measure is drafted with the columns its interval needs. All drafts of a reader are then finished
together, so the patients are drawn once. Seeds and passes are never resampled: ten seeds of a video
are not ten videos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.marks import (
    Average,
    Facts,
    Floats,
    Marks,
    Mask,
    facts_of,
    marks_of,
)
from overread.case import Measure

if TYPE_CHECKING:
    from overread.benchmarks.base import Tables

__all__ = ["Draft", "Making", "Metric", "Study", "draft", "joined", "proportion"]

# An interval of many columns (a correlation per seed) is drawn from this share of the resamples.
_WIDE: Final = 8
_SHARE: Final = 5
_TOGETHER: Final = 512


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A record, and what its interval is made of.

    `columns` (videos x m) are totalled in every resample and `again` makes the estimates of the
    totals. `unit` is the least error one video can make: where all videos agree resampling has no
    spread, and the interval then allows for as many videos off by one unit as Wilson's bound at 0
    of n leaves open. `limits` are the values the measure can take. `strictly` makes other estimates
    of the same totals, whose lower bound counts where it is the lower one.
    """

    record: Measure
    columns: Floats | None = None
    again: Callable[[Floats], Floats] | None = None
    strictly: Callable[[Floats], Floats] | None = None
    counted: Mask | None = None
    unit: float | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)


class Study:
    """The readers of a run. A class, for facts and chance are worked out once for all measures."""

    def __init__(
        self,
        tables: Tables,
        edition: Edition,
        volumes: Mapping[str, NDArray[Any]] | None = None,
        volume_method: str = "",
        areas: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.edition = edition
        self.areas = areas or {}
        # Of windows that somebody else showed nobody here knows what they left out.
        self.placed = bool(tables.asked_under) and edition.window == "fixed"
        self.facts: Final[Facts] = facts_of(tables.cases)
        self.marks: Final = tuple(marks_of(tables.answers, self.facts))
        self.volumes = volumes or {}
        self.volume_method = volume_method
        self.kept: dict[Any, Any] = {}

    @property
    def over(self) -> Any:
        """Which mean is the headline: the paper's over seeds, or ours over videos."""
        return "seeds" if self.edition.aggregation == "truncated" else "videos"

    @cached_property
    def readers(self) -> list[str]:
        return list(dict.fromkeys(marks.reader for marks in self.marks))

    def finish(self, drafts: Sequence[Draft]) -> list[Measure]:
        """The drafts with their intervals, in their order."""
        estimates: dict[int, Floats] = {}
        narrow = [i for i, d in enumerate(drafts) if d.columns is not None and _width(d) <= _WIDE]
        wide = [i for i, d in enumerate(drafts) if d.columns is not None and _width(d) > _WIDE]
        for places, boot in (
            (narrow, self.edition.boot),
            (wide, max(self.edition.boot // _SHARE, 2)),
        ):
            for some in _together(drafts, places):
                estimates |= self._resampled(drafts, some, boot)
        return [self._finished(d, estimates.get(place)) for place, d in enumerate(drafts)]

    def _resampled(
        self, drafts: Sequence[Draft], places: Sequence[int], boot: int
    ) -> dict[int, Floats]:
        """By place, a row of estimates for each way they are made."""
        from overread.stats import PatientWeights, canonical

        blocks: dict[int, Floats] = {}
        for place in places:
            columns = drafts[place].columns
            assert columns is not None
            blocks[id(columns)] = columns
        table = np.hstack(list(blocks.values()))
        ends = np.cumsum([block.shape[1] for block in blocks.values()])
        starts = ends - [block.shape[1] for block in blocks.values()]
        where = dict(zip(blocks, zip(starts, ends, strict=True), strict=True))
        patients = canonical(self.facts.patients, table)
        totals = PatientWeights(patients, n_boot=boot, seed=self.edition.seed).totals(table)
        found = {}
        for place in places:
            again = drafts[place].again
            assert again is not None
            start, end = where[id(drafts[place].columns)]
            strictly = drafts[place].strictly
            with np.errstate(all="ignore"):
                made = [one(totals[:, start:end]) for one in (again, strictly) if one is not None]
            found[place] = np.where(np.isfinite(made), made, np.nan)
        return found

    def _finished(self, made: Draft, estimates: Floats | None) -> Measure:
        from overread.stats import resample_interval

        record = made.record
        if estimates is None or record.value is None:
            return record
        counted = self.facts.patients if made.counted is None else self.facts.patients[made.counted]
        patients = int(np.unique(counted).size)
        if patients < 2:
            lonely = "one video has no interval" if counted.size < 2 else "one patient only"
            return msgspec.structs.replace(record, note=joined(record.note, lonely))
        low, high, sd = resample_interval(estimates[0], record.value)
        for more in estimates[1:]:
            lower = resample_interval(more, record.value)[0]
            low = lower if low is None or lower is None else min(low, lower)
        if low is not None and high is not None and _apart(low, high):
            low, high = max(low, made.limits[0]), min(high, made.limits[1])
            method = f"bootstrap of videos:{estimates.shape[1]}:{self.edition.seed}"
            return msgspec.structs.replace(record, low=low, high=high, sd_boot=sd, method=method)
        if made.unit is None:
            note = joined(record.note, "no interval: every resample gives the same")
            return msgspec.structs.replace(record, note=note)
        return _agreeing(made, patients)


def _agreeing(made: Draft, patients: int) -> Measure:
    """All videos alike: as many of them off by one unit as Wilson's bound leaves open."""
    from overread.stats import wilson

    value, unit = made.record.value, made.unit
    share = wilson(0, patients).high
    assert value is not None
    assert unit is not None
    assert share is not None
    return msgspec.structs.replace(
        made.record,
        low=max(value - unit * share, made.limits[0]),
        high=min(value + unit * share, made.limits[1]),
        method="all videos agree: wilson at 0",
    )


def draft(record: Measure, average: Average, *, unit: float, limits: tuple[float, float]) -> Draft:
    """A draft of a mean with both spreads."""
    filled = msgspec.structs.replace(
        record,
        value=average.point,
        n=average.n,
        sd_seeds=average.sd_seeds,
        sd_videos=average.sd_videos,
        note=record.note or (None if average.n else "nothing to count"),
    )
    return Draft(
        record=filled,
        columns=average.columns,
        again=Average.again,
        counted=average.counted,
        unit=unit,
        limits=limits,
    )


def proportion(record: Measure, hits: Mask, counted: Mask, facts: Facts) -> Measure:
    """k of n with Wilson's interval; n is worth as many as the design effect by patient leaves.

    `hits` and `counted` begin with the videos; whatever repeats within a patient is one cluster.
    """
    from overread.stats import design_effect, wilson

    shape = counted.shape + (1,) * (3 - counted.ndim)
    patients = np.broadcast_to(facts.patients[:, None, None], shape)[counted.reshape(shape)]
    outcomes = hits.reshape(shape)[counted.reshape(shape)]
    n, k = int(outcomes.size), int(outcomes.sum())
    if n == 0:
        return msgspec.structs.replace(record, n=0, k=0, note=joined(record.note, "no answers"))
    filled = msgspec.structs.replace(record, value=k / n, n=n, k=k)
    if np.unique(patients).size < 2:
        return msgspec.structs.replace(
            filled, note=joined(record.note, "one video has no interval")
        )
    effect = design_effect(outcomes, patients)
    interval = wilson(k, n, design_effect=effect)
    return msgspec.structs.replace(
        filled,
        se=interval.sd,
        low=interval.low,
        high=interval.high,
        method=f"wilson:deff={effect:.3f}",
    )


def joined(*notes: str | None) -> str | None:
    """Notes as one line, or None."""
    return "; ".join(note for note in notes if note) or None


def _width(made: Draft) -> int:
    return 0 if made.columns is None else made.columns.shape[1]


def _together(drafts: Sequence[Draft], places: Sequence[int]) -> Iterator[list[int]]:
    """Places whose columns fit one table of totals."""
    some: list[int] = []
    width, seen = 0, set[int]()
    for place in places:
        more = 0 if id(drafts[place].columns) in seen else _width(drafts[place])
        if some and width + more > _TOGETHER:
            yield some
            some, width, seen = [], 0, set()
            more = _width(drafts[place])
        some.append(place)
        seen.add(id(drafts[place].columns))
        width += more
    if some:
        yield some


def _apart(low: float, high: float) -> bool:
    """Whether two bounds differ by more than the rounding of their sums."""
    return high - low > 1e-12 * max(1.0, abs(low), abs(high))


Making: TypeAlias = Callable[[Marks, Study], Iterator[Draft | Measure]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One registered measure: its name, its definition in a line, and what makes it."""

    name: str
    says: str
    tasks: tuple[str, ...]
    make: Making
