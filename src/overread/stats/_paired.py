"""Two readers, or one reader under two conditions, on the same cases: one test and its interval."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._clusters import clustered_mean
from overread.stats._differences import difference_p, paired_difference, sign_flip_p
from overread.stats._proportions import Z95, Interval
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
