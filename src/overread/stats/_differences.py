"""Differences of two models, or of one under two conditions: paired case by case or independent,
their intervals and tests, and the p of many at once.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._clusters import clustered_mean
from overread.stats._proportions import Z95, Interval, score_bounds
from overread.stats._spread import Floats, Spread, counted_from_zero, spread_of_mean

FLIPS: Final = 9_999
LEVEL: Final = 0.05
# Up to so many clusters that differ, all assignments of signs are listed.
_LISTED: Final = 13
# Totals this close to the observed one, relative to what they are sums of, are ties.
_TIE: Final = 1e-9
_SEED: Final = 0


class Paired(NamedTuple):
    """A paired difference with its interval, p, how it varies, and whether Newcombe's bounds."""

    interval: Interval
    p: float | None
    spread: Spread
    newcombe: bool


def paired_values(
    one: ArrayLike,
    two: ArrayLike,
    clusters: ArrayLike,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Paired:
    """The mean of first less second over the same cases, with one test and the interval to it.

    P is that of flipping the signs of whole clusters (`flip_p`). The interval is Newcombe's where
    both are 0 or 1, the design effect and the degrees of freedom being those of `spread_of_mean`;
    else that of `clustered_mean`. Where interval and test differ about 0 the test is right: an
    interval that leaves 0 out beside p > 0.05 is stretched to it, one that holds 0 beside
    p <= 0.05 ends where the same test, of differences moved by that much, lets go.

    Parameters
    ----------
    one, two : arrays of shape (n,)
        What both have of each case, without NaN.
    clusters : array of shape (n,)
        Which cluster each case belongs to; any sortable labels.
    limits : (float, float)
        The differences there can be: (-1, 1) of shares.

    Returns
    -------
    Paired
        Point and p None without cases; bounds None with one cluster, and for amounts that all
        differ alike. 0 lies within the bounds exactly where p > 0.05.

    References
    ----------
    R. G. Newcombe (1998), Statistics in Medicine 17, 2635-2650. A. M. Winkler and others (2015),
    NeuroImage 123, 253-268.

    Examples
    --------
    >>> found = paired_values([1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 0], range(6), (-1, 1))
    >>> f"{found.interval.point:.2f} [{found.interval.low:.2f}, {found.interval.high:.2f}]", found.p
    ('0.67 [0.00, 0.86]', 0.125)
    """
    first, second = np.asarray(one, dtype=float), np.asarray(two, dtype=float)
    owners = counted_from_zero(clusters)
    each: Floats = first - second
    n = int(each.size)
    if not n:
        return Paired(Interval(None, None, None, None, 0), None, Spread(1.0, 0.0, 1.0), False)
    # The same sum whatever the order of the cases.
    value = math.fsum(each.tolist()) / n
    p = flip_p(each, owners)
    binary = bool(np.isin(first, (0, 1)).all() and np.isin(second, (0, 1)).all())
    if n < 2 or not owners.any():
        return Paired(Interval(value, None, None, None, n), p, Spread(1.0, 0.0, 1.0), binary)
    if binary:
        spread = spread_of_mean(each, owners)
        found = _newcombe(first == 1, second == 1, owners, spread.effect)
    else:
        found, spread = clustered_mean(value, each, owners, limits)
    if found.low is not None and found.high is not None and p is not None:
        low, high = _agreeing(found.low, found.high, value, p, each, owners)
        found = Interval(value, low, high, found.sd, n)
    return Paired(found, p, spread, binary)


def _newcombe(
    one: NDArray[np.bool_], two: NDArray[np.bool_], owners: NDArray[np.int64], effect: float
) -> Interval:
    from overread.stats.special import stdtrit

    added = (1 - 1 / effect) ** 2 / int(owners.max()) if effect > 1 else 0.0
    wider = (float(stdtrit(1 / added, 0.975)) / Z95) ** 2 if added > 1e-12 else 1.0
    cells = [int((one == a)[two == b].sum()) for a in (True, False) for b in (True, False)]
    found = paired_difference(*cells, design_effect=effect * max(1.0, wider))
    assert found.sd is not None
    return Interval(found.point, found.low, found.high, found.sd / math.sqrt(wider), found.n)


def flip_p(each: ArrayLike, clusters: ArrayLike) -> float | None:
    """Two-sided p of paired differences: the signs of whole clusters are flipped by fair coins.

    Were there no difference, the two could be exchanged within any patient, all of that patient's
    cases together. P is the share of assignments of signs whose total is as far from 0 as the one
    seen, totals that only rounding tells apart being equally far.

    - Whole numbers (0/1 marks): exactly; McNemar's where no two cases share a cluster.
    - Up to 13 clusters that differ: exactly, all assignments listed.
    - Else 9,999 seeded draws, and the one seen. Clusters with equal sums are drawn together, so
      that neither names nor order matter.

    Parameters
    ----------
    each : array of shape (n,)
        First less second of each case.
    clusters : array of shape (n,)
        Which cluster each case belongs to; any sortable labels.

    Returns
    -------
    float or None
        In (0, 1]; None without cases.

    References
    ----------
    R. A. Fisher (1935), The Design of Experiments, 21. Q. McNemar (1947), Psychometrika 12,
    153-157. B. Phipson and G. K. Smyth (2010), Statistical Applications in Genetics and Molecular
    Biology 9, 39.

    Examples
    --------
    >>> flip_p([1, 1, 1, 1, 1, 1], range(6))
    0.03125
    >>> flip_p([0.5, 1.0, 1.5], range(3))
    0.25
    """
    x: Floats = np.asarray(each, dtype=float)
    if not x.size:
        return None
    owners = np.unique(np.asarray(clusters), return_inverse=True)[1]
    whole = np.rint(x)
    if (whole == x).all():
        if int(owners.max()) + 1 == x.size and np.abs(x).max() <= 1:
            return difference_p(int((x == 1).sum()), int((x == -1).sum()))
        return sign_flip_p(whole.astype(np.int64), owners)
    sums = np.bincount(owners, weights=x)
    scale = float(np.abs(sums).sum())
    sums = sums[np.abs(sums) > _TIE * scale]
    if not sums.size:
        return 1.0
    least = abs(float(sums.sum())) - _TIE * scale
    if sums.size <= _LISTED:
        return float((np.abs(_every_sign(sums.size) @ sums) >= least).mean())
    # Equal to within rounding is equal; the legacy generator's stream is frozen.
    sizes, counts = np.unique(np.round(np.abs(sums) / scale, 12), return_counts=True)
    heads = np.random.RandomState(_SEED).binomial(counts, 0.5, size=(FLIPS, counts.size))
    drawn = np.abs((2 * heads - counts) @ sizes)
    return float((1 + int((drawn >= least / scale).sum())) / (1 + FLIPS))


def _every_sign(count: int) -> Floats:
    return np.array(list(product((1.0, -1.0), repeat=count)))


def _agreeing(
    low: float, high: float, value: float, p: float, each: Floats, owners: NDArray[np.int64]
) -> tuple[float, float]:
    """The bounds, made to say of 0 what the test says."""
    holds = low <= 0 <= high
    if holds == (p > LEVEL):
        return low, high
    if not holds:
        return min(low, 0.0), max(high, 0.0)
    sign = 1.0 if value > 0 else -1.0
    near = _let_go(sign * each, owners)
    near = near if near > 0 else abs(value) / 1_000
    return (near, high) if value > 0 else (low, -near)


def _let_go(each: Floats, owners: NDArray[np.int64]) -> float:
    """The smallest difference that the flip test does not reject, of a mean above 0.

    With sums S of m cases by cluster, a flip with totals a and b of these is as extreme as what was
    seen, all differences less d, where |a - d b| >= |A - d N|: between the two roots, which lie
    about A/N. So the bound is a quantile of the lower roots.
    """
    table: Floats = np.column_stack((np.bincount(owners, weights=each), np.bincount(owners)))
    table = table[np.lexsort(table.T)]
    sums, sizes = table.T
    total, n = float(sums.sum()), float(sizes.sum())
    if sums.size <= _LISTED:
        coins: NDArray[Any] = _every_sign(sums.size)
    else:
        coins = 2.0 * np.random.RandomState(_SEED).randint(0, 2, size=(1_999, sums.size)) - 1
    a, b = coins @ sums, coins @ sizes
    with np.errstate(all="ignore"):
        roots: NDArray[Any] = np.minimum((total - a) / (n - b), (total + a) / (n + b))
    roots = np.sort(np.where(np.isfinite(roots), roots, -np.inf))
    return float(roots[math.floor(LEVEL * roots.size)])


# ---------------------------------------------------------------- shares, and many p


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
