"""Measures in draft, and the one resampling of a run's items behind all their intervals.

A measure is drafted with the columns its interval needs; many drafts are finished together, so the
items (clusters of them: patients, images) are drawn once for all, and two readers' drafts see the
same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.case import Measure

__all__ = [
    "AT_LEAST",
    "FEW",
    "TOGETHER",
    "Draft",
    "Floats",
    "Ints",
    "Mask",
    "Resampling",
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
    "ratio",
    "settled",
    "share",
    "stretched",
    "unseen",
    "widened",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
# Columns totalled at a time: 40 MB of totals at 10,000 resamples.
TOGETHER: Final = 512
_NOTHING: Final = 1e-12
AT_LEAST: Final = "wilson at 0"
FEW: Final = 10
"""Below so many clusters, resampling alone makes intervals that are too narrow."""


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
    # A distance from nothing grows with noise, so in every resample: they are moved back.
    centred: bool = False
    # With fewer clusters than this, the interval is stretched: see `stretched`.
    few: int = 0


class Resampling:
    """Items drawn again, those of one cluster together; a class, for all drafts of a run share it.

    `clusters` are codes by item. `boot` resamples are drawn from `seed`.
    """

    def __init__(self, clusters: Ints, *, boot: int, seed: int) -> None:
        self.clusters: Final = clusters
        self.boot: Final = boot
        self.seed: Final = seed

    def totals(self, table: Floats) -> Floats:
        """The columns' totals (resamples x m), the same draws at every call."""
        from overread.stats import PatientWeights

        return PatientWeights(self.clusters, n_boot=self.boot, seed=self.seed).totals(table)

    def owners(self, counted: Mask) -> int:
        """How many clusters these items are of."""
        return int(np.unique(self.clusters[counted]).size)

    def left_open(self, counted: Mask) -> float:
        """What Wilson's bound at 0 leaves open of as many clusters as these items have."""
        return left_open(self.owners(counted))

    def finish(self, drafts: Sequence[Draft]) -> list[Measure]:
        """The drafts with their intervals, in their order."""
        estimates: dict[int, Floats] = {}
        for places in _together(drafts):
            estimates |= self._resampled(drafts, places)
        return [self.finished(one, estimates.get(at)) for at, one in enumerate(drafts)]

    def _resampled(self, drafts: Sequence[Draft], places: Sequence[int]) -> dict[int, Floats]:
        found, at = {}, 0
        totals = self.totals(np.hstack([_columns(drafts[place]) for place in places]))
        for place in places:
            width, again = _columns(drafts[place]).shape[1], drafts[place].again
            assert again is not None
            found[place] = again(totals[:, at : at + width])
            at += width
        return found

    def finished(self, made: Draft, estimates: Floats | None) -> Measure:
        """A draft with the interval of these estimates, one for each resample."""
        return settled(widened(self._bounded(made, estimates), made.within))

    def _bounded(self, made: Draft, estimates: Floats | None) -> Measure:
        from overread.stats import resample_interval

        record = made.record
        if estimates is None or record.value is None or made.counted is None:
            return record
        owners = self.owners(made.counted)
        if owners < 2:
            return noted(record, "one item has no interval")
        if made.centred:
            estimates = estimates - (np.nanmean(estimates) - record.value)
        low, high, sd = resample_interval(estimates, record.value)
        if low is not None and high is not None and apart(low, high):
            how = f"bootstrap of items:{self.boot}:{self.seed}"
            how += ", centred" if made.centred else ""
            if owners < made.few:
                low, high = stretched(record.value, (low, high), owners, made.unit)
                how += f", t of {owners - 1}"
                how += "" if made.unit is None else f", at least {AT_LEAST}"
            return msgspec.structs.replace(
                record,
                low=max(low, made.limits[0]),
                high=min(high, made.limits[1]),
                sd_boot=sd,
                method=how,
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


def stretched(
    value: float, bounds: tuple[float, float], n: int, unit: float | None
) -> tuple[float, float]:
    """Percentiles of resamples of n clusters, made to hold what so few leave open.

    A resample of n has (n - 1)/n of the variance, and its percentiles take that for known: so their
    distances from the value grow by sqrt(n/(n - 1)) and by Student's t over the normal quantile;
    and they are no less than where all items agree. More spread never gets a narrower interval.
    """
    from scipy.special import ndtri, stdtrit

    by = (n / (n - 1)) ** 0.5 * float(stdtrit(n - 1, 0.975) / ndtri(0.975))
    room = 0.0 if unit is None else unit * left_open(n)
    low, high = bounds
    return value - max(by * (value - low), room), value + max(by * (high - value), room)


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


def ratio(totals: Floats) -> Floats:
    """The first column's total over the second's, of each row of totals."""
    return quotients(totals[:, 0], totals[:, 1])


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
        if some and width + more > TOGETHER:
            yield some
            some, width = [], 0
        some.append(place)
        width += more
    if some:
        yield some
