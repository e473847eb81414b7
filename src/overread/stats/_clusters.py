"""What repeated patients do to a mean, and the intervals that allow for it.

One rule for every number that is a mean, or a smooth function of totals: the variance by cluster,
its design effect drawn towards what is usual where the data say little about it, and as many
degrees of freedom as that variance has. Values between two limits get Wilson's form, others
Student's.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._proportions import Z95, Interval

Floats = NDArray[np.float64]
# How alike the cases of a patient are taken to be before any is seen, and how many cases that
# differ from the others weigh as much as that belief. Chosen by simulation (`bench/coverage.py`).
USUAL: Final = 0.5
BELIEF: Final = 1.5
# Codes up to this are counted, larger ones sorted.
_CODES: Final = 1 << 17
# Numbers of hits looked at together, so that a large set does not fill the memory.
_AT_A_TIME: Final = 4_096
# So many of the largest numbers of hits are looked at before all others.
_FIRST: Final = 8
FEW: Final = 5
"""Below so many clusters, or clusters that differ, an interval may promise more than it holds."""


class Spread(NamedTuple):
    """How a mean varies: its design effect, its variance and the degrees of freedom of that."""

    effect: float
    variance: float
    df: float


def counted_from_zero(labels: ArrayLike) -> NDArray[np.int64]:
    """Labels as codes 0, 1, … in their sorted order; codes with gaps are not sorted for it.

    Examples
    --------
    >>> counted_from_zero(["b", "a", "b"]).tolist(), counted_from_zero([7, 3, 7]).tolist()
    ([1, 0, 1], [1, 0, 1])
    """
    given = np.asarray(labels)
    if given.dtype == np.int64 and given.size and 0 <= given.min() <= given.max() < _CODES:
        codes: NDArray[np.int64] = (np.cumsum(np.bincount(given) > 0) - 1)[given]
        return codes
    return np.unique(given, return_inverse=True)[1]


class Clusters(NamedTuple):
    """Whose each case is, as a code from 0, and how many cases each cluster has."""

    where: NDArray[np.int64]
    sizes: NDArray[np.int64]


def clusters_of(labels: ArrayLike | Clusters) -> Clusters:
    """Any sortable labels as clusters; what is counted already is not counted again.

    Examples
    --------
    >>> [codes.tolist() for codes in clusters_of(list("bab"))]
    [[1, 0, 1], [1, 2]]
    """
    if isinstance(labels, Clusters):
        return labels
    where = counted_from_zero(labels)
    return Clusters(where, np.bincount(where))


def spread_of_mean(values: ArrayLike, clusters: ArrayLike | Clusters) -> Spread:
    """The variance of a mean of cases that come in clusters, none of which need be large.

    With residuals r_i = x_i - x̄ of n cases in C clusters of m_c, the clusters' sums R_c, and the
    number of cases that really differ, e = Σ r² / (max r - min r)²::

        raw    = C/(C-1) Σ R_c² / Σ r²
        prior  = 1 + (Σ m_c²/n - 1)/2
        effect = (e raw + 1.5 prior) / (e + 1.5), from 1 to n; 1 where every cluster has one case
        v      = effect Σ r² / (n (n-1))

    Where few cases differ (a rate near 0 or 1, a handful of cases) the raw design effect is
    nearly always 1 however alike a patient's cases are: it is then drawn towards that of a
    correlation of 1/2. Degrees of freedom are Satterthwaite's: those between clusters, C - 1, for
    the part of v that clusters add, n - 1 for the rest.

    Parameters
    ----------
    values, clusters : arrays of shape (n,)
        Numbers and the cluster of each, at least two of both; any sortable labels.

    Returns
    -------
    Spread
        `effect` in [1, n]; `variance` 0 where all values agree; `df` above 0.

    References
    ----------
    L. Kish (1965), Survey Sampling, 8.2. F. E. Satterthwaite (1946), Biometrics Bulletin 2,
    110-114. E. L. Korn and B. I. Graubard (1998), Survey Methodology 24, 193-201.

    Examples
    --------
    >>> found = spread_of_mean([1, 0, 1, 0, 1, 1], list("abcdef"))
    >>> found.effect, round(found.variance, 4), found.df
    (1.0, 0.0444, 5.0)
    >>> round(spread_of_mean([1, 1, 0, 0, 1, 1], list("aabbcc")).effect, 2)
    2.21
    """
    x: Floats = np.asarray(values, dtype=float)
    where, sizes = clusters_of(clusters)
    n, count = x.size, sizes.size
    residuals = x - x.mean()
    mass, width = float(residuals @ residuals), float(x.max() - x.min())
    mass = mass if width > 0 else 0.0
    if count == n:
        return Spread(1.0, mass / (n * (n - 1)), float(n - 1))
    if count == 1:  # nothing between clusters: all cases are worth one
        return Spread(float(n), mass / (n - 1), 1.0)
    sums = np.bincount(where, weights=residuals)
    between = count / (count - 1) * float(sums @ sums) / mass if mass else 1.0
    effect = float(drawn_effect(between, mass / width**2 if mass else 0.0, sizes, n))
    df = 1 / ((1 - 1 / effect) ** 2 / (count - 1) + 1 / effect**2 / (n - 1))
    return Spread(effect, effect * mass / (n * (n - 1)), df)


def drawn_effect(raw: Any, events: Any, sizes: NDArray[np.int64], n: int) -> Any:
    """The design effect seen, drawn towards the usual one by as much as few events leave open."""
    return _drawn_towards(raw, events, _usual_effect(float(sizes @ sizes), n), n)


def _usual_effect(squares: float, n: int) -> float:
    """The design effect of the usual correlation, by the sum of the clusters' squared sizes."""
    return 1 + USUAL * (squares / n - 1)


def _drawn_towards(raw: Any, events: Any, usual: float, n: int) -> Any:
    drawn = (events * raw + BELIEF * usual) / (events + BELIEF)
    return np.minimum(np.maximum(drawn, 1.0), n)


def differing_clusters(values: ArrayLike, clusters: ArrayLike | Clusters) -> float:
    """How many clusters make a mean as skewed as it is.

    With the clusters' sums R_c of residuals from the mean::

        (Σ R_c²)³ / (Σ R_c³)²,  at most the number of clusters

    which is their number over the square of their skewness. Of a rare outcome it is about how many
    clusters have it; of values that lie evenly about their mean it is all of them. Below 5 every
    interval of a mean is rough, whatever n is: Wilson's holds a rate of 1 in n in 92 %.

    Parameters
    ----------
    values, clusters : arrays of shape (n,)
        Numbers and the cluster of each; any sortable labels.

    Returns
    -------
    float
        Above 0; the number of clusters where all values agree.

    References
    ----------
    W. G. Cochran (1977), Sampling Techniques, 2.15. D. D. Boos and J. M. Hughes-Oliver (2000), The
    American Statistician 54, 121-128.

    Examples
    --------
    >>> round(differing_clusters([1, 1] + [0] * 98, range(100)), 1)
    2.1
    >>> differing_clusters([1, 0, 1, 0], range(4))
    4.0
    """
    x: Floats = np.asarray(values, dtype=float)
    count, b = _skewness(x, clusters_of(clusters))
    return min(float(count), 1 / b**2 if b else math.inf)


def clustered_share(hits: ArrayLike, clusters: ArrayLike | Clusters) -> tuple[Interval, float]:
    """A share of cases that come in clusters, with Wilson's interval at 95 %; and its effect.

    Wilson's bounds for k of n, with the n that `spread_of_mean` leaves: n over the design effect,
    and over (t/z)², t Student's quantile at the degrees of freedom of the part that clusters add.
    One case for each cluster makes it `wilson`.

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
    24, 193-201.

    Examples
    --------
    >>> found, effect = clustered_share([1, 0, 0, 1, 0, 0], list("aabbcc"))
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}], {effect:.2f}"
    '0.333 [0.088, 0.721], 1.15'
    >>> none, _ = clustered_share([0] * 300, [i // 4 for i in range(300)])
    >>> one, _ = clustered_share([1] + [0] * 299, [i // 4 for i in range(300)])
    >>> none.high <= one.high
    True
    """
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
    return Interval(p, *bounds, sd, n), effect


def _upper(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[float, float]:
    """The design effect of these hits by cluster, and the largest upper bound of any of them."""
    n = int(sizes.sum())
    if sizes.size == n:
        return 1.0, float(wilson_bounds(int(hits.sum()) / n, float(n))[1])
    # Clusters of as many hits and cases are one kind.
    wide = int(sizes.max()) + 1
    many = np.bincount(hits * wide + sizes)
    codes = np.flatnonzero(many)
    return _upper_of_kinds(wide, codes.tobytes(), many[codes].tobytes())


# Many numbers of a study are of the same hits.
@functools.lru_cache(4096)
def _upper_of_kinds(wide: int, codes: bytes, counts: bytes) -> tuple[float, float]:
    """Of clusters by their kinds: `hits * wide + sizes`, and how many clusters are of it."""
    from overread.stats.special import stdtrit

    many = np.frombuffer(counts, dtype=np.int64)
    hits, sizes = np.divmod(np.frombuffer(codes, dtype=np.int64), wide)
    n, count, most = int(sizes @ many), int(many.sum()), int(hits @ many)
    squares = float((sizes * sizes) @ many)
    usual = _usual_effect(squares, n)

    def effects(k: NDArray[np.int64], between: Floats) -> Floats:
        """The design effect of each number of hits."""
        p = k / n
        mass, raw = n * p * (1 - p), np.ones(p.size)
        between = between + p * p * squares
        np.divide(count / (count - 1) * between, mass, out=raw, where=mass > 0)
        return _drawn_towards(raw, mass, usual, n)  # type: ignore[no-any-return]

    def quantiles(effect: Floats) -> Floats:
        """Student's, at what the design effect leaves of degrees of freedom: the variance that p
        itself gives is known, only what clusters add is estimated."""
        df = 1 / np.maximum((1 - 1 / effect) ** 2 / (count - 1), 1e-12)
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


def wilson_bounds(p: Any, m: Any) -> tuple[Any, Any]:
    """Wilson's two bounds for proportions p of m cases each; m need not be whole.

    Examples
    --------
    >>> low, high = wilson_bounds(np.array([0.5]), np.array([20.0]))
    >>> f"{low[0]:.3f} {high[0]:.3f}"
    '0.299 0.701'
    """
    z2 = Z95 * Z95
    centre = (p + z2 / (2 * m)) / (1 + z2 / m)
    half = Z95 * np.sqrt(p * (1 - p) / m + z2 / (4 * m * m)) / (1 + z2 / m)
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
    - Between two limits, taken as 0 and 1: Wilson's form for p = value and the cases that would
      give p that variance, p(1-p)/v · (z/t)². It also holds what one more case, independent of the
      others and as far off as can be, would make of the value, so that no interval has width 0;
      and it comes no nearer to a limit than that of as many cases that are all at the limit, a
      patient's as alike as these.
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
    '0.439 0.988'
    """
    from overread.stats.special import stdtrit

    x: Floats = np.asarray(influence, dtype=float)
    labels = clusters_of(clusters)
    n = int(x.size)
    if n < 2 or labels.sizes.size == 1:
        return Interval(value, None, None, None, n), Spread(1.0, 0.0, 1.0)
    spread = spread_of_mean(x, labels)
    t, sd = float(stdtrit(spread.df, 0.975)), math.sqrt(spread.variance)
    low, high = limits
    if math.isinf(low) or math.isinf(high):
        if not sd > 1e-12 * max(1.0, abs(value)):
            return Interval(value, None, None, None, n), spread
        _, b = _skewness(x, labels)
        bounds = max(low, value - sd * _hall(t, b)), min(high, value - sd * _hall(-t, b))
        return Interval(value, *bounds, sd, n), spread
    scaled = (x - low) / (high - low)
    marks = np.rint(scaled)
    if bool((np.abs(scaled - marks) < 1e-9).all()) and bool(np.isin(marks, (0, 1)).all()):
        found, _ = clustered_share(marks, labels)
        ends = [low + (high - low) * end for end in (found.low, found.high) if end is not None]
        return Interval(value, min(ends[0], value), max(ends[1], value), sd, n), spread
    p, v = (value - low) / (high - low), spread.variance / (high - low) ** 2
    worth = n / spread.effect
    ends = [p * worth / (worth + 1), (p * worth + 1) / (worth + 1)]
    cases = worth if v == 0 and p in (0.0, 1.0) else math.inf if v == 0 else p * (1 - p) / v
    if math.isfinite(cases) and cases > 0:
        lower, upper = wilson_bounds(np.array(p), np.array(cases * (Z95 / t) ** 2))
        ends = [min(ends[0], float(lower)), max(ends[1], float(upper))]
    # As many cases that are all at one end say more than these, which are not, about that end.
    certain = Z95**2 / (worth + Z95**2)
    ends = [min(ends[0], 1 - certain), max(ends[1], certain)]
    ends = [low + (high - low) * min(max(end, 0.0), 1.0) for end in ends]
    return Interval(value, min(ends[0], value), max(ends[1], value), sd, n), spread


def _skewness(x: Floats, clusters: Clusters) -> tuple[int, float]:
    """How many clusters there are; the skewness of their residuals' sums over the root of that."""
    summed = np.bincount(clusters.where, weights=x - x.mean())
    sums: Floats = summed / (float(np.abs(summed).max()) or 1.0)  # the same whatever the unit
    second = float(sums @ sums)
    b = float((sums**3).sum()) / second**1.5 if second > 0 else 0.0
    return sums.size, b if abs(b) > 1e-9 else 0.0


def _hall(y: float, b: float) -> float:
    """The quantile of a mean whose clusters' skewness over the root of their number is b."""
    return 3 * (float(np.cbrt(1 + b * (y - b / 6))) - 1) / b if b else y
