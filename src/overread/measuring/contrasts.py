"""Paired differences, their tests, and families of tests.

Two readers, or one reader under two conditions, over the same cases. Where values are 0 or 1 the
test is exact; for others signs are flipped by seeded coins. All of a cluster's cases flip together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.case import Measure, Method
from overread.measuring.estimates import (
    Estimate,
    Floats,
    Ints,
    Mask,
    columns_of,
    counted_in,
    estimated,
    flagged_few,
    left_open,
    mean_of_columns,
    quotients,
    ratio,
    settled,
)
from overread.measuring.notes import (
    ALIKE,
    EQUIVALENT,
    INFERIOR,
    NOT_INFERIOR,
    NOTHING,
    ONE_CLUSTER,
    noted,
    with_method,
)

FLIPS: Final = 9_999
_ROWS: Final = 1_000
# Totals this close to the observed one, relative to what they are sums of, are ties.
_TIE: Final = 1e-9


def paired(
    record: Measure,
    first: Floats,
    second: Floats,
    clusters: Ints,
    *,
    limits: tuple[float, float] = (-1.0, 1.0),
    family: str | None = None,
) -> Measure:
    """The mean of first less second over the cases that have both (NaN where one has none).

    Estimate, interval and test are of the same cases, and agree about 0 (`stats.paired_values`).
    Amounts that are the same in every case have the room that Wilson's bound at 0 leaves, in their
    own unit. A run, `compare` and the gate all have their differences from here.
    """
    from overread.stats import paired_values

    both = ~(np.isnan(first) | np.isnan(second))
    found = paired_values(first[both], second[both], clusters[both], limits)
    at = found.interval
    if at.point is None:
        return noted(msgspec.structs.replace(record, n=0), NOTHING, "no case in common")
    beside = float(first[both].mean()), float(second[both].mean())
    made = msgspec.structs.replace(record, value=at.point, n=at.n, beside=beside)
    units = int(np.unique(clusters[both]).size)
    if units < 2:  # nothing is tested, either: both signs of one cluster are as far from 0
        return noted(made, ONE_CLUSTER)
    made = msgspec.structs.replace(made, p=found.p, family=family, against=0.0)
    if at.low is None and not at.point:
        room = left_open(units)
        made = msgspec.structs.replace(made, low=-room, high=room)
        made = with_method(made, Method(kind="alike", of="cases"))
        return flagged_few(made, clusters[both])
    if at.low is None:
        return noted(made, ALIKE, "no interval: all cases differ alike")
    made = msgspec.structs.replace(made, se=at.sd, low=at.low, high=at.high)
    kind = "newcombe10" if found.newcombe else "variance by cluster"
    df = None if found.newcombe else round(found.spread.df)
    made = with_method(made, Method(kind=kind, effect=found.spread.effect, t=df))
    return settled(flagged_few(made, clusters[both], (first - second)[both]))


def held_to_margin(record: Measure, margin: float, *, higher: bool | None) -> Measure:
    """A difference that says whether the first is not worse than the second by a margin.

    By its 95 % interval, which is two one-sided tests at 2.5 % each; d is turned so that above 0
    the first is better (`higher` says which way that is)::

        not_inferior: low >= -margin    inferior: high < -margin
        equivalent:   low >= -margin and high <= margin

    These stand in `flags`; none of them where the data do not show any. A measure of which nobody
    can say what is better (None) has equivalence alone. D. J. Schuirmann (1987), Journal of
    Pharmacokinetics and Biopharmaceutics 15, 657-680; G. Piaggio and others (2012), JAMA 308,
    2594-2604.

    Examples
    --------
    >>> apart = Measure(reader="a", measure="diff_mae", value=0.1, low=-0.2, high=0.4)
    >>> held_to_margin(apart, 0.5, higher=False).flags
    ('not_inferior', 'equivalent')
    >>> held_to_margin(apart, 0.3, higher=True).flags
    ('not_inferior',)
    >>> held_to_margin(apart, 0.3, higher=False).flags
    ()
    """
    if record.low is None or record.high is None:
        return record
    low, high = (-record.high, -record.low) if higher is False else (record.low, record.high)
    shown = {
        NOT_INFERIOR: higher is not None and low >= -margin,
        INFERIOR: higher is not None and high < -margin,
        EQUIVALENT: low >= -margin and high <= margin,
    }
    for flag in (flag for flag, holds in shown.items() if holds):
        record = noted(record, flag)
    return record


def against_half(record: Measure, points: Floats, clusters: Ints, family: str) -> Measure:
    """A win ratio with its interval and test: the mean of points from 0 to 1, where 1/2 is
    nobody's. NaN where there is nothing to win."""
    half = np.full(points.shape, 0.5)
    made = paired(record, points, half, clusters, limits=(-0.5, 0.5), family=family)
    ends = [None if one is None else one + 0.5 for one in (made.value, made.low, made.high)]
    against = None if made.against is None else 0.5
    return msgspec.structs.replace(
        made, value=ends[0], low=ends[1], high=ends[2], beside=None, against=against
    )


def paired_difference(
    record: Measure,
    each: Floats,
    members: Mask,
    *,
    limits: tuple[float, float] = (-1.0, 1.0),
    step: float | None = 1.0,
) -> Estimate:
    """The mean over `members` of first less second, each case's own difference in `each`."""
    summed = np.where(members, each, 0.0)
    columns = np.stack([summed, members], axis=1).astype(float)
    return estimated(record, columns, ratio, members, limits=limits, step=step)


def difference_of_means(record: Measure, one: Floats, two: Floats) -> Estimate:
    """Mean of `one` less that of `two` (cases x judges), each over what it counts."""
    columns = np.hstack([columns_of(one), columns_of(two)])
    return estimated(record, columns, _halves, counted_in(one, two), limits=(-1.0, 1.0))


def _halves(totals: Floats) -> Floats:
    """The mean of the first half of the columns less that of the second."""
    half = totals.shape[1] // 2
    return mean_of_columns(totals[:, :half]) - mean_of_columns(totals[:, half:])


def tested(made: Estimate, p: float | None, family: str) -> Estimate:
    """An estimate whose record has a p, as one of a family of tests."""
    if p is None or made.record.value is None:
        return made
    record = msgspec.structs.replace(made.record, p=p, family=family)
    return msgspec.structs.replace(made, record=record)


def exact_p(each: Ints, clusters: Ints) -> float | None:
    """Exact two-sided p of paired differences of whole numbers: 0/1 marks, or sums over judges.

    Where no two cases share a cluster and all differences are -1, 0 or 1, McNemar's; else signs
    are flipped, a cluster's together. None without cases.
    """
    from overread.stats import difference_p, sign_flip_p

    if not each.size:
        return None
    alone = np.unique(clusters).size == clusters.size
    if alone and np.abs(each).max() <= 1:
        return difference_p(int((each == 1).sum()), int((each == -1).sum()))
    return sign_flip_p(each, clusters)


def signs(units: int, flips: int, seed: int) -> NDArray[np.int8]:
    """`flips` rows of +1 and -1 by fair coins, always the same for one seed."""
    # The generator's words are frozen, what numpy makes of them is not: hence bit by bit.
    words = np.random.PCG64(np.random.SeedSequence(seed)).random_raw((flips * units + 63) // 64)
    bits = np.unpackbits(words.astype("<u8").view(np.uint8))[: flips * units]
    return bits.reshape(flips, units).view(np.int8) * np.int8(2) - np.int8(1)


def flip_ps(sums: Floats, coins: NDArray[np.int8]) -> list[float]:
    """Two-sided p of several paired differences: signs flipped by cluster, by these coins.

    `sums` (clusters x m) are the clusters' sums of differences. P is the share of sign vectors, the
    observed one among them, whose total is as far from 0; totals that only rounding tells apart
    are equally far.
    """
    observed = np.abs(sums.sum(axis=0))
    observed = observed - _TIE * np.abs(sums).sum(axis=0)
    beyond = np.zeros(sums.shape[1], dtype=np.int64)
    for start in range(0, len(coins), _ROWS):
        drawn = np.abs(coins[start : start + _ROWS].astype(np.float64) @ sums)
        beyond += (drawn >= observed).sum(axis=0)
    return [float(p) for p in (1 + beyond) / (1 + len(coins))]


def cluster_sums(each: Floats, clusters: Ints) -> Floats:
    """Sums of a column by cluster, in the order of the codes."""
    found: Floats = np.bincount(clusters, weights=each).astype(np.float64)
    return found


def mean_differences(one: Floats, two: Floats) -> Floats:
    """By case, the mean over judges of first less second, where both are counted; else 0."""
    both = ~(np.isnan(one) | np.isnan(two))
    summed = np.where(both, one - two, 0.0).sum(axis=1)
    return np.nan_to_num(quotients(summed, both.sum(axis=1).astype(float)))


def with_q(records: Sequence[Measure]) -> list[Measure]:
    """The records with q: Benjamini and Hochberg's within each family of tests."""
    from overread.stats import benjamini_hochberg

    families: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        if record.family is not None:
            families.setdefault(record.family, []).append(place)
    found = list(records)
    for places in families.values():
        p = [np.nan if (x := records[place].p) is None else x for place in places]
        for place, q in zip(places, benjamini_hochberg(p), strict=True):
            if not np.isnan(q):
                found[place] = msgspec.structs.replace(found[place], q=float(q))
    return found


# ---------------------------------------------------------------- pairs of shares, and ranks


def paired_shares(record: Measure, one: Mask, other: Mask, clusters: Ints) -> Measure:
    """The difference of two paired rates with Newcombe's interval, design effect by cluster."""
    from overread.stats import design_effect
    from overread.stats import paired_difference as newcombe_difference

    n = int(one.size)
    if not n:
        return noted(record, NOTHING)
    change = one.astype(np.int64) - other.astype(np.int64)
    record = msgspec.structs.replace(record, value=int(change.sum()) / n, n=n)
    if n < 2:
        return noted(record, ONE_CLUSTER)
    effect = design_effect(change, clusters)
    table = [int((one == x)[other == y].sum()) for x in (1, 0) for y in (1, 0)]
    found = newcombe_difference(*table, design_effect=effect)
    bounded = msgspec.structs.replace(record, se=found.sd, low=found.low, high=found.high)
    return with_method(bounded, Method(kind="newcombe10", effect=effect))


EVERYONE: Final = ""
"""The reader of a record that stands for all readers of a run together."""


def rank_correlation(
    pairs: Sequence[tuple[float | None, float | None]], by: dict[str, str], *, exact: bool
) -> Measure:
    """Spearman's correlation of a measure's two values over the readers [D25].

    `exact` permutes the ranks for p; otherwise the published t approximation. Null with fewer than
    three readers.
    """
    from overread.stats import spearman, spearman_asymptotic_p, spearman_exact_p

    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    made = Measure(reader=EVERYONE, measure="rho", by=by, n=len(known))
    x, y = [one for one, _ in known], [other for _, other in known]
    rho = spearman(x, y) if len(known) > 2 else None
    if rho is None:
        return noted(made, NOTHING, "fewer than three models, or all alike")
    p, method = spearman_asymptotic_p(rho, len(known)), "asymptotic t"
    if exact:
        p, method = spearman_exact_p(x, y)
    return with_method(msgspec.structs.replace(made, value=rho, p=p), Method(kind=method))


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """1 for the largest; ties share their average rank, cut to a whole number (GROUNDING 12)."""
    known: Floats = np.array([np.nan if v is None else v for v in values])
    found: list[int | None] = []
    for value in known:
        if np.isnan(value):
            found.append(None)
            continue
        above, equal = int((known > value).sum()), int((known == value).sum())
        found.append(int(above + (equal + 1) / 2))
    return found
