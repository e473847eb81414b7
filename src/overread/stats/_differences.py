"""The difference of two proportions: its interval and its p, and the p of many at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._proportions import Interval, score_bounds


def paired_difference(
    n11: int, n10: int, n01: int, n00: int, *, design_effect: float = 1.0
) -> Interval:
    """Newcombe's score interval (method 10) for a difference of paired proportions, at 95 %.

    Each case has two outcomes: n11 had both, n10 only the first, n01 only the second, n00 neither.
    The Wilson intervals [l, u] of the two proportions p1 and p2 are put together with their
    correlation phi, which is corrected for continuity when positive::

        d     = p1 - p2 = (n10 - n01) / n
        low   = d - sqrt((p1-l1)² - 2 phi (p1-l1)(u2-p2) + (u2-p2)²)
        high  = d + sqrt((u1-p1)² - 2 phi (u1-p1)(p2-l2) + (p2-l2)²)

    Parameters
    ----------
    n11, n10, n01, n00 : int
        Cells of the paired table, each at least 0.
    design_effect : float, default 1
        As in `wilson`, of the differences (-1, 0 or 1 per case); every cell is divided by it.

    Returns
    -------
    Interval
        `point` in [-1, 1]; `low` < `high`, also when every case agrees; `sd` the standard error
        sqrt((n10 + n01)/n - d²) / sqrt(n / design_effect). All None at n = 0.

    References
    ----------
    R. G. Newcombe (1998), Statistics in Medicine 17, 2635-2650.

    Examples
    --------
    >>> found = paired_difference(1, 1, 7, 12)
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '-0.286 [-0.507, -0.026]'
    """
    if min(n11, n10, n01, n00) < 0:
        raise ValueError(f"a cell of the table is negative: {n11}, {n10}, {n01}, {n00}")
    if not design_effect >= 1:
        raise ValueError(f"a design effect of {design_effect} would make cases of nothing")
    n = n11 + n10 + n01 + n00
    if n == 0:
        return Interval(None, None, None, None, 0)
    m = n / design_effect
    first, second = (n11 + n10) / n, (n11 + n01) / n
    low1, high1 = score_bounds(first, m)
    low2, high2 = score_bounds(second, m)
    phi = _correlation(*(cell / design_effect for cell in (n11, n10, n01, n00)))
    point = (n10 - n01) / n
    below = _joined(first - low1, high2 - second, phi)
    above = _joined(high1 - first, second - low2, phi)
    spread = max(0.0, (n10 + n01) / n - point * point)
    return Interval(
        point, max(-1.0, point - below), min(1.0, point + above), math.sqrt(spread / m), n
    )


def _joined(a: float, b: float, phi: float) -> float:
    return math.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))


def _correlation(n11: float, n10: float, n01: float, n00: float) -> float:
    margins = (n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00)
    if margins == 0:
        return 0.0
    cross = n11 * n00 - n10 * n01
    if cross > 0:
        cross = max(cross - (n11 + n10 + n01 + n00) / 2, 0.0)
    return cross / math.sqrt(margins)


def difference_p(n10: int, n01: int) -> float:
    """Exact two-sided p of McNemar's test: do two readers differ on the same independent cases?

    Only cases on which they differ say anything. Were there no difference, each would fall either
    way like a fair coin::

        p = min(1, 2 · P(X >= max(n10, n01))),  X ~ Binomial(n10 + n01, 1/2)

    Parameters
    ----------
    n10, n01 : int
        Cases that only the first, and only the second, got right; each at least 0.

    Returns
    -------
    float
        In (0, 1]; 1 when they never differ. Where patients repeat, see `sign_flip_p`.

    References
    ----------
    Q. McNemar (1947), Psychometrika 12, 153-157. M. W. Fagerland, S. Lydersen and P. Laake (2013),
    BMC Medical Research Methodology 13, 91.

    Examples
    --------
    >>> difference_p(1, 7)
    0.0703125
    >>> difference_p(0, 0)
    1.0
    """
    if min(n10, n01) < 0:
        raise ValueError(f"a cell of the table is negative: {n10}, {n01}")
    n, most = n10 + n01, max(n10, n01)
    # The quotient of two whole numbers is rounded once, however long they are.
    tail, ways = 0, 1  # C(n, n), and from there down: short numbers first
    for k in range(n, most - 1, -1):
        tail += ways
        ways = ways * k // (n - k + 1)
    return 1.0 if 2 * tail >= 2**n else 2 * tail / 2**n


def sign_flip_p(differences: ArrayLike, clusters: ArrayLike) -> float | None:
    """Exact two-sided p of a paired difference when cases come in clusters (patients).

    Were there no difference, the two readers' outcomes could be exchanged within any patient, all
    of that patient's cases together. So each patient's sum of differences D_c keeps its size and
    takes either sign by a fair coin, and p is the share of all 2^C assignments with::

        |Σ ± D_c| >= |Σ D_c|

    None is listed and none drawn: patients with equal sizes of D_c give a binomial, and those are
    convolved. With one case for each patient this is `difference_p`.

    Parameters
    ----------
    differences : array of shape (n,)
        First minus second outcome of each case: -1, 0 or 1.
    clusters : array of shape (n,)
        Which cluster each case belongs to; any sortable labels.

    Returns
    -------
    float or None
        In (0, 1]; 1 when nothing differs; None without cases.

    References
    ----------
    R. A. Fisher (1935), The Design of Experiments, 21. A. M. Winkler and others (2015), NeuroImage
    123, 253-268, on exchanging whole blocks.

    Examples
    --------
    >>> sign_flip_p([1, 1, 1, -1], ["a", "b", "c", "d"])
    0.625
    >>> sign_flip_p([1, 1, 1, 1], ["a", "a", "a", "a"])
    1.0
    """
    each: NDArray[Any] = np.asarray(differences, dtype=np.int64)
    if each.size == 0:
        return None
    _, where = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(where, weights=each).astype(np.int64)
    sizes, patients = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    chance: NDArray[Any] = np.ones(1)  # of each total, from the least to the greatest
    for size, count in zip(sizes.tolist(), patients.tolist(), strict=True):
        coins = np.zeros(2 * size * count + 1)
        whole = 2**count
        coins[:: 2 * size] = [ways / whole for ways in _binomials(count)]
        chance = np.convolve(chance, coins)
    totals = np.arange(chance.size) - chance.size // 2
    return min(1.0, float(chance[np.abs(totals) >= abs(int(sums.sum()))].sum()))


def _binomials(n: int) -> list[int]:
    """C(n, 0) to C(n, n), each from the one before."""
    row = [1]
    for k in range(n):
        row.append(row[-1] * (n - k) // (k + 1))
    return row


# ---------------------------------------------------------------- measured on different cases


def independent_difference(first: Interval, second: Interval) -> Interval:
    """Newcombe's interval (method 10 for independent samples) for p1 - p2, at 95 %.

    The intervals [l, u] of the two proportions, such as Wilson's, are put together by squares::

        d    = p1 - p2
        low  = d - sqrt((p1 - l1)² + (u2 - p2)²)
        high = d + sqrt((u1 - p1)² + (p2 - l2)²)

    Parameters
    ----------
    first, second : Interval
        Each with a point and bounds; their design effects are already in the bounds.

    Returns
    -------
    Interval
        `point` in [-1, 1]; `sd` from both standard errors; `n` the cases of both. All None where
        either has no value; bounds None where either has none.

    References
    ----------
    R. G. Newcombe (1998), Statistics in Medicine 17, 873-890.

    Examples
    --------
    >>> from overread.stats import wilson
    >>> found = independent_difference(wilson(56, 70), wilson(48, 80))
    >>> f"{found.point:.3f} [{found.low:.4f}, {found.high:.4f}]"
    '0.200 [0.0524, 0.3339]'
    """
    n = first.n + second.n
    p1, p2 = first.point, second.point
    if p1 is None or p2 is None:
        return Interval(None, None, None, None, n)
    point = p1 - p2
    sd = None
    if first.sd is not None and second.sd is not None:
        sd = math.hypot(first.sd, second.sd)
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Interval(point, None, None, sd, n)
    low = point - math.hypot(p1 - first.low, second.high - p2)
    high = point + math.hypot(first.high - p1, p2 - second.low)
    return Interval(point, max(-1.0, low), min(1.0, high), sd, n)


# ---------------------------------------------------------------- many tests at once


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Benjamini and Hochberg's adjusted p-values (q), controlling the false-discovery rate.

    With the m defined p-values in ascending order::

        q_(k) = min over r >= k of p_(r) · m / r, at most 1

    Parameters
    ----------
    p : array of shape (tests,)
        P-values. NaN marks a test that could not be made: it passes through and does not count.

    Returns
    -------
    array of shape (tests,)
        Q-values in [0, 1] in the order given, each at least its p; NaN where p is NaN.

    References
    ----------
    Y. Benjamini and Y. Hochberg (1995), JRSS B 57, 289-300.

    Examples
    --------
    >>> benjamini_hochberg([0.01, float("nan"), 0.04, 0.03]).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    values: NDArray[Any] = np.asarray(p, dtype=float)
    q = np.full(values.shape, np.nan)
    made = np.flatnonzero(~np.isnan(values))
    if made.size == 0:
        return q
    ascending = made[np.argsort(values[made], kind="stable")]
    raw = values[ascending] * made.size / np.arange(1, made.size + 1)
    q[ascending] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1.0)
    return q
