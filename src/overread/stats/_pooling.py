"""Many groups together: each one's number drawn towards the mean of all by as much as chance."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
FEWEST_GROUPS: Final = 4
"""Fewer groups say too little about how far groups lie apart: drawing them together can harm."""
_LEVEL: Final = 0.95
_MOST_STEPS: Final = 100
# The unit variance of a case of which nothing is known between two limits, taken as 0 and 1; it
# weighs as much as one case.
_UNKNOWN: Final = 0.25


class PooledGroups(NamedTuple):
    """Of every group the pooled value, its interval and the weight of its own number in it.

    `mean` is what all are drawn towards, `tau2` the variance of true values between groups.
    """

    value: Floats
    low: Floats
    high: Floats
    weight: Floats
    mean: float
    tau2: float


def pooled_groups(
    values: ArrayLike,
    variances: ArrayLike,
    cases: ArrayLike,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> PooledGroups | None:
    """Partial pooling of G groups by a normal model with random groups: empirical Bayes.

    True values θ_g vary about μ with variance τ², the numbers y_g about θ_g with variance v_g. All
    groups get the variance of a case that they have on average, s²: a rate of 0 or 1 has none of
    its own, and rates of small groups would be drawn towards those that happen to vary less::

        s²   = Σ m_g (m_g var_g) / Σ m_g,   v_g = s² / m_g
        τ²   : Σ (y_g - μ)² / (v_g + τ²) = G - 1, or 0 where that has no solution (Paule-Mandel)
        μ    = Σ w_g y_g / Σ w_g,           w_g = 1 / (v_g + τ²)
        B_g  = (G - 3)/(G - 1) · v_g / (v_g + τ²)
        θ̂_g  = B_g μ + (1 - B_g) y_g
        V_g  = v_g (1 - B_g) + B_g² / Σ w + 2/(G - 3) B_g² (y_g - μ)² (v̄ + τ²)/(v_g + τ²)

    The factor of B is Efron and Morris's: with equal v the estimate is James and Stein's about the
    mean, which has a smaller squared error over all groups than the raw numbers whatever the truth.
    The three parts of V are what remains of chance, the uncertainty of μ and that of τ² (Morris).

    Between two limits, taken as 0 and 1, one case of variance 1/4 is added to s², and the interval
    is Clopper and Pearson's for θ̂ at Σ m θ̂(1-θ̂) / Σ m / V cases, as Korn and Graubard have it
    for surveys. It is never without width and holds where true values crowd at a limit, which
    Wilson's does not (0.85 instead of 0.95 by simulation). Otherwise it is θ̂ ± t sqrt(V), t at
    Σ m - G degrees of freedom, and not beyond a limit.

    Parameters
    ----------
    values : array of shape (G,)
    variances : array of shape (G,)
        Squared standard errors, by cluster where cases come in clusters; 0 where all cases agree,
        NaN where nothing is known (one case).
    cases : array of shape (G,)
        How many independent cases each stands on: n over its design effect, above 0.
    limits : (float, float)
        The values they can take.

    Returns
    -------
    PooledGroups or None
        `value` between the raw one and `mean`, within the limits and the interval; `weight` in
        (0, 1]. None with fewer than four groups, and without limits where nothing varies.

    References
    ----------
    B. Efron and C. Morris (1975), JASA 70, 311-319. C. N. Morris (1983), JASA 78, 47-55.
    R. C. Paule and J. Mandel (1982), J. Res. Nat. Bureau of Standards 87, 377-385. R. DerSimonian
    and N. Laird (1986), Controlled Clinical Trials 7, 177-188. H. Bühlmann and E. Straub (1970),
    Bull. Swiss Assoc. Actuaries 70, 111-133. E. L. Korn and B. I. Graubard (1998), Survey
    Methodology 24, 193-201.

    Examples
    --------
    Of six findings the one with 4 cases is drawn furthest towards the others:

    >>> rates, n = np.array([0.60, 0.66, 0.45, 0.70, 0.55, 1.00]), np.array([50, 50, 40, 40, 20, 4])
    >>> found = pooled_groups(rates, rates * (1 - rates) / n, n, (0.0, 1.0))
    >>> [f"{value:.2f}" for value in found.value]
    ['0.60', '0.65', '0.49', '0.68', '0.57', '0.80']
    >>> [f"{weight:.2f}" for weight in found.weight]
    ['0.80', '0.80', '0.76', '0.76', '0.66', '0.48']
    >>> f"{found.low[5]:.2f} to {found.high[5]:.2f}, all towards {found.mean:.2f}"
    '0.33 to 0.99, all towards 0.61'
    """
    from scipy.special import stdtrit

    low, high = limits
    bounded = math.isfinite(low) and math.isfinite(high)
    start, width = (low, high - low) if bounded else (0.0, 1.0)
    y: Floats = (np.asarray(values, dtype=float) - start) / width
    own: Floats = np.asarray(variances, dtype=float) / width**2
    m: Floats = np.asarray(cases, dtype=float)
    count = y.size
    if count < FEWEST_GROUPS:
        return None
    known, more = ~np.isnan(own), 1.0 if bounded else 0.0
    weighed = float(m[known].sum()) + more
    unit = (float((m[known] ** 2) @ own[known]) + _UNKNOWN * more) / weighed if weighed else 0.0
    if not unit > 0:
        return None
    v = unit / m
    tau2 = _paule_mandel(y, v)
    w = 1 / (v + tau2)
    mean = float(w @ y / w.sum())
    drawn = (count - 3) / (count - 1) * v * w
    value = drawn * mean + (1 - drawn) * y
    of_tau = 2 / (count - 3) * drawn**2 * (y - mean) ** 2 * (v.mean() + tau2) * w
    spread = v * (1 - drawn) + drawn**2 / w.sum() + of_tau
    if bounded:
        value = np.clip(value, 0.0, 1.0)
        common = (float(m @ (value * (1 - value))) + _UNKNOWN) / (float(m.sum()) + 1)
        ends = _exact_ends(value, common / spread)
    else:
        half = stdtrit(max(float(m.sum()) - count, 1.0), (1 + _LEVEL) / 2) * np.sqrt(spread)
        ends = np.maximum(value - half, low), np.minimum(value + half, high)
    lower, upper = (start + width * end for end in ends)
    return PooledGroups(
        start + width * value, lower, upper, 1 - drawn, start + width * mean, width**2 * tau2
    )


def _paule_mandel(y: Floats, v: Floats) -> float:
    """τ² at which the groups lie as far apart as they should; 0 where chance alone explains it.

    What is to be 0 falls ever less steeply in τ²: Newton's steps from 0 rise to its root.
    """
    tau2 = 0.0
    for _ in range(_MOST_STEPS):
        w = 1 / (v + tau2)
        off = (y - w @ y / w.sum()) ** 2
        beyond = float(w @ off) - (y.size - 1)
        if beyond <= 1e-12 * y.size:
            break
        tau2 += beyond / float(w**2 @ off)
    return tau2


def _exact_ends(p: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Clopper and Pearson's bounds for shares p of n cases each; n need not be whole."""
    from scipy.special import betaincinv

    hits, misses, tail = p * n, (1 - p) * n, (1 - _LEVEL) / 2
    tiny = np.finfo(float).tiny
    low = np.where(hits > 0, betaincinv(np.maximum(hits, tiny), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, tiny), 1 - tail), 1.0)
    low = np.where(low > 1e-12, low, 0.0)  # what is nearly no hit has a bound of no meaning
    return np.minimum(low, p), np.maximum(high, p)
