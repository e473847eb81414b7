"""Intervals of shares and means whose cases come in clusters.

Of marks and of values between two limits they have Wilson's form, of others Student's; how such a
mean varies is in `_spread.py`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._proportions import Z95, Interval
from overread.stats._spread import (
    USUAL,
    USUAL_OF_SCORES,
    Clusters,
    Floats,
    Spread,
    clusters_of,
    drawn_towards,
    skewness,
    spread_of_mean,
    unlike_sizes,
    usual_effect,
    worth_in_clusters,
)

# What a bound of a share may miss by itself: near 0 and 1 nearly all misses are of one bound, and
# of all intervals 93 % are to hold at least.
_ONE_SIDE: Final = 0.07
# Numbers of hits looked at together, so that a large set does not fill the memory.
_AT_A_TIME: Final = 4_096
# So many of the largest numbers of hits are looked at before all others.
_FIRST: Final = 8
# Kinds of clusters of fewer cases than this are counted, of larger ones sorted: there are as many
# as its square.
_WIDE: Final = 256


def clustered_share(hits: ArrayLike, clusters: ArrayLike | Clusters) -> tuple[Interval, float]:
    """A share of cases that come in clusters, with Wilson's interval at 95 %; and its effect.

    Wilson's bounds for k of n, with the n that `spread_of_mean` leaves: n over the design effect,
    and over (t/z)², t Student's quantile at the degrees of freedom of the part that clusters add.
    Near 0 and 1 Wilson's inner bound misses too often (0.95 of 20: in 7.5 % of studies, and the
    other never): it lies no further in than Clopper and Pearson's one-sided one at 93 %, were all
    cases independent. One case for each cluster, and six hits and misses or more, make it `wilson`.

    One hit more never lowers either bound. The upper one is the largest of those that any j <= k of
    these hits could have, whichever they are, with the largest design effect that j of them allow
    (the smaller of `_most_apart` and `_most_together`); the lower one is that of the misses, turned
    round.

    Parameters
    ----------
    hits : array of shape (n,)
        0 or 1.
    clusters : array of shape (n,)
        Which cluster each case belongs to; any sortable labels.

    Returns
    -------
    (Interval, float)
        `point` None at n = 0; bounds and `sd` None with one cluster; the design effect.

    References
    ----------
    E. B. Wilson (1927), JASA 22, 209-212. E. L. Korn and B. I. Graubard (1998), Survey Methodology
    24, 193-201. L. D. Brown, T. T. Cai and A. DasGupta (2001), Statistical Science 16, 101-133, who
    mend Wilson's bounds so at the first few hits.

    Examples
    --------
    >>> found, effect = clustered_share([1, 0, 0, 1, 0, 0], list("aabbcc"))
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}], {effect:.2f}"
    '0.333 [0.076, 0.721], 1.15'
    >>> none, _ = clustered_share([0] * 300, [i // 4 for i in range(300)])
    >>> one, _ = clustered_share([1] + [0] * 299, [i // 4 for i in range(300)])
    >>> none.high <= one.high
    True
    """
    from overread.stats.special import betaincinv

    x: NDArray[np.int64] = np.asarray(hits).astype(np.int64)
    n, k = int(x.size), int(x.sum())
    if n == 0:
        return Interval(None, None, None, None, 0), 1.0
    where, sizes = clusters_of(clusters)
    if sizes.size == 1 or n == 1:
        return Interval(k / n, None, None, None, n), 1.0
    of = np.bincount(where, weights=x).astype(np.int64)
    effect, high = _upper(of, sizes)
    _, low = _upper(sizes - of, sizes)
    p = k / n
    sd = math.sqrt(p * (1 - p) * effect / n)
    bounds = 0.0 if k == 0 else min(1 - low, p), 1.0 if k == n else max(high, p)
    if 0 < k < n:
        ends = betaincinv([k, k + 1], [n - k + 1, n - k], [_ONE_SIDE, 1 - _ONE_SIDE])
        bounds = min(bounds[0], float(ends[0])), max(bounds[1], float(ends[1]))
    return Interval(p, *bounds, sd, n), effect


def _upper(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[float, float]:
    """The design effect of these hits by cluster, and the largest upper bound of any of them."""
    n = int(sizes.sum())
    if sizes.size == n:
        return 1.0, float(wilson_bounds(int(hits.sum()) / n, float(n))[1])
    # Clusters of as many hits and cases are one kind.
    wide = int(sizes.max()) + 1
    kinds = hits * wide + sizes
    if wide <= _WIDE:
        many = np.bincount(kinds)
        codes = np.flatnonzero(many)
        many = many[codes]
    else:
        codes, many = np.unique(kinds, return_counts=True)
    return _upper_of_kinds(wide, codes.tobytes(), many.tobytes())


# Many numbers of a study are of the same hits.
@functools.lru_cache(4096)
def _upper_of_kinds(wide: int, codes: bytes, counts: bytes) -> tuple[float, float]:
    """Of clusters by their kinds: `hits * wide + sizes`, and how many clusters are of it."""
    from overread.stats.special import stdtrit

    many = np.frombuffer(counts, dtype=np.int64)
    hits, sizes = np.divmod(np.frombuffer(codes, dtype=np.int64), wide)
    n, most = int(sizes @ many), int(hits @ many)
    squares = float((sizes * sizes) @ many)
    usual = usual_effect(squares, n)
    factor, others = unlike_sizes(np.repeat(sizes, many))

    def effects(k: NDArray[np.int64], between: Floats) -> Floats:
        """The design effect of each number of hits."""
        p = k / n
        mass, raw = n * p * (1 - p), np.ones(p.size)
        between = between + p * p * squares
        np.divide(factor * between, mass, out=raw, where=mass > 0)
        return drawn_towards(raw, mass, usual, n)  # type: ignore[no-any-return]

    def quantiles(effect: Floats) -> Floats:
        """Student's, at what the design effect leaves of degrees of freedom: the variance that p
        itself gives is known, only what clusters add is estimated."""
        df = 1 / np.maximum((1 - 1 / effect) ** 2 / others, 1e-12)
        return stdtrit(df, 0.975)  # type: ignore[no-any-return]

    def bounds(k: NDArray[np.int64], effect: Floats, t: Any) -> Floats:
        return upper_bounds(k / n, n / effect * (Z95 / t) ** 2)

    k = np.arange(most + 1)
    apart = _most_apart(hits, sizes, many, k / n)
    hit = hits > 0
    kinds = None  # that take part: clusters of one size have both sums at their best at once
    if most and sizes.min() < sizes.max():
        kinds = hits[hit], sizes[hit], many[hit]

    def narrowed(k: NDArray[np.int64]) -> Floats:
        """The design effects under both limits."""
        between = apart[k]
        if kinds is not None:
            between = np.minimum(between, _most_together(*kinds, n, k))
        return effects(k, between)

    # The last few first: nearly always one of them is the largest.
    few = k[-_FIRST:]
    found = narrowed(few)
    own, largest = float(found[-1]), float(bounds(few, found, quantiles(found)).max())
    # The second limit of what lies between, and Student's quantile, cost most. Both only lower a
    # bound, the quantile from that of the fewest degrees of freedom: what does not reach the bound
    # of those even so cannot be the largest.
    rest = k[:-_FIRST]
    if rest.size:
        effect = effects(rest, apart[rest])
        fewest = float(quantiles(effect.max(keepdims=True))[0])
        some = np.flatnonzero(bounds(rest, effect, fewest) + 1e-9 >= largest)
        for at in range(0, some.size, _AT_A_TIME):
            few = some[at : at + _AT_A_TIME]
            found = narrowed(few)
            largest = max(largest, float(bounds(few, found, quantiles(found)).max()))
    return own, largest


def _most_apart(
    hits: NDArray[np.int64], sizes: NDArray[np.int64], many: NDArray[np.int64], p: Floats
) -> Floats:
    """At least the most that Σ h_c² - 2p Σ m_c h_c can be for 0, 1, ... k of these hits, p = k/n.

    Both sums at their best: most of the first in the clusters with most hits, least of the second
    in the smallest clusters, which clusters of one size have at once. It does not fall as a cluster
    gets more hits, and is right to the hit where all are taken. `hits` ascend.
    """
    each = np.repeat(hits[::-1], many[::-1])
    step = np.arange(p.size - 1) - np.repeat(np.cumsum(each) - each, each)
    squares, products = np.zeros((2, p.size), dtype=np.int64)
    np.cumsum(2 * step + 1, out=squares[1:])
    order = np.argsort(sizes)
    np.cumsum(np.repeat(sizes[order], (hits * many)[order]), out=products[1:])
    found: Floats = squares - 2 * p * products
    return found


def _most_together(
    hits: NDArray[np.int64],
    sizes: NDArray[np.int64],
    many: NDArray[np.int64],
    n: int,
    k: NDArray[np.int64],
) -> Floats:
    """The same limit otherwise, for each of these k: both sums in the same clusters, with a
    straight line in place of each h_c², which is off in one cluster only."""
    slopes = hits - 2 * (k / n)[:, None] * sizes
    best = np.argsort(-slopes, axis=1)
    room = (hits * many)[best]
    taken = np.minimum(np.maximum(k[:, None] - room.cumsum(axis=1) + room, 0), room)
    found: Floats = (taken * np.take_along_axis(slopes, best, axis=1)).sum(axis=1)
    return found


def wilson_bounds(p: Any, m: Any, z: float = Z95) -> tuple[Any, Any]:
    """Wilson's two bounds for proportions p of m cases each; m need not be whole.

    Examples
    --------
    >>> low, high = wilson_bounds(np.array([0.5]), np.array([20.0]))
    >>> f"{low[0]:.3f} {high[0]:.3f}"
    '0.299 0.701'
    """
    z2 = z * z
    centre = (p + z2 / (2 * m)) / (1 + z2 / m)
    half = z * np.sqrt(p * (1 - p) / m + z2 / (4 * m * m)) / (1 + z2 / m)
    return np.maximum(0.0, centre - half), np.minimum(1.0, centre + half)


def upper_bounds(p: Floats, m: Floats) -> Floats:
    """The upper ones alone, to the same bit."""
    z2 = Z95 * Z95
    wide = 1 + z2 / m
    found: Floats = (p + z2 / (2 * m)) / wide
    found += Z95 * np.sqrt(p * (1 - p) / m + z2 / (4 * m * m)) / wide
    return np.minimum(1.0, found, out=found)


def clustered_mean(
    value: float,
    influence: ArrayLike,
    clusters: ArrayLike | Clusters,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[Interval, Spread]:
    """A mean, or what is as smooth, with its interval at 95 %.

    `influence` says how each case moves the value: for a mean the cases themselves; for a function
    of totals, n value - (n-1) times the value without the case (the jackknife's pseudo-values),
    whose variance by cluster is that of the value (`spread_of_mean`).

    - Without limits: Student's t with Hall's correction for skewness, t at the degrees of freedom
      of v. With b = Σ R_c³ / (Σ R_c²)^1.5 of the clusters' sums of residuals (their skewness over
      the root of their number), the bounds are value - sqrt(v) h(t) and value - sqrt(v) h(-t),
      h(y) = 3 ((1 + b (y - b/6))^(1/3) - 1) / b; h(y) = y where b = 0.
    - Of marks, each at one of two limits: that of `clustered_share`.
    - Between two limits, taken as 0 and 1: Wilson's form for p, the mean of `influence` (the value
      less the jackknife's bias), and the cases that would give p that variance, p(1-p)/v · (z/t)².
      To each distance from p is added, as independent errors are (the root of the squares), what
      one patient more, as far off as can be, would move p by: a study of few patients may have
      none of those who are unlike the others. So no interval has width 0. It comes no nearer to a
      limit than that of as many cases that are all at the limit, a patient's as alike as these.
      Near a limit the bound away from it hardly ever errs: what it errs less than 2.5 %, by the
      normal distribution at that bound, the other may err more.
    - With one limit: as without, and not beyond it.

    Parameters
    ----------
    value : float
    influence, clusters : arrays of shape (n,)
        Of the cases counted.
    limits : (float, float)
        The values it can take.

    Returns
    -------
    (Interval, Spread)
        Bounds None with one cluster, and without limits where all cases agree.

    References
    ----------
    E. L. Korn and B. I. Graubard (1998), Survey Methodology 24, 193-201. P. Hall (1992), JRSS B
    54, 221-228. B. Efron (1982), The Jackknife, the Bootstrap and Other Resampling Plans.

    Examples
    --------
    >>> found, spread = clustered_mean(2.0, [1.0, 2.0, 3.0], [0, 1, 2])
    >>> f"{found.low:.2f} {found.high:.2f}", spread.df
    ('-0.48 4.48', 2.0)
    >>> found, _ = clustered_mean(2.0, [1.0, 1.0, 1.0, 5.0], range(4))
    >>> f"{found.low:.2f} {found.high:.2f}"
    '-0.11 12.20'
    >>> found, _ = clustered_mean(0.9, [0.8, 0.9, 1.0], [0, 1, 2], (0.0, 1.0))
    >>> f"{found.low:.3f} {found.high:.3f}"
    '0.439 0.990'
    """
    from overread.stats.special import stdtrit

    x: Floats = np.asarray(influence, dtype=float)
    labels = clusters_of(clusters)
    n = int(x.size)
    if n < 2 or labels.sizes.size == 1:
        return Interval(value, None, None, None, n), Spread(1.0, 0.0, 1.0)
    low, high = limits
    limited = math.isfinite(low) and math.isfinite(high)
    scaled: Floats = (x - low) / (high - low) if limited else x
    graded = limited and bool((np.abs(scaled - np.clip(np.rint(scaled), 0, 1)) > 1e-9).any())
    spread = spread_of_mean(x, labels, USUAL_OF_SCORES if graded else USUAL)
    t, sd = float(stdtrit(spread.df, 0.975)), math.sqrt(spread.variance)
    if not limited:
        if not sd > 1e-12 * max(1.0, abs(value)):
            return Interval(value, None, None, None, n), spread
        _, b = skewness(x, labels)
        bounds = max(low, value - sd * _hall(t, b)), min(high, value - sd * _hall(-t, b))
        return Interval(value, *bounds, sd, n), spread
    if not graded:
        found, _ = clustered_share(np.rint(scaled), labels)
        ends = [low + (high - low) * end for end in (found.low, found.high) if end is not None]
        return Interval(value, min(ends[0], value), max(ends[1], value), sd, n), spread
    p, v = (value - low) / (high - low), spread.variance / (high - low) ** 2
    if 0 < p < 1:
        p = min(max(float(scaled.mean()), 0.0), 1.0)
    # Where all agree no finite number would do.
    cases = max(p * (1 - p) / v * (Z95 / t) ** 2, 1e-9) if v > 1e-18 else 1e18
    certain = Z95**2 / (n / spread.effect + Z95**2)
    ends = _between_limits(p, cases, 1 / (worth_in_clusters(labels) + 1), certain)
    ends = [low + (high - low) * end for end in ends]
    return Interval(value, min(ends[0], value), max(ends[1], value), sd, n), spread


def _between_limits(p: float, cases: float, unseen: float, certain: float) -> list[float]:
    """Bounds of a mean between 0 and 1 that is worth so many cases; `unseen` is the weight of one
    patient more, `certain` the upper bound where all cases are at 0."""
    from overread.stats.special import ndtr, ndtri

    def lower(p: float, z: float) -> float:
        end = float(wilson_bounds(p, cases, z)[0])
        return max(min(p - math.hypot(p - end, p * unseen), 1 - certain), 0.0)

    def spared(p: float) -> float:
        """The quantile of the other bound, by what the lower one of p leaves of 5 %."""
        end = lower(p, Z95)
        off = math.inf if end in (0.0, 1.0) else (p - end) * math.sqrt(cases / (end * (1 - end)))
        return -float(ndtri(0.05 - min(float(ndtr(-off)), 0.025)))

    return [lower(p, spared(1 - p)), 1 - lower(1 - p, spared(p))]


def _hall(y: float, b: float) -> float:
    """The quantile of a mean whose clusters' skewness over the root of their number is b."""
    return 3 * (float(np.cbrt(1 + b * (y - b / 6))) - 1) / b if b else y
