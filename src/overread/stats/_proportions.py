"""A proportion, the interval around it, and what repeated patients do to that interval."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

# The 97.5th percentile of the standard normal distribution, to the last bit.
Z95: Final = 1.959963984540054


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval and spread; a field without a value is None.

    `sd` is the standard error: analytic or the standard deviation of resampled estimates, as the
    function that made it says. `n` counts what the estimate stands on.
    """

    point: float | None
    low: float | None
    high: float | None
    sd: float | None
    n: int

    @property
    def defined(self) -> bool:
        return self.point is not None


def outcomes_of(values: ArrayLike) -> NDArray[np.int64]:
    """Outcomes as whole numbers, or a ValueError where one is neither 0 nor 1."""
    x: NDArray[Any] = np.asarray(values)
    if not np.isin(x, (0, 1)).all():
        raise ValueError("an outcome is neither 0 nor 1")
    return x.astype(np.int64)


def wilson(k: int, n: int, *, design_effect: float = 1.0) -> Interval:
    """Wilson's score interval of a proportion, at 95 %.

    The interval holds every p that a score test at 5 % would not reject. Unlike the Wald interval
    it never has zero width, not even at k = 0 or k = n. Cases of one patient resemble each other;
    the design effect says how many independent cases they are worth.

    With m = n / design_effect, p = k / n and z = 1.96::

        (p + z²/2m ± z sqrt(p(1-p)/m + z²/4m²)) / (1 + z²/m)

    Parameters
    ----------
    k, n : int
        Hits and cases, 0 <= k <= n.
    design_effect : float, default 1
        Variance of the proportion over that of n independent cases; see `design_effect`.

    Returns
    -------
    Interval
        `point` k/n; `low` and `high` in [0, 1], with low < high and low <= point <= high; `sd` the
        standard error sqrt(p(1-p)/m). All None at n = 0.

    References
    ----------
    E. B. Wilson (1927), JASA 22, 209-212. With an effective sample size: E. L. Korn and
    B. I. Graubard (1998), Survey Methodology 24, 193-201.

    Examples
    --------
    >>> found = wilson(9, 33)
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '0.273 [0.151, 0.442]'
    >>> wilson(0, 10).low
    0.0
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} hits in {n} cases")
    if not design_effect >= 1:
        raise ValueError(f"a design effect of {design_effect} would make cases of nothing")
    if n == 0:
        return Interval(None, None, None, None, 0)
    p, m = k / n, n / design_effect
    low, high = score_bounds(p, m)
    # Rounding can leave 1e-17 where the bound is exactly 0 or 1 [D37].
    return Interval(
        p,
        0.0 if k == 0 else min(low, p),
        1.0 if k == n else max(high, p),
        math.sqrt(p * (1 - p) / m),
        n,
    )


def score_bounds(p: float, m: float) -> tuple[float, float]:
    """Wilson's two bounds for a proportion p of m cases, clipped to [0, 1]; m need not be whole."""
    z2 = Z95 * Z95
    centre = (p + z2 / (2 * m)) / (1 + z2 / m)
    half = Z95 * math.sqrt(p * (1 - p) / m + z2 / (4 * m * m)) / (1 + z2 / m)
    return max(0.0, centre - half), min(1.0, centre + half)


def design_effect(outcomes: ArrayLike, clusters: ArrayLike) -> float:
    """How much wider the variance of a mean is because cases come in clusters (patients).

    The variance of the mean, with clusters as the independent units (Taylor linearisation of the
    ratio of their sums), over the variance if all cases were independent::

        C/(C-1) · Σ_c (Σ_{i in c} (x_i - x̄))² / n²
        ------------------------------------------
                Σ_i (x_i - x̄)² / n²

    - Every cluster has one case: 1.
    - Less than 1: 1. We do not claim more precision than independent cases would have.
    - All outcomes equal, or a single cluster: the data cannot tell how alike the cases of a
      cluster are, so we take them as wholly alike (Kish's formula with intra-class correlation 1),
      Σ m_c² / n with m_c the cases in cluster c. That errs on the wide side.
    - Never more than n: a set of cases is worth at least one.

    Parameters
    ----------
    outcomes : array of shape (n,)
        Numbers: 0/1 for a proportion, -1/0/1 for a paired difference.
    clusters : array of shape (n,)
        Which cluster each outcome belongs to; any sortable labels.

    Returns
    -------
    float
        In [1, max(1, n)].

    References
    ----------
    L. Kish (1965), Survey Sampling, 8.2. J. N. K. Rao and A. J. Scott (1992), Biometrics 48,
    577-585.

    Examples
    --------
    >>> design_effect([1, 1, 0, 0], ["a", "a", "b", "b"])
    4.0
    >>> design_effect([1, 0, 1, 0], ["a", "b", "c", "d"])
    1.0
    """
    x: NDArray[Any] = np.asarray(outcomes, dtype=float)
    if x.size == 0:
        return 1.0
    _, where = np.unique(np.asarray(clusters), return_inverse=True)
    sizes = np.bincount(where)
    if sizes.size == x.size:
        return 1.0
    residuals = x - x.mean()
    spread = float(residuals @ residuals)
    # A constant's residuals can be 1e-17 instead of 0, hence the comparison of values.
    if sizes.size == 1 or float(x.min()) == float(x.max()):
        return float(sizes @ sizes) / x.size
    sums = np.bincount(where, weights=residuals)
    effect = sizes.size / (sizes.size - 1) * float(sums @ sums) / spread
    return min(max(1.0, effect), float(x.size))


def binomial_tail(k: int, n: int, p: float) -> float:
    """The chance of k or more hits in n independent tries: the exact one-sided binomial p-value.

    ::

        P(X >= k) = Σ_{j=k}^{n} C(n, j) p^j (1-p)^(n-j)

    Parameters
    ----------
    k, n : int
        Hits and tries; any k is allowed.
    p : float
        Chance of a hit in one try, in [0, 1].

    Returns
    -------
    float
        In [0, 1]; 1 for k <= 0 and 0 for k > n.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> binomial_tail(2, 2, 0.5)
    0.25
    >>> f"{binomial_tail(8, 20, 0.1):.6f}"
    '0.000416'
    """
    if n < 0 or not 0 <= p <= 1:
        raise ValueError(f"{n} tries with a chance of {p}")
    if k <= 0:
        return 1.0
    if k > n or p == 0:
        return 0.0
    if p == 1:
        return 1.0
    hit, miss, whole = math.log(p), math.log1p(-p), math.lgamma(n + 1)
    terms = (
        math.exp(whole - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * hit + (n - j) * miss)
        for j in range(k, n + 1)
    )
    return min(1.0, math.fsum(terms))


def hits_pmf(chances: ArrayLike) -> NDArray[np.float64]:
    """The chance of every number of hits in independent tries of unequal chances.

    The Poisson binomial distribution, exactly: tries of one chance are binomial, and the few
    binomials are convolved.

    Parameters
    ----------
    chances : array of shape (n,)
        The chance of a hit in each try, in [0, 1].

    Returns
    -------
    array of shape (n + 1,)
        P(X = 0), ..., P(X = n).

    References
    ----------
    Y. H. Wang (1993), Statistica Sinica 3, 295-312.

    Examples
    --------
    >>> hits_pmf([0.5, 0.25]).tolist()
    [0.375, 0.5, 0.125]
    """
    p, counts = np.unique(np.asarray(chances, dtype=float), return_counts=True)
    if p.size and not (p[0] >= 0 and p[-1] <= 1):
        raise ValueError("a chance is from 0 to 1")
    whole = np.ones(1)
    for chance, count in zip(p.tolist(), counts.tolist(), strict=True):
        whole = np.convolve(whole, _binomial_pmf(count, chance))
    return whole


def _binomial_pmf(n: int, p: float) -> NDArray[np.float64]:
    if p in (0.0, 1.0):
        sure = np.zeros(n + 1)
        sure[n if p else 0] = 1.0
        return sure
    hit, miss = math.log(p), math.log1p(-p)
    logs = [
        math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * hit + (n - j) * miss
        for j in range(n + 1)
    ]
    found: NDArray[np.float64] = np.exp(np.asarray(logs))
    return found


def two_sided(k: int, pmf: NDArray[np.float64]) -> float:
    """Twice the chance of the rarer side, k hits or further out, and at most 1.

    >>> two_sided(2, hits_pmf([0.5, 0.5]))
    0.5
    """
    more, fewer = float(pmf[k:].sum()), float(pmf[: k + 1].sum())
    return min(1.0, 2 * min(more, fewer))
