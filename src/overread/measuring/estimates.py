"""Numbers before they have an interval, and the one resampling of cases behind all intervals.

An `Estimate` is a record with the columns its interval needs. Many are finished together, so that
the cases are drawn once for all, those of one cluster (a patient, an image) together, and two
readers' estimates see the same draws.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.case import Measure, Method
from overread.measuring.notes import ALIKE, FEW_CLUSTERS, ONE_CLUSTER, noted, with_method

if TYPE_CHECKING:
    from overread.stats import Clusters, Interval, Spread

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
FEW: Final = 10
"""Below so many clusters, resampling alone makes intervals that are far too narrow."""
# Columns totalled at a time: 40 MB of totals at 10,000 resamples.
_TOGETHER: Final = 512
# A coarse estimate, of many columns, is drawn from this share of the resamples.
_COARSE: Final = 5
# So few columns are summed one by one.
_NARROW: Final = 4
# What only the rounding of sums holds off 0.
_NOTHING: Final = 1e-12
# Clusters drawn one by one in the time it takes to draw how often a kind of them comes up.
_WORTH: Final = 2_048
# Hit, missed, not counted, and a cluster of several: with fewer kinds there is nothing to look for.
_FEWEST_KINDS: Final = 4


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A record, and what its interval is made of.

    `columns` (cases x m) are totalled in every resample and `again` makes the estimates of the
    totals; `strictly` makes others of the same totals, whose lower bound counts where it is lower.
    `counted` are the cases it stands on; `limits` the values it can take.
    """

    record: Measure
    columns: Floats | None = None
    again: Callable[[Floats], Floats] | None = None
    strictly: Callable[[Floats], Floats] | None = None
    counted: Mask | None = None
    limits: tuple[float, float] = (0.0, 1.0)
    # What one case can move the mean by; where all agree the interval allows for that much.
    step: float | None = 1.0
    # Bounds that the interval must hold whatever resampling gives.
    within: tuple[float, float] | None = None
    # A distance from nothing grows with noise, so in every resample: they are moved back.
    centred: bool = False
    # Of so many columns that a fifth of the resamples must do.
    coarse: bool = False
    # Jumps where a case is left out, as a median does, or hardly moves at its end, as r² at 0:
    # only drawing again says how it varies.
    jumps: bool = False

    @property
    def smooth(self) -> bool:
        """Whether it hardly moves where one case is left out."""
        return not (self.jumps or self.centred)


class _Kinds(NamedTuple):
    """The different rows that clusters have, in ascending order, and how many have each."""

    rows: Floats
    counts: Ints


class Resampling:
    """Cases drawn again, those of one cluster together; a class, for all of a run share it.

    `clusters` are codes by case, `boot` resamples are drawn from `seed`, and `of` says in words
    what is drawn. Codes given by something lasting make draws that no order of cases changes. Two
    more ways make them independent of names too: `by_content` numbers clusters by what they
    contribute; `tallied` draws how often each kind of cluster comes up, where there are few kinds,
    which is also far quicker for thousands of cases. `robust` intervals are drawn only where
    nothing else will do: what is smooth in its totals has that of its variance by cluster
    (`stats.clustered_mean`). What is drawn is stretched by what its clusters leave open
    (`stretched`); where not `robust`, below `few` clusters alone.
    """

    def __init__(
        self,
        clusters: Ints,
        *,
        boot: int,
        seed: int,
        of: str = "items",
        by_content: bool = False,
        tallied: bool = False,
        few: int = FEW,
        robust: bool = True,
    ) -> None:
        self.clusters: Final = clusters
        self.boot: Final = boot
        self.seed: Final = seed
        self.of: Final = of
        self.few: Final = few
        self.robust: Final = robust
        self.by_content: Final = by_content
        self._tallied: Final = tallied
        self._order: Final = np.argsort(clusters, kind="stable")
        self._starts: Final = np.unique(clusters[self._order], return_index=True)[1]

    def over(self, clusters: Ints) -> Resampling:
        """The same way of drawing, of other clusters."""
        return Resampling(
            clusters,
            boot=self.boot,
            seed=self.seed,
            of=self.of,
            by_content=self.by_content,
            tallied=self._tallied,
            few=self.few,
            robust=self.robust,
        )

    def owners(self, counted: Mask) -> int:
        """How many clusters these cases are of."""
        from overread.stats import counted_from_zero

        codes = counted_from_zero(self.clusters[counted])
        return int(codes.max()) + 1 if codes.size else 0

    def left_open(self, counted: Mask) -> float:
        """What Wilson's bound at 0 leaves open of as many clusters as these cases have."""
        return left_open(self.owners(counted))

    def totals(self, table: Floats, boot: int | None = None) -> Floats:
        """The columns' totals (resamples x m), the same draws at every call."""
        from overread.stats import PatientWeights, canonical

        codes = canonical(self.clusters, table) if self.by_content else self.clusters
        drawn = PatientWeights(codes, n_boot=boot or self.boot, seed=self.seed)
        if not self._tallied:
            return drawn.totals(table)
        # Many estimates count the same cases: a column is totalled only once.
        seen: dict[bytes, int] = {}
        which = [seen.setdefault(column.tobytes(), len(seen)) for column in table.T]
        first = np.unique(which, return_index=True)[1]
        return drawn.totals(table[:, first])[:, which]

    def alone(self, one: Estimate) -> bool:
        """Whether nothing is drawn for its interval, so that it need not wait for any other."""
        return self.robust and one.smooth and one.strictly is None

    def finish(self, estimates: Sequence[Estimate]) -> list[Measure]:
        """The records with their intervals, in the order of the estimates."""
        found: dict[int, Measure] = {}
        for place, one in enumerate(estimates):
            if one.columns is None:
                found[place] = self.finished(one, None)
            elif self.alone(one):
                found[place] = self._by_variance(one)
            elif self._tallied and (quick := self._by_kinds(one)) is not None:
                found[place] = quick
        for coarse in (False, True):
            some = [
                place
                for place, one in enumerate(estimates)
                if place not in found and one.coarse == coarse
            ]
            boot = max(self.boot // _COARSE, 2) if coarse else self.boot
            for batch in _together(estimates, some):
                found |= self._resampled(estimates, batch, boot)
        made = [found[place] for place in range(len(estimates))]
        if not self.robust:
            return made
        return [
            record if one.counted is None else self._soundly(one, record)
            for record, one in zip(made, estimates, strict=True)
        ]

    def _soundly(self, one: Estimate, record: Measure) -> Measure:
        """The record flagged where few make it; what is smooth was drawn for its strict bound."""
        assert one.counted is not None
        if one.strictly is not None and one.smooth and record.low is not None:
            drawn, record = record.low, self._by_variance(one)
            low = drawn if record.low is None else min(drawn, record.low)
            record = msgspec.structs.replace(record, low=low)
        return flagged_few(record, self.clusters[one.counted])

    def _resampled(
        self, estimates: Sequence[Estimate], places: Sequence[int], boot: int
    ) -> dict[int, Measure]:
        blocks = {id(estimates[place].columns): _columns(estimates[place]) for place in places}
        ends = np.cumsum([block.shape[1] for block in blocks.values()])
        starts = ends - [block.shape[1] for block in blocks.values()]
        where = dict(zip(blocks, zip(starts, ends, strict=True), strict=True))
        totals = self.totals(np.hstack(list(blocks.values())), boot)
        found = {}
        for place in places:
            one = estimates[place]
            start, end = where[id(one.columns)]
            found[place] = self.finished(one, totals[:, start:end])
        return found

    def _by_variance(self, one: Estimate) -> Measure:
        """With the interval that its variance by cluster gives: each case in turn is left out."""
        from overread.stats import clustered_mean, clusters_of

        record, columns = one.record, _columns(one)
        if one.again is None or record.value is None or one.counted is None:
            return record
        counted = one.counted
        owners = clusters_of(self.clusters[counted])
        if owners.sizes.size < 2:
            return noted(record, ONE_CLUSTER)
        own, n = columns[counted], int(counted.sum())
        sums = column_sums(own)
        value = float(one.again(sums[None, :])[0])
        with np.errstate(all="ignore"):
            without = one.again(sums - own)
        influence = n * value - (n - 1) * np.where(np.isfinite(without), without, value)
        found, spread = clustered_mean(value, influence, owners, one.limits)
        if one.step is not None and np.isinf(one.limits).any():
            if found.low is None:
                return settled(self._alike(one, value))
            # A little spread never gets a narrower interval than none.
            room = one.step * self.left_open(counted)
            floor = max(value - room, one.limits[0]), min(value + room, one.limits[1])
            one = msgspec.structs.replace(one, within=one.within or floor)
        made = settled(_widened(bounded(record, found, spread), one.within))
        return flagged_few(made, owners, influence)

    def _alike(self, one: Estimate, value: float) -> Measure:
        """With what as many clusters leave open where all cases agree."""
        assert one.step is not None
        assert one.counted is not None
        room = one.step * self.left_open(one.counted)
        low, high = max(value - room, one.limits[0]), min(value + room, one.limits[1])
        made = msgspec.structs.replace(one.record, low=low, high=high)
        return with_method(made, Method(kind="alike", of=self.of))

    def _by_kinds(self, one: Estimate) -> Measure | None:
        """With its interval, or None where drawing cluster by cluster is quicker.

        A resample of C clusters holds each kind of them as often as a multinomial draw says: C of
        them, with the kinds' shares as chances. Totals follow from these counts, whichever clusters
        of a kind it was, so neither the names nor the order of cases matter.
        """
        kinds = self._kinds(_columns(one))
        if kinds is None:
            return None
        # The legacy generator, whose stream is frozen.
        drawn = np.random.RandomState(self.seed).multinomial(
            self._starts.size, kinds.counts / self._starts.size, size=self.boot
        )
        return self.finished(one, drawn @ kinds.rows)

    def _kinds(self, columns: Floats) -> _Kinds | None:
        """The kinds of clusters that these columns tell apart, None where there are too many."""
        limit = columns.shape[1] * self._starts.size // _WORTH
        if limit < _FEWEST_KINDS:
            return None
        sums = np.add.reduceat(columns[self._order], self._starts, axis=0)
        code = np.zeros(len(sums), dtype=np.int64)
        for column in sums.T:
            values, which = np.unique(column, return_inverse=True)
            if values.size > limit:
                return None
            kinds, code = np.unique(code * values.size + which, return_inverse=True)
            if kinds.size > limit:
                return None
        _, first, counts = np.unique(code, return_index=True, return_counts=True)
        return _Kinds(sums[first], counts)

    def finished(self, one: Estimate, totals: Floats | None) -> Measure:
        """A record with the interval that these totals give, one row for each resample."""
        return settled(_widened(self._bounded(one, totals), one.within))

    def _bounded(self, one: Estimate, totals: Floats | None) -> Measure:
        from overread.stats import resample_interval

        record = one.record
        if totals is None or one.again is None or record.value is None or one.counted is None:
            return record
        owners = self.owners(one.counted)
        if owners < 2:
            return noted(record, ONE_CLUSTER)
        with np.errstate(all="ignore"):
            made = [_finite(make(totals)) for make in (one.again, one.strictly) if make is not None]
        estimates = made[0]
        if one.centred:
            estimates = estimates - (np.nanmean(estimates) - record.value)
        low, high, sd = resample_interval(estimates, record.value)
        for strict in made[1:]:
            lower = resample_interval(strict, record.value)[0]
            low = lower if low is None or lower is None else min(low, lower)
        if low is not None and high is not None and apart(low, high):
            # At every number of clusters, for a rule that begins at one is a cliff there.
            wider = self.robust or owners < self.few
            if wider:
                low, high = stretched(record.value, (low, high), owners, one.step)
            bounded = msgspec.structs.replace(
                record, low=max(low, one.limits[0]), high=min(high, one.limits[1]), sd_boot=sd
            )
            how = Method(
                kind="bootstrap",
                of=self.of,
                boot=len(totals),
                seed=self.seed,
                centred=one.centred,
                t=owners - 1 if wider else None,
                floor=wider and one.step is not None,
            )
            return with_method(bounded, how)
        if one.step is None:
            return noted(record, ALIKE)
        return self._alike(one, record.value)


def stretched(
    value: float, bounds: tuple[float, float], n: int, step: float | None
) -> tuple[float, float]:
    """Percentiles of resamples of n clusters, made to hold what these leave open.

    A resample of n has (n - 1)/n of the variance, and its percentiles take that for known: so their
    distances from the value grow by sqrt(n/(n - 1)) and by Student's t over the normal quantile;
    and they are no less than where all cases agree. More spread never gets a narrower interval.
    """
    from overread.stats.special import ndtri, stdtrit

    by = (n / (n - 1)) ** 0.5 * float(stdtrit(n - 1, 0.975) / ndtri(0.975))
    room = 0.0 if step is None else step * left_open(n)
    low, high = bounds
    return value - max(by * (value - low), room), value + max(by * (high - value), room)


def settled(record: Measure) -> Measure:
    """What only the rounding of sums holds off 0 is 0."""
    value, low, high = (
        0.0 if one is not None and abs(one) < _NOTHING else one
        for one in (record.value, record.low, record.high)
    )
    return msgspec.structs.replace(record, value=value, low=low, high=high)


def left_open(n: int) -> float:
    """Wilson's upper bound at 0 of n: how much n alike cases say nothing about."""
    from overread.stats import wilson

    high = wilson(0, n).high
    assert high is not None
    return high


def apart(low: float, high: float) -> bool:
    """Whether two bounds differ by more than the rounding of their sums."""
    return high - low > 1e-9 * max(1.0, abs(low), abs(high))


def clustered_share(record: Measure, hits: Mask, clusters: Ints, *, robust: bool = True) -> Measure:
    """k of n with Wilson's interval, n divided by the design effect of the clusters.

    `hits` are outcomes (replies, votes, items), `clusters` whose each is. One cluster has no
    interval, nothing no value. Without `robust` the design effect is taken as the data have it.
    """
    from overread.measuring.notes import NOTHING
    from overread.stats import clustered_share as shared
    from overread.stats import clusters_of, design_effect, wilson

    n, k = int(hits.size), int(hits.sum())
    if not n:
        return noted(msgspec.structs.replace(record, n=0, k=0), NOTHING)
    filled = msgspec.structs.replace(record, value=k / n, n=n, k=k)
    owners = clusters_of(clusters)
    if owners.sizes.size == 1:
        return noted(filled, ONE_CLUSTER)
    if robust:
        found, effect = shared(hits, owners)
    else:
        effect = design_effect(hits, clusters)
        found = wilson(k, n, design_effect=effect)
    made = msgspec.structs.replace(filled, se=found.sd, low=found.low, high=found.high)
    made = with_method(made, Method(kind="wilson", effect=effect))
    return flagged_few(made, owners, hits) if robust else made


def bounded(record: Measure, found: Interval, spread: Spread) -> Measure:
    """A record with the interval that its variance by cluster gives, and how it was made."""
    if found.low is None or found.high is None:
        return noted(record, ALIKE, "no interval: all cases agree")
    made = msgspec.structs.replace(record, se=found.sd, low=found.low, high=found.high)
    how = Method(kind="variance by cluster", effect=spread.effect, t=round(spread.df))
    return with_method(made, how)


def flagged_few(
    record: Measure, clusters: Ints | Clusters, added: ArrayLike | None = None
) -> Measure:
    """Flagged where its interval is rough: the cases' clusters, and what each case adds, are few.

    Every record with an interval gets the flag here, by `stats.stands_on_few`.
    """
    from overread.stats import stands_on_few

    rough = record.low is not None and stands_on_few(clusters, added)
    # Tables mark it; a note would stand below every one of them.
    return noted(record, FEW_CLUSTERS, "") if rough else record


def estimated(
    record: Measure,
    columns: Floats,
    again: Callable[[Floats], Floats],
    counted: Mask,
    *,
    limits: tuple[float, float] = (0.0, 1.0),
    step: float | None = 1.0,
    digits: int | None = None,
) -> Estimate:
    """An estimate whose value is what `again` makes of the cases themselves, each once."""
    from overread.measuring.notes import NOTHING

    value = float(again(column_sums(columns)[None, :])[0])
    n = int(counted.sum())
    if np.isnan(value):
        return Estimate(record=noted(msgspec.structs.replace(record, n=n), NOTHING))
    filled = msgspec.structs.replace(
        record, value=value if digits is None else round(value, digits), n=n
    )
    return Estimate(
        record=filled, columns=columns, again=again, counted=counted, limits=limits, step=step
    )


# ---------------------------------------------------------------- values to columns, and back


def column_sums(columns: Floats) -> Floats:
    """`columns.sum(axis=0)` to the last bit: a few columns beside each other are slow to sum."""
    if columns.flags.c_contiguous and 1 < columns.shape[1] <= _NARROW and len(columns):
        # Row after row, as numpy does it there; one column alone it sums by pairs.
        return np.array([np.cumsum(column)[-1] for column in columns.T])
    found: Floats = columns.sum(axis=0)
    return found


def columns_of(values: Floats) -> Floats:
    """Values (cases x judges, NaN where not counted) as pairs of columns: value and count."""
    there = ~np.isnan(values)
    return np.stack([np.where(there, values, 0.0), there], axis=2).reshape(len(values), -1)


def mean_of_columns(totals: Floats) -> Floats:
    """The mean over columns (judges, seeds) of each one's mean; those with nothing have none."""
    return defined_mean(quotients(totals[:, 0::2], totals[:, 1::2]))


def mean_of_rows(values: Floats) -> Floats:
    """Each case's mean over what it has, as the one column of a mean over cases."""
    return defined_mean(values)[:, None]


def quotients(over: Floats, under: Floats) -> Floats:
    """Element by element, NaN where the lower is not above 0."""
    found: Floats = np.full(over.shape, np.nan)
    np.divide(over, under, out=found, where=under > 0)
    return found


def ratio(totals: Floats) -> Floats:
    """The first column's total over the second's, of each row of totals."""
    return quotients(totals[:, 0], totals[:, 1])


def defined_mean(table: Floats) -> Floats:
    """The mean of each row over what it has; NaN where it has nothing."""
    if table.shape[1] == 1:
        return table[:, 0] + 0.0
    there = ~np.isnan(table)
    return quotients(np.where(there, table, 0.0).sum(axis=1), there.sum(axis=1).astype(float))


def counted_in(*tables: Floats) -> Mask:
    """Cases that any column of any table counts."""
    nobody: Mask = np.zeros(len(tables[0]), dtype=bool)
    columns = (~np.isnan(column) for table in tables for column in table.T)
    return functools.reduce(np.logical_or, columns, nobody)


def _finite(values: Floats) -> Floats:
    found: Floats = np.where(np.isfinite(values), values, np.nan)
    return found


def _columns(one: Estimate) -> Floats:
    assert one.columns is not None
    return one.columns


def _widened(record: Measure, within: tuple[float, float] | None) -> Measure:
    """The interval made to hold these bounds, where it has any and they are wider."""
    if within is None or record.low is None or record.high is None or record.how is None:
        return record
    low, high = min(record.low, within[0]), max(record.high, within[1])
    if (low, high) == (record.low, record.high):
        return record
    wider = msgspec.structs.replace(record, low=low, high=high)
    return with_method(wider, msgspec.structs.replace(record.how, floor=True))


def _together(estimates: Sequence[Estimate], places: Sequence[int]) -> Iterator[list[int]]:
    """Places whose columns fit one table of totals; columns that are shared count once."""
    some: list[int] = []
    seen: set[int] = set()
    width = 0
    for place in places:
        columns = _columns(estimates[place])
        more = 0 if id(columns) in seen else columns.shape[1]
        if some and width + more > _TOGETHER:
            yield some
            some, seen, width, more = [], set(), 0, columns.shape[1]
        some.append(place)
        seen.add(id(columns))
        width += more
    if some:
        yield some
