"""How a mean varies whose cases come in clusters, and how many clusters it stands on.

One rule for every number that is a mean, or a smooth function of totals: the variance by cluster,
its design effect drawn towards what is usual where the data say little about it, and as many
degrees of freedom as that variance has.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
# How alike the cases of a patient are taken to be before any is seen, and how many cases that
# differ from the others weigh as much as that belief. Chosen by simulation (`bench/coverage.py`).
USUAL: Final = 0.5
BELIEF: Final = 1.5
# Of scores and of votes of a panel, part of which is noise that no patient shares.
USUAL_OF_SCORES: Final = 0.3
# Codes up to this are counted, larger ones sorted.
_CODES: Final = 1 << 17
FEW: Final = 10
"""Up to so many clusters an interval is rough: too narrow where they differ, too wide where not."""
FEW_DIFFERING: Final = 5
"""Below so many clusters that differ it is so however many there are."""


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


def worth_in_clusters(clusters: ArrayLike | Clusters) -> float:
    """As many clusters of one size as say the same: n² / Σ m_c², which is C where all have one.

    A patient with most of the cases leaves little for the others to say.

    References
    ----------
    L. Kish (1965), Survey Sampling, 11.7.

    Examples
    --------
    >>> worth_in_clusters(list("aabbcc")), round(worth_in_clusters(list("aaaaaaaabc")), 2)
    (3.0, 1.52)
    """
    sizes = clusters_of(clusters).sizes
    return float(sizes.sum()) ** 2 / float(sizes @ sizes) if sizes.size else 0.0


def unlike_sizes(sizes: NDArray[np.int64], usual: float = USUAL) -> tuple[float, float]:
    """What unlike sizes make of C/(C-1) and of C - 1, which they are of clusters of one size.

    Were the cases of a cluster of m as alike as is usual, its sum had a variance of
    s = m (1 + (m-1) usual), and the sums of residuals from the common mean the variances on average
    that the first number makes good. The second are Satterthwaite's degrees of freedom of Σ s.

    References
    ----------
    R. M. Bell and D. F. McCaffrey (2002), Survey Methodology 28, 169-181, whose working model has
    no correlation. J. E. Pustejovsky and E. Tipton (2018), J. Business & Economic Statistics 36,
    672-683.

    Examples
    --------
    >>> [round(one, 2) for one in unlike_sizes(np.array([2, 2, 2, 2]))]
    [1.33, 3.0]
    >>> [round(one, 2) for one in unlike_sizes(np.array([8, 1, 1, 1]))]
    [5.07, 1.0]
    """
    n = int(sizes.sum())
    own = sizes * (1 + (sizes - 1) * usual)
    total = float(own.sum())
    left = 1 - 2 * float(sizes @ own) / (n * total) + float(sizes @ sizes) / n**2
    return 1 / left, max(total**2 / float(own @ own) - 1, 1.0)


def spread_of_mean(
    values: ArrayLike, clusters: ArrayLike | Clusters, usual: float = USUAL
) -> Spread:
    """The variance of a mean of cases that come in clusters, none of which need be large.

    With residuals r_i = x_i - x̄ of n cases in C clusters of m_c, the clusters' sums R_c, and the
    number of cases that really differ, e (`differing_cases`)::

        raw    = C/(C-1) Σ R_c² / Σ r²
        prior  = 1 + usual (Σ m_c²/n - 1)
        effect = (e raw + 1.5 prior) / (e + 1.5), from 1 to n; 1 where every cluster has one case
        v      = effect Σ r² / (n (n-1))

    Where few cases differ (a rate near 0 or 1, a handful of cases) the raw design effect is
    nearly always 1 however alike a patient's cases are: it is then drawn towards that of a
    usual correlation. Degrees of freedom are Satterthwaite's: those between clusters, C - 1, for
    the part of v that clusters add, n - 1 for the rest. Of clusters unlike in size C/(C-1) and
    C - 1 are those of `unlike_sizes`.

    Parameters
    ----------
    values, clusters : arrays of shape (n,)
        Numbers and the cluster of each, at least two of both; any sortable labels.
    usual : float
        How alike the cases of a cluster are taken to be before any is seen.

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
    sums, squares = np.bincount(where, weights=residuals), float(sizes @ sizes)
    factor, others = unlike_sizes(sizes, usual)
    between = factor * float(sums @ sums) / mass if mass else 1.0
    events = differing_cases(residuals) if mass else 0.0
    effect = float(drawn_towards(between, events, usual_effect(squares, n, usual), n))
    df = 1 / ((1 - 1 / effect) ** 2 / others + 1 / effect**2 / (n - 1))
    return Spread(effect, effect * mass / (n * (n - 1)), df)


def differing_cases(residuals: ArrayLike) -> float:
    """How many cases really differ: n/(κ + 3), with the kurtosis κ = n Σ r⁴ / (Σ r²)².

    Of marks that is n p (1-p); of normal values n/6, and of values of which one lies far off
    hardly one, in whatever unit.

    Examples
    --------
    >>> round(differing_cases([0.9] + [-0.1] * 9), 9), round(differing_cases([-3, -1, 1, 3]), 2)
    (0.9, 0.86)
    """
    r: Floats = np.asarray(residuals, dtype=float)
    r = (r / float(np.abs(r).max() or 1.0)) ** 2
    second = float(r.sum())
    return second**2 / (float(r @ r) + 3 * second**2 / r.size) if second else 0.0


def drawn_effect(raw: Any, events: Any, sizes: NDArray[np.int64], n: int) -> Any:
    """The design effect seen, drawn towards the usual one by as much as few events leave open."""
    return drawn_towards(raw, events, usual_effect(float(sizes @ sizes), n), n)


def usual_effect(squares: float, n: int, usual: float = USUAL) -> float:
    """The design effect of the usual correlation, by the sum of the clusters' squared sizes."""
    return 1 + usual * (squares / n - 1)


def drawn_towards(raw: Any, events: Any, usual: float, n: int) -> Any:
    drawn = (events * raw + BELIEF * usual) / (events + BELIEF)
    return np.minimum(np.maximum(drawn, 1.0), n)


def differing_clusters(values: ArrayLike, clusters: ArrayLike | Clusters) -> float:
    """How many clusters make a mean as skewed as it is.

    With the clusters' sums R_c of residuals from the mean::

        (Σ R_c²)³ / (Σ R_c³)²,  at most the number of clusters

    which is their number over the square of their skewness. Of a rare outcome it is about how many
    clusters have it; of values that lie evenly about their mean it is all of them.

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
    count, b = skewness(x, clusters_of(clusters))
    return min(float(count), 1 / b**2 if b else math.inf)


def stands_on_few(clusters: ArrayLike | Clusters, values: ArrayLike | None = None) -> bool:
    """Whether an interval is rough: ten patients or fewer, or fewer than five that differ.

    Patients count as what they are worth (`worth_in_clusters`); those that differ as many as make
    a mean so skewed (`differing_clusters`), where it is said what each case adds. This is the rule
    of the flag `few`, of every number.

    Parameters
    ----------
    clusters : array of shape (n,)
        Which cluster each case belongs to; any sortable labels.
    values : array of shape (n,), optional
        What each case adds to the number: of a mean the cases themselves.

    Examples
    --------
    >>> stands_on_few(range(10)), stands_on_few(range(11)), stands_on_few([0] * 20 + [*range(11)])
    (True, False, True)
    >>> stands_on_few(range(100), [1, 1] + [0] * 98), stands_on_few(range(100), [0, 1] * 50)
    (True, False)
    """
    owners = clusters_of(clusters)
    if worth_in_clusters(owners) <= FEW:
        return True
    return values is not None and differing_clusters(values, owners) < FEW_DIFFERING


def skewness(x: Floats, clusters: Clusters) -> tuple[int, float]:
    """How many clusters there are; the skewness of their residuals' sums over the root of that."""
    summed = np.bincount(clusters.where, weights=x - x.mean())
    sums: Floats = summed / (float(np.abs(summed).max()) or 1.0)  # the same whatever the unit
    second = float(sums @ sums)
    b = float((sums**3).sum()) / second**1.5 if second > 0 else 0.0
    return sums.size, b if abs(b) > 1e-9 else 0.0
