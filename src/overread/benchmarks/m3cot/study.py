"""A run under one edition, and the one resampling of its items behind all intervals.

A measure is drafted with the columns its interval needs; all drafts of a reader are finished
together, so the items (patients, where they are known) are drawn once, and two readers' drafts see
the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np

from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import (
    COT,
    Cell,
    Facts,
    Floats,
    Marks,
    Mask,
    facts_of,
    marks_of,
)
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = [
    "Draft",
    "Labels",
    "Making",
    "Metric",
    "Study",
    "agreeing",
    "apart",
    "columns_of",
    "counted_in",
    "defined_mean",
    "drafted",
    "joined",
    "left_open",
    "noted",
    "panel",
    "quotients",
    "settled",
    "share",
    "unseen",
    "widened",
]

# The label of a judge for a question, where it has one: what its verdicts are worth.
Labels: TypeAlias = Mapping[tuple[str, str], str | None]
_TOGETHER: Final = 512
_NOTHING: Final = 1e-12
AT_LEAST: Final = "wilson at 0"
_T = TypeVar("_T")


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A record, and what its interval is made of.

    `columns` (items x m) are totalled in every resample and `again` makes the estimates of the
    totals. `counted` are the items it stands on; `limits` the values it can take.
    """

    record: Measure
    columns: Floats | None = None
    again: Callable[[Floats], Floats] | None = None
    counted: Mask | None = None
    limits: tuple[float, float] = (0.0, 1.0)
    # What one item can move the mean by; where all agree the interval allows for that much.
    unit: float | None = 1.0
    # Bounds that the interval must hold whatever resampling gives.
    within: tuple[float, float] | None = None


class Study:
    """The readers of a run. A class, for what is worked out once serves all measures."""

    def __init__(
        self,
        tables: Tables,
        verdicts: pl.DataFrame | None,
        edition: Edition,
        labels: Labels | None = None,
    ) -> None:
        self.edition = edition
        self.facts: Final[Facts] = facts_of(tables.cases)
        readers = tuple(reader.name for reader in tables.readers)
        # Readers that get no picture: nothing of theirs can depend on one.
        self.unseeing: Final = frozenset(
            reader.name for reader in tables.readers if reader.traits.modality == "text"
        )
        self.answers: Final = tables.answers
        self.marks: Final = marks_of(readers, self.facts, tables.answers, verdicts)
        self.labels: Final[Labels] = labels or {}
        self._kept: Final[dict[tuple[object, ...], Any]] = {}

    def once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """What `make` makes, made once for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        made: _T = self._kept[key]
        return made

    @property
    def tasks(self) -> list[str]:
        return sorted(set(self.facts.tasks.tolist()) - {""})

    @property
    def groups(self) -> Iterator[tuple[dict[str, str], Mask]]:
        """All items, those of each task, and those of each kind of question."""
        yield {}, np.ones(self.facts.n, dtype=bool)
        for task in self.tasks:
            yield {"task": task}, self.facts.tasks == task
        for kind in sorted(set(self.facts.kinds.tolist())):
            yield {"kind": kind}, self.facts.kinds == kind

    def judges(self, marks: Marks, question: str, cell: Cell = COT) -> list[str]:
        """Who judged the reader here; where it said nothing at all, whoever judges others.

        A silent reader's replies are sent to nobody, and are wrong all the same (M3COT 10).
        """
        own = marks.judges(question, cell)
        if own or cell not in marks.said or not marks.silent(cell).all():
            return own
        cells = {at for other in self.marks for _, at in other.verdicts}
        return sorted({judge for other in self.marks for judge in other.judges(question, *cells)})

    def label(self, judges: Sequence[str], *questions: str) -> str | None:
        """What these judges are worth at these questions: the worst that is said of any."""
        found = {self.labels.get((judge, one)) for judge in judges for one in questions}
        return next((label for label in (UNFIT, NOT_CHECKED) if label in found), None)

    def finish(self, drafts: Sequence[Draft]) -> list[Measure]:
        """The drafts with their intervals, in their order."""
        estimates: dict[int, Floats] = {}
        for places in _together(drafts):
            estimates |= self._resampled(drafts, places)
        return [self._finished(one, estimates.get(at)) for at, one in enumerate(drafts)]

    def _resampled(self, drafts: Sequence[Draft], places: Sequence[int]) -> dict[int, Floats]:
        from overread.stats import PatientWeights

        edition, found, at = self.edition, {}, 0
        table = np.hstack([_columns(drafts[place]) for place in places])
        weights = PatientWeights(self.facts.patients, n_boot=edition.boot, seed=edition.seed)
        totals = weights.totals(table)
        for place in places:
            width, again = _columns(drafts[place]).shape[1], drafts[place].again
            assert again is not None
            found[place] = again(totals[:, at : at + width])
            at += width
        return found

    def left_open(self, counted: Mask) -> float:
        """What Wilson's bound at 0 leaves open of as many patients as these items have."""
        return left_open(int(np.unique(self.facts.patients[counted]).size))

    def _finished(self, made: Draft, estimates: Floats | None) -> Measure:
        return settled(widened(self._bounded(made, estimates), made.within))

    def _bounded(self, made: Draft, estimates: Floats | None) -> Measure:
        from overread.stats import resample_interval

        record = made.record
        if estimates is None or record.value is None or made.counted is None:
            return record
        owners = int(np.unique(self.facts.patients[made.counted]).size)
        if owners < 2:
            return noted(record, "one item has no interval")
        low, high, sd = resample_interval(estimates, record.value)
        if low is not None and high is not None and apart(low, high):
            return msgspec.structs.replace(
                record,
                low=max(low, made.limits[0]),
                high=min(high, made.limits[1]),
                sd_boot=sd,
                method=f"bootstrap of items:{self.edition.boot}:{self.edition.seed}",
            )
        if made.unit is None:
            return noted(record, "no interval: every resample gives the same")
        return agreeing(record, made.unit * left_open(owners), made.limits)


def agreeing(record: Measure, room: float, limits: tuple[float, float]) -> Measure:
    """All items alike: resampling has no spread, so the interval is what Wilson's leaves open."""
    assert record.value is not None
    return msgspec.structs.replace(
        record,
        low=max(record.value - room, limits[0]),
        high=min(record.value + room, limits[1]),
        method=f"all items agree: {AT_LEAST}",
    )


def widened(record: Measure, within: tuple[float, float] | None) -> Measure:
    """The interval made to hold these bounds, where it has any and they are wider."""
    if within is None or record.low is None or record.high is None:
        return record
    low, high = min(record.low, within[0]), max(record.high, within[1])
    if (low, high) == (record.low, record.high):
        return record
    method = record.method or ""
    method += "" if AT_LEAST in method else f", at least {AT_LEAST}"
    return msgspec.structs.replace(record, low=low, high=high, method=method)


def settled(record: Measure) -> Measure:
    """What only the rounding of sums holds off 0 is 0."""
    value, low, high = (
        0.0 if one is not None and abs(one) < _NOTHING else one
        for one in (record.value, record.low, record.high)
    )
    return msgspec.structs.replace(record, value=value, low=low, high=high)


def left_open(n: int) -> float:
    """Wilson's upper bound at 0 of n: how much n alike items say nothing about."""
    from overread.stats import wilson

    high = wilson(0, n).high
    assert high is not None
    return high


def columns_of(values: Floats) -> Floats:
    """Values (items x judges, NaN where not counted) as pairs of columns: value and count."""
    there = ~np.isnan(values)
    return np.stack([np.where(there, values, 0.0), there], axis=2).reshape(len(values), -1)


def panel(totals: Floats) -> Floats:
    """The mean over judges of each one's mean; judges with nothing counted have none."""
    return defined_mean(quotients(totals[:, 0::2], totals[:, 1::2]))


def quotients(over: Floats, under: Floats) -> Floats:
    """Cell by cell, NaN where the lower is not above 0."""
    found: Floats = np.full(over.shape, np.nan)
    np.divide(over, under, out=found, where=under > 0)
    return found


def defined_mean(table: Floats) -> Floats:
    """The mean of each row over what it has; NaN where it has nothing."""
    there = ~np.isnan(table)
    return quotients(np.where(there, table, 0.0).sum(axis=1), there.sum(axis=1).astype(float))


def counted_in(*tables: Floats) -> Mask:
    """Items that any judge counts in any table."""
    found: Mask = np.any(~np.isnan(np.hstack(tables)), axis=1)
    return found


def drafted(
    record: Measure,
    columns: Floats,
    again: Callable[[Floats], Floats],
    counted: Mask,
    *,
    limits: tuple[float, float] = (0.0, 1.0),
    unit: float | None = 1.0,
    digits: int | None = None,
) -> Draft:
    """A draft whose value is what `again` makes of the items themselves, each once."""
    value = float(again(columns.sum(axis=0)[None, :])[0])
    n = int(counted.sum())
    if np.isnan(value):
        return Draft(record=noted(msgspec.structs.replace(record, n=n), "nothing to count"))
    filled = msgspec.structs.replace(
        record, value=value if digits is None else round(value, digits), n=n
    )
    return Draft(
        record=filled, columns=columns, again=again, counted=counted, limits=limits, unit=unit
    )


def share(record: Measure, k: int, n: int) -> Measure:
    """k of n with Wilson's interval, for counts of replies."""
    from overread.stats import wilson

    found = wilson(k, n)
    return msgspec.structs.replace(
        record, value=found.point, k=k, n=n, se=found.sd, low=found.low, high=found.high,
        method="wilson" if n else None, note=record.note if n else joined(record.note, "none"),
    )  # fmt: skip


def unseen(reader: str, measure: str, by: dict[str, str]) -> Measure:
    """No value: who gets no picture cannot depend on it."""
    return Measure(reader=reader, measure=measure, by=by, n=0, note="the reader gets no picture")


def joined(*notes: str | None) -> str | None:
    """Notes as one line, or None."""
    return "; ".join(note for note in notes if note) or None


def noted(record: Measure, note: str) -> Measure:
    return msgspec.structs.replace(record, note=joined(record.note, note))


def apart(low: float, high: float) -> bool:
    """Whether two bounds differ by more than the rounding of their sums."""
    return high - low > 1e-9 * max(1.0, abs(low), abs(high))


def _columns(made: Draft) -> Floats:
    assert made.columns is not None
    return made.columns


def _together(drafts: Sequence[Draft]) -> Iterator[list[int]]:
    """Places of drafts whose columns fit one table of totals."""
    some: list[int] = []
    width = 0
    for place, made in enumerate(drafts):
        if made.columns is None:
            continue
        more = made.columns.shape[1]
        if some and width + more > _TOGETHER:
            yield some
            some, width = [], 0
        some.append(place)
        width += more
    if some:
        yield some


Making: TypeAlias = Callable[[Marks, Study], Iterator[Draft | Measure]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One registered measure: its name, its definition in a line, and what makes it."""

    name: str
    says: str
    make: Making
