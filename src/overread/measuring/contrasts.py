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

from overread.case import Measure
from overread.measuring.estimates import (
    Estimate,
    Floats,
    Ints,
    Mask,
    columns_of,
    counted_in,
    estimated,
    mean_of_columns,
    quotients,
    ratio,
)

__all__ = [
    "FLIPS",
    "cluster_sums",
    "difference_of_means",
    "exact_p",
    "flip_ps",
    "mean_differences",
    "paired_difference",
    "signs",
    "tested",
    "with_q",
]

FLIPS: Final = 9_999
_ROWS: Final = 1_000
# Totals this close to the observed one, relative to what they are sums of, are ties.
_TIE: Final = 1e-9


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
