"""Correlation of values and of ranks, ways to ask whether it could be chance, the rank-sum test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._proportions import Z95

# All 9! = 362,880 orders take a fifth of a second; 10! would take ten times that.
_LISTED = 9
# Random orders drawn at a time.
_CHUNK = 1 << 18


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Spearman's rank correlation, ties by mid-ranks.

    Pearson's correlation of the ranks R and S, from sums of whole numbers (ranks are doubled)::

        rho = (n Σ RS - ΣR ΣS) / sqrt((n ΣR² - (ΣR)²)(n ΣS² - (ΣS)²))

    Parameters
    ----------
    x, y : arrays of shape (n,)

    Returns
    -------
    float or None
        In [-1, 1], and exactly ±1 for the same or the reverse order; None with n < 2 or when x or
        y does not vary.

    References
    ----------
    C. Spearman (1904), American Journal of Psychology 15, 72-101.

    Examples
    --------
    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    >>> spearman([1, 2, 3], [5, 5, 5])
    """
    a, b = _centred(x, y)
    together, spread = int(a @ b), int(a @ a) * int(b @ b)
    if spread == 0:
        return None
    root = math.isqrt(spread)
    return together / root if root * root == spread else together / math.sqrt(spread)


def spearman_exact_p(
    x: ArrayLike, y: ArrayLike, seed: int = 0, n_perm: int = 100_000
) -> tuple[float | None, str]:
    """Two-sided permutation p of Spearman's correlation, and how it was had [D25].

    The share of the orders of y in which abs(rho) is at least what was seen; ties are decided in
    whole numbers. Up to n = 9 all n! orders are counted. Above, n_perm random ones give
    (c + 1)/(n_perm + 1).

    Parameters
    ----------
    x, y : arrays of shape (n,)
    seed, n_perm : int
        Seed of the legacy generator, and random orders; unused up to n = 9.

    Returns
    -------
    (float, str) or (None, str)
        P in (0, 1] with "exact" or "permutation:n_perm:seed"; None with "undefined" where
        `spearman` is None.

    References
    ----------
    E. J. G. Pitman (1937), Supplement to the JRSS 4, 225-232.

    Examples
    --------
    >>> spearman_exact_p([1, 2, 3, 4], [1, 2, 3, 4])
    (0.08333333333333333, 'exact')
    """
    a, b = _centred(x, y)
    n = a.size
    if int(a @ a) * int(b @ b) == 0:
        return None, "undefined"
    seen = abs(int(a @ b))
    if n <= _LISTED:
        every = np.abs(b[_all_orders(n)] @ a)
        return int(np.count_nonzero(every >= seen)) / math.factorial(n), "exact"
    draw = np.random.RandomState(seed)  # the frozen stream: Generator's may change
    as_far, rows = 0, max(1, _CHUNK // n)
    for start in range(0, n_perm, rows):
        keys = draw.random_sample((min(rows, n_perm - start), n))
        as_far += int(np.count_nonzero(np.abs(b[np.argsort(keys, axis=1)] @ a) >= seen))
    return (as_far + 1) / (n_perm + 1), f"permutation:{n_perm}:{seed}"


def spearman_asymptotic_p(rho: float | None, n: int) -> float | None:
    """Two-sided p of Spearman's correlation from Student's t, as scipy's default has it.

    ::

        t = rho sqrt((n - 2) / (1 - rho²)),  n - 2 degrees of freedom

    Too small for few observations; it is what the authors report (GROUNDING 10.8).

    Parameters
    ----------
    rho : float or None
    n : int
        Observations that rho stands on.

    Returns
    -------
    float or None
        In [0, 1], and 0 at rho = ±1; None without rho or with n < 3.

    References
    ----------
    M. G. Kendall and A. Stuart (1973), The Advanced Theory of Statistics 2, 31.19.

    Examples
    --------
    >>> f"{spearman_asymptotic_p(0.8, 10):.6f}"
    '0.005456'
    """
    if rho is None or n < 3:
        return None
    if abs(rho) >= 1:
        return 0.0
    from overread.stats.special import stdtr

    return float(2 * stdtr(n - 2, -abs(rho) * math.sqrt((n - 2) / ((1 + rho) * (1 - rho)))))


def _centred(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Twice the mid-ranks less their mean, which is n + 1: whole numbers that sum to zero."""
    first: NDArray[Any] = np.asarray(x, dtype=float)
    second: NDArray[Any] = np.asarray(y, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} values beside {second.size}")
    if np.isnan(first).any() or np.isnan(second).any():
        raise ValueError("a value is missing (NaN)")
    return _doubled_ranks(first) - (first.size + 1), _doubled_ranks(second) - (first.size + 1)


def _doubled_ranks(values: NDArray[Any]) -> NDArray[np.int64]:
    ascending = np.sort(values)
    left = np.searchsorted(ascending, values, side="left")
    return (left + np.searchsorted(ascending, values, side="right") + 1).astype(np.int64)


def _all_orders(n: int) -> NDArray[np.int8]:
    """Every order of 0 to n - 1, as n! x n: each order of one fewer, with the last put anywhere."""
    orders: NDArray[np.int8] = np.zeros((1, 0), np.int8)
    for last in range(n):
        orders = np.concatenate(
            [np.insert(orders, place, last, axis=1) for place in range(last + 1)]
        )
    return orders


# ---------------------------------------------------------------- the rank-sum test


def rank_sum_p(larger: Sequence[float], smaller: Sequence[float]) -> float | None:
    """Exact one-sided p of the Wilcoxon rank-sum test, ties by mid-ranks.

    The probability, when both groups come from one distribution, that the ranks of `larger` sum to
    at least what was seen. Ties are exact: ranks are doubled to whole numbers and all ways to
    choose the group are counted, none enumerated.

    .. math:: p = P(W \\ge w), \\quad W = \\sum_{i \\in larger} R_i

    Parameters
    ----------
    larger, smaller : sequences of float
        The group expected to hold larger values, and the other.

    Returns
    -------
    float or None
        In (0, 1]; None when a group is empty.

    References
    ----------
    Wilcoxon (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1(6).

    Examples
    --------
    >>> rank_sum_p([3.0, 4.0], [1.0, 2.0])
    0.16666666666666666
    >>> rank_sum_p([1.0, 1.0], [1.0, 1.0])
    1.0
    """
    if not larger or not smaller:
        return None
    pooled = sorted([*larger, *smaller])
    first = {value: position for position, value in reversed(list(enumerate(pooled)))}
    last = {value: position for position, value in enumerate(pooled)}
    # Twice the mid-rank, so that halves are whole numbers.
    doubled = {value: first[value] + last[value] + 2 for value in first}
    seen = sum(doubled[value] for value in larger)
    # ways[m][s]: how many groups of m observations have doubled ranks summing to s.
    ways: list[dict[int, int]] = [{0: 1}] + [{} for _ in larger]
    for value in pooled:
        rank = doubled[value]
        for size in range(len(larger), 0, -1):
            for total, count in ways[size - 1].items():
                ways[size][total + rank] = ways[size].get(total + rank, 0) + count
    as_large = sum(count for total, count in ways[len(larger)].items() if total >= seen)
    return as_large / comb(len(pooled), len(larger))


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None with fewer than 2 values or where either does not vary.

    Examples
    --------
    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    n = len(x)
    if n < 2 or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    middle = math.fsum(x) / n, math.fsum(y) / n
    a, b = [one - middle[0] for one in x], [one - middle[1] for one in y]
    together = math.fsum(i * j for i, j in zip(a, b, strict=True))
    spread = math.sqrt(math.fsum(i * i for i in a) * math.fsum(j * j for j in b))
    return max(-1.0, min(1.0, together / spread)) if spread else None


def fisher_interval(r: float, n: int) -> tuple[float, float] | None:
    """95 % interval of a correlation: tanh(artanh r ± z / sqrt(n - 3)); None where n < 4 or r = ±1.

    References
    ----------
    R. A. Fisher (1921), Metron 1, 3-32.

    Examples
    --------
    >>> low, high = fisher_interval(0.5, 28)
    >>> round(low, 3), round(high, 3)
    (0.156, 0.736)
    """
    if n < 4 or abs(r) > 1 - 1e-12:
        return None
    reach = Z95 / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)
