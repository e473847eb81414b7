"""Do the rates of several groups differ, when patients, not cases, are the independent units?"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["exchangeable_groups_p"]


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
    x: NDArray[Any] = np.asarray(outcomes)
    labels, patients = np.asarray(groups), np.asarray(clusters)
    if not x.shape == labels.shape == patients.shape:
        raise ValueError(f"{x.size} outcomes, {labels.size} groups, {patients.size} clusters")
    if not np.isin(x, (0, 1)).all():
        raise ValueError("an outcome is neither 0 nor 1")
    units = _units(x.astype(np.int64), labels, patients)
    if len(units) < 2:
        return None
    pool = np.vstack(units)
    cases, hits = pool.sum(axis=0).tolist()
    if hits in (0, cases):
        return 1.0
    seen = np.array([unit.sum(axis=0) for unit in units])
    if len(units) == 2 and pool[:, 0].max() == 1:
        return _hypergeometric_p(int(seen[0, 1]), hits, int(seen[0, 0]), cases)
    dealt = _deals(pool, [len(unit) for unit in units], n_perm, seed)
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


def _deals(
    pool: NDArray[np.int64], numbers: list[int], n_perm: int, seed: int
) -> NDArray[np.int64]:
    """(cases, hits) of every group in each random deal of the units, as n_perm x groups x 2."""
    kinds, count = np.unique(pool, axis=0, return_counts=True)
    frequent = np.argsort(-count, kind="stable")  # rare kinds then come from what little is left
    kinds = kinds[frequent]
    left: NDArray[np.int64] = np.tile(count[frequent], (n_perm, 1))
    draw = np.random.RandomState(seed)  # the frozen stream: Generator's may change
    dealt = np.zeros((n_perm, len(numbers), 2), np.int64)
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
