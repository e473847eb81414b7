"""Do the rates of groups differ? By exchanging cases as the authors do, or whole patients."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def deals(pool: NDArray[np.int64], numbers: list[int], n_perm: int, seed: int) -> NDArray[np.int64]:
    """Sums of the units' columns in every group of each random deal (n_perm x groups x columns)."""
    kinds, count = np.unique(pool, axis=0, return_counts=True)
    frequent = np.argsort(-count, kind="stable")  # rare kinds then come from what little is left
    kinds = kinds[frequent]
    left: NDArray[np.int64] = np.tile(count[frequent][:, None], n_perm)
    draw = np.random.RandomState(seed)  # the frozen stream: Generator's may change
    dealt = np.zeros((n_perm, len(numbers), pool.shape[1]), np.int64)
    for group, number in enumerate(numbers[:-1]):
        wanted = np.full(n_perm, number)
        others = left.sum(axis=0)
        found = np.zeros_like(left)
        for kind in range(len(kinds)):
            others -= left[kind]
            # The legacy generator refuses to draw none; one of one more is drawn and put back.
            none = wanted == 0
            drawn = draw.hypergeometric(left[kind], others + none, wanted + none)
            found[kind] = np.where(none, 0, drawn)
            wanted -= found[kind]
        left -= found
        dealt[:, group] = found.T @ kinds
    dealt[:, -1] = left.T @ kinds  # the last group gets what is left
    return dealt
