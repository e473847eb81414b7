"""Do the rates of groups differ? By exchanging cases as the authors do, or whole patients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._proportions import outcomes_of


def permutation_two_groups(
    a: ArrayLike, b: ArrayLike, n_perm: int = 1_000, seed: int = 0, *, exact_ties: bool = True
) -> float | None:
    """Two-sided permutation p of a difference of two rates, as the grounding paper's code draws it.

    `RandomState(seed)` permutes a and b end to end; the first len(a) values are the new a. c counts
    permutations in which the two means lie at least as far apart as they do (GROUNDING 10.5)::

        p = (c + 1) / (n_perm + 1)

    Parameters
    ----------
    a, b : arrays of shape (n_a,) and (n_b,)
        Outcomes, 0 or 1.
    n_perm, seed : int
        Permutations, and the seed of the legacy generator; every call starts it anew.
    exact_ties : bool, default True
        Compare whole numbers. False: floating-point means, as the authors do, so that rounding
        may lose a tie.

    Returns
    -------
    float or None
        In (0, 1]; None when a group has fewer than 2 outcomes.

    References
    ----------
    B. Phipson and G. K. Smyth (2010), Statistical Applications in Genetics and Molecular Biology
    9, 39.

    Examples
    --------
    >>> permutation_two_groups([1, 1, 1, 1], [0, 0, 0, 0], n_perm=99)
    0.03
    """
    first, second = outcomes_of(a), outcomes_of(b)
    if min(first.size, second.size) < 2:
        return None
    sizes = np.array([first.size, second.size])
    sums = _shuffled_sums(np.concatenate((first, second)), sizes, n_perm, seed)
    seen = np.array([first.sum(), second.sum()])
    if exact_ties:
        # |S_a/n_a - S_b/n_b| · n_a n_b
        far, here = (np.abs(s[..., 0] * sizes[1] - s[..., 1] * sizes[0]) for s in (sums, seen))
    else:
        far, here = (np.abs(s[..., 0] / sizes[0] - s[..., 1] / sizes[1]) for s in (sums, seen))
    return (int(np.count_nonzero(far >= here)) + 1) / (n_perm + 1)


def permutation_k_groups(
    groups: Sequence[ArrayLike], n_perm: int = 1_000, seed: int = 0, *, exact_ties: bool = True
) -> float | None:
    """Permutation p of the F statistic over k groups, as the grounding paper's code draws it.

    Groups of fewer than 2 are dropped. `RandomState(seed)` permutes the rest end to end, and the
    new groups are cut off in order. c counts permutations with at least the F seen; p is
    (c + 1)/(n_perm + 1) (GROUNDING 10.6). With fixed group sizes F rises with Σ S_g²/n_g, S_g the
    hits of a group, which is compared in whole numbers.

    Parameters
    ----------
    groups : sequence of arrays
        Outcomes, 0 or 1, one array for each group.
    n_perm, seed : int
        As for `permutation_two_groups`.
    exact_ties : bool, default True
        False: floating-point F, as the authors do, infinite where no group varies within.

    Returns
    -------
    float or None
        In (0, 1]; None with fewer than two groups of at least 2.

    References
    ----------
    B. Phipson and G. K. Smyth (2010), Statistical Applications in Genetics and Molecular Biology
    9, 39.

    Examples
    --------
    >>> permutation_k_groups([[1, 1, 1], [0, 0, 0], [1]], n_perm=99)
    0.14
    """
    kept = [x for x in map(outcomes_of, groups) if x.size >= 2]
    if len(kept) < 2:
        return None
    if not exact_ties:
        return _float_f_p([x.astype(float) for x in kept], n_perm, seed)
    sizes = np.array([x.size for x in kept])
    sums = _shuffled_sums(np.concatenate(kept), sizes, n_perm, seed)
    found = _squares(np.vstack(([x.sum() for x in kept], sums)), sizes)
    return (int(np.count_nonzero(found[1:] >= found[0])) + 1) / (n_perm + 1)


def _shuffled_sums(
    pooled: NDArray[np.int64], sizes: NDArray[np.int64], n_perm: int, seed: int
) -> NDArray[np.int64]:
    """Hits of every group in each permutation, as n_perm x groups."""
    draw = np.random.RandomState(seed)  # the frozen stream: Generator's may change
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    sums = np.empty((n_perm, sizes.size), np.int64)
    for row in sums:
        np.add.reduceat(draw.permutation(pooled), starts, out=row)
    return sums


def _squares(sums: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[Any]:
    """Σ S_g²/n_g times the sizes' common multiple; Python's own integers where 64 bits are few."""
    whole = math.lcm(*sizes.tolist())
    wide = whole * int(sizes.sum()) ** 2 >= 1 << 63
    shares = np.array([whole // n for n in sizes.tolist()], dtype=object if wide else np.int64)
    squares: NDArray[Any] = (sums.astype(shares.dtype) ** 2 * shares).sum(axis=1)
    return squares


def _float_f_p(groups: list[NDArray[Any]], n_perm: int, seed: int) -> float:
    """The authors' arithmetic step by step: even the order of the values decides what is lost."""
    draw = np.random.RandomState(seed)
    pooled = np.concatenate(groups)
    cuts = np.cumsum([x.size for x in groups])[:-1]
    seen = _f_ratio(groups)
    shuffled = (np.split(draw.permutation(pooled), cuts) for _ in range(n_perm))
    return (sum(_f_ratio(each) >= seen for each in shuffled) + 1) / (n_perm + 1)


def _f_ratio(groups: list[NDArray[Any]]) -> float:
    """One-way analysis of variance; infinite where no group varies within."""
    pooled = np.concatenate(groups)
    grand = pooled.mean()
    means = [x.mean() for x in groups]
    between = sum(x.size * (mean - grand) ** 2 for x, mean in zip(groups, means, strict=True))
    within = sum(((x - mean) ** 2).sum() for x, mean in zip(groups, means, strict=True))
    if within == 0:
        return math.inf
    return float((between / (len(groups) - 1)) / (within / (pooled.size - len(groups))))


# ----------------------- where patients, not cases, are the independent units


def exchangeable_groups_p(
    outcomes: ArrayLike,
    groups: ArrayLike,
    clusters: ArrayLike,
    n_perm: int = 10_000,
    seed: int = 0,
) -> float | None:
    """P of equal rates in k >= 2 groups, by exchanging whole clusters (patients) between them.

    A unit is all cases of one patient within one group; a patient found in two groups is a unit in
    each. Were the rates equal, units could stand in any group, so they are dealt out anew, each
    group keeping its number of units. With h_g hits in n_g cases and the pooled rate p::

        T = Σ_g (h_g - n_g p)² / n_g = Σ_g h_g² / n_g - constant

    P is the chance of a T at least as large, ties included: T is compared as an exact fraction
    wherever rounding could decide.

    - Two groups of patients with one case each: exactly, from the hypergeometric distribution.
    - Otherwise units with as many cases and hits are interchangeable, so one draws how many of
      each *kind* fall to a group (a multivariate hypergeometric), the same distribution at a
      fraction of the cost, which depends on no order and no names; p = (c + 1)/(n_perm + 1).

    Parameters
    ----------
    outcomes : array of shape (n,)
        0 or 1.
    groups, clusters : arrays of shape (n,)
        The group and the cluster of each outcome; any sortable labels.
    n_perm, seed : int
        Random deals, and the seed of the legacy generator; unused where p is exact.

    Returns
    -------
    float or None
        In (0, 1]; 1 when all outcomes agree. Groups of fewer than 2 outcomes are left out; None
        when fewer than two groups remain.

    References
    ----------
    R. A. Fisher (1935), The Design of Experiments. B. Phipson and G. K. Smyth (2010), Statistical
    Applications in Genetics and Molecular Biology 9, 39.

    Examples
    --------
    >>> exchangeable_groups_p([1, 1, 1, 0, 0, 0], list("AAABBB"), range(6))
    0.1
    >>> exchangeable_groups_p([1, 1, 0, 0], list("AABB"), list("ppqq"))
    1.0
    """
    x, labels, patients = np.asarray(outcomes), np.asarray(groups), np.asarray(clusters)
    if not x.shape == labels.shape == patients.shape:
        raise ValueError(f"{x.size} outcomes, {labels.size} groups, {patients.size} clusters")
    units = _units(outcomes_of(x), labels, patients)
    if len(units) < 2:
        return None
    pool = np.vstack(units)
    cases, hits = pool.sum(axis=0).tolist()
    if hits in (0, cases):
        return 1.0
    seen = np.array([unit.sum(axis=0) for unit in units])
    if len(units) == 2 and pool[:, 0].max() == 1:
        return _hypergeometric_p(int(seen[0, 1]), hits, int(seen[0, 0]), cases)
    dealt = deals(pool, [len(unit) for unit in units], n_perm, seed)
    return (_as_large(dealt, seen) + 1) / (n_perm + 1)


def _units(
    x: NDArray[np.int64], labels: NDArray[Any], patients: NDArray[Any]
) -> list[NDArray[np.int64]]:
    """For every group of at least 2 outcomes: (cases, hits) of each patient in it."""
    units = []
    for label in np.unique(labels):
        inside = labels == label
        if np.count_nonzero(inside) < 2:
            continue
        _, where = np.unique(patients[inside], return_inverse=True)
        hits = np.bincount(where, weights=x[inside]).astype(np.int64)
        units.append(np.column_stack((np.bincount(where), hits)))
    # By content, so that the groups' names do not decide which is dealt to first.
    return sorted(units, key=lambda unit: (len(unit), *unit.sum(axis=0).tolist()))


def _hypergeometric_p(seen: int, hits: int, first: int, cases: int) -> float:
    """The chance that the first group's hits lie at least as far from their mean as those seen."""
    second = cases - first
    count = max(0, hits - second)
    ways = math.comb(first, count) * math.comb(second, hits - count)
    as_far = 0
    while count <= min(first, hits):
        if abs(count * cases - first * hits) >= abs(seen * cases - first * hits):
            as_far += ways
        ways = ways * (first - count) * (hits - count)
        count += 1
        ways //= count * (second - hits + count)
    return as_far / math.comb(cases, hits)


def deals(pool: NDArray[np.int64], numbers: list[int], n_perm: int, seed: int) -> NDArray[np.int64]:
    """Sums of the units' columns in every group of each random deal (n_perm x groups x columns)."""
    kinds, count = np.unique(pool, axis=0, return_counts=True)
    frequent = np.argsort(-count, kind="stable")  # rare kinds then come from what little is left
    kinds = kinds[frequent]
    left: NDArray[np.int64] = np.tile(count[frequent], (n_perm, 1))
    draw = np.random.RandomState(seed)  # the frozen stream: Generator's may change
    dealt = np.zeros((n_perm, len(numbers), pool.shape[1]), np.int64)
    for group, number in enumerate(numbers[:-1]):
        wanted = np.full(n_perm, number)
        others = left.sum(axis=1)
        for kind in range(len(kinds)):
            others -= left[:, kind]
            # The legacy generator refuses to draw none; one of one more is drawn and put back.
            none = wanted == 0
            found = draw.hypergeometric(left[:, kind], others + none, wanted + none)
            found = np.where(none, 0, found)
            wanted -= found
            left[:, kind] -= found
            dealt[:, group] += found[:, None] * kinds[kind]
    dealt[:, -1] = left @ kinds  # the last group gets what is left
    return dealt


def _as_large(dealt: NDArray[np.int64], seen: NDArray[np.int64]) -> int:
    """How many deals have Σ h²/n at least as large as what was seen."""
    values, here = ((t[..., 1] ** 2 / t[..., 0]).sum(axis=-1) for t in (dealt, seen))
    close = np.abs(values - here) <= 1e-9 * here
    wanted = _exactly(seen)
    near, times = np.unique(dealt[close], axis=0, return_counts=True)
    ties = sum(int(n) for deal, n in zip(near, times, strict=True) if _exactly(deal) >= wanted)
    return int(np.count_nonzero(values[~close] > here)) + ties


def _exactly(table: NDArray[np.int64]) -> Fraction:
    return sum((Fraction(hits * hits, cases) for cases, hits in table.tolist()), Fraction(0))
