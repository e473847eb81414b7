"""Judged numbers without the judges' errors, as replies of known truth or people show these."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._clusters import clustered_mean, wilson_bounds
from overread.stats._proportions import Z95, Interval
from overread.stats._spread import Floats, Spread, differing_cases, drawn_effect


def corrected_rate(rate: Interval, sensitivity: Interval, specificity: Interval) -> Interval | None:
    """A judged rate as it would be without the judge's errors (Rogan and Gladen).

    A judge that calls a right reply right with chance se, and a wrong one wrong with chance sp,
    turns a rate π into a = π se + (1 - π)(1 - sp). Solved for π, with the errors of all three in
    the interval (delta method)::

        π̂   = (a + sp - 1) / (se + sp - 1)
        var = (v_a + π̂² v_se + (1 - π̂)² v_sp) / (se + sp - 1)²

    Parameters
    ----------
    rate : Interval
        The rate as judged, with its standard error in `sd`.
    sensitivity, specificity : Interval
        Of the judge, measured on replies of known truth.

    Returns
    -------
    Interval or None
        Within [0, 1]; None where the judge is no better than a coin (se + sp <= 1) or something
        was not measured.

    References
    ----------
    W. J. Rogan and B. Gladen (1978), American Journal of Epidemiology 107, 71-76.

    Examples
    --------
    >>> from overread.stats import wilson
    >>> found = corrected_rate(wilson(88, 100), wilson(92, 100), wilson(92, 100))
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '0.952 [0.855, 1.000]'
    """
    parts = [(one.point, one.sd) for one in (rate, sensitivity, specificity)]
    if any(point is None or sd is None for point, sd in parts):
        return None
    (a, sd_a), (se, sd_se), (sp, sd_sp) = ((float(p or 0), float(s or 0)) for p, s in parts)
    worth = se + sp - 1
    if worth <= 0:
        return None
    value = min(max((a + sp - 1) / worth, 0.0), 1.0)
    # A judge that made no mistake in m tries may yet make one: its share has a spread then, too.
    sd_se, sd_sp = _open(sensitivity, sd_se), _open(specificity, sd_sp)
    sd = math.sqrt(sd_a**2 + (value * sd_se) ** 2 + ((1 - value) * sd_sp) ** 2) / worth
    return Interval(value, max(0.0, value - Z95 * sd), min(1.0, value + Z95 * sd), sd, rate.n)


def _open(one: Interval, sd: float) -> float:
    if sd > 0 or one.low is None or one.high is None:
        return sd
    return (one.high - one.low) / (2 * Z95)


class PredictionPowered(NamedTuple):
    """A judged mean put right by the cases that people checked.

    `weight` is λ, how far the judge is followed; `spread` how the mean varies.
    """

    found: Interval
    spread: Spread
    weight: float


def prediction_powered(
    judged: ArrayLike,
    people: ArrayLike,
    clusters: ArrayLike,
    limits: tuple[float, float] = (-math.inf, math.inf),
    settled: ArrayLike | None = None,
) -> PredictionPowered:
    """The mean that people would give all N cases, of which they checked m drawn by lot.

    The judge's values f stand for those of people, y, and the checked cases say how far they are
    off on average, the rectifier::

        θ̂ = λ mean_N(f) + mean_m(y - λ f)
        λ = cov_m(y, f) / var_m(f), from 0 to 1; 0 where the judge says one thing throughout

    It holds however bad the judge is, but for a bias of the order of 1/m. λ is what makes the
    variance least; a judge that says nothing of y gets 0, and θ̂ is the mean of people. (Of PPI++,
    whose two samples have no case in common, it is the λ for the N - m unchecked cases; survey
    samplers know θ̂ as the regression estimate of double sampling.) With the residuals e = y - λ f,
    v has two parts, what any N cases leave open, by cluster, and what the lot of those checked
    does, which falls on single cases::

        v = effect s² / N + (1 - m/N) Σ (e - ē)² / (m (m-2)),   s² = λ² var(f) + var(e)

    The design effect is seen in the sums by cluster of λ f + ē + (N/m)(e - ē), the last of checked
    cases only, and is drawn towards the usual one as in `spread_of_mean`. A judge that made no
    mistake in m checks may yet make one: between two limits Σ (e - ē)² is no less than one case in
    which people see the contrary would add. Degrees of freedom are Satterthwaite's: of clusters
    for what they add, N - 1 for the rest of the first part, m - 2 for the second.

    Between two limits, taken as 0 and 1, the interval is Wilson's for p = θ̂ and p(1-p)/v · (z/t)²
    cases, no fewer than were checked (over the design effect); else Student's. Where all cases are
    checked it is `clustered_mean` of what people say.

    Parameters
    ----------
    judged, people, clusters : arrays of shape (N,)
        What the judge gave, what people gave (NaN: not checked), and the cluster of each case.
    limits : (float, float)
        The values that both can take.
    settled : array of shape (N,), optional
        Cases that need no judge, whose value is known: counted as `judged` has them, never checked.

    Returns
    -------
    PredictionPowered
        `point` None where nothing was checked; bounds None with fewer than three checked cases, or
        all of one cluster.

    References
    ----------
    A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan and T. Zrnic (2023), Science 382,
    669-674. A. N. Angelopoulos, J. C. Duchi and T. Zrnic (2023), PPI++, arXiv:2311.01453.
    W. G. Cochran (1977), Sampling Techniques, 12.6.

    Examples
    --------
    A judge too kind by one case in five; people checked 40 of 200:

    >>> judged = np.array([1, 1, 1, 1, 0] * 40)
    >>> people = np.where(np.arange(200) < 40, [1, 1, 1, 0, 0] * 40, np.nan)
    >>> found, _, weight = prediction_powered(judged, people, range(200), (0, 1))
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}], {weight:.2f}"
    '0.600 [0.466, 0.721], 0.75'
    """
    from overread.stats.special import stdtrit

    f, y = np.asarray(judged, dtype=float), np.asarray(people, dtype=float)
    labels = np.asarray(clusters)
    known: NDArray[np.bool_] = (
        np.zeros(f.shape, dtype=bool) if settled is None else np.asarray(settled, dtype=bool)
    )
    checked = ~np.isnan(y) & ~known
    n, m, unsettled = f.size, int(checked.sum()), int((~known).sum())
    if m == 0:
        return PredictionPowered(Interval(None, None, None, None, n), Spread(1.0, 0.0, 1.0), 0.0)
    weight = _slope(f[checked], y[checked])
    if m == unsettled:
        values = np.where(known, f, y)
        found, spread = clustered_mean(float(values.mean()), values, labels, limits)
        return PredictionPowered(found, spread, weight)
    off = y[checked] - weight * f[checked]
    influence = np.where(known, f, weight * f + off.mean())
    low, high = limits
    value = min(max(float(influence.mean()), low), high)
    owners = np.unique(labels[checked]).size
    if m < 3 or owners < 2:
        return PredictionPowered(
            Interval(value, None, None, None, n), Spread(1.0, 0.0, 1.0), weight
        )
    off -= off.mean()
    bounded = math.isfinite(low) and math.isfinite(high)
    spread = _spread(influence, y[checked], off, checked, labels, unsettled, limits)
    t, sd = float(stdtrit(spread.df, 0.975)), math.sqrt(spread.variance)
    if bounded:
        p, width = (value - low) / (high - low), high - low
        worth = p * (1 - p) * (width / sd * Z95 / t) ** 2 if sd else 0.0
        ends = wilson_bounds(np.array(p), np.array(max(worth, m / spread.effect)))
        bottom, top = (low + width * float(end) for end in ends)
        found = Interval(value, min(bottom, value), max(top, value), sd, n)
    elif sd > 1e-12 * max(1.0, abs(value)):
        found = Interval(value, max(low, value - t * sd), min(high, value + t * sd), sd, n)
    else:
        found = Interval(value, None, None, None, n)
    return PredictionPowered(found, spread, weight)


def _spread(
    predicted: Floats,
    people: Floats,
    off: Floats,
    checked: NDArray[np.bool_],
    labels: NDArray[Any],
    unsettled: int,
    limits: tuple[float, float],
) -> Spread:
    """How θ̂ varies: as the mean of all cases does by cluster, and by the lot of those checked."""
    n, m, times = predicted.size, people.size, unsettled / people.size
    about, seen = predicted - predicted.mean(), people - people.mean()
    own, left = float(seen @ seen), float(off @ off)
    mass = float(about @ about) + times * left
    _, where = np.unique(labels, return_inverse=True)
    sizes = np.bincount(where)
    effect, count = 1.0, sizes.size
    if count < n:
        # Each checked case stands for others too: so two of a cluster do, and only what one case
        # adds by itself is too much.
        influence = about.copy()
        influence[checked] += times * off
        sums = np.bincount(where, weights=influence)
        between = count / (count - 1) * float(sums @ sums) - float(influence @ influence)
        raw = 1 + between / mass if mass else 1.0
        effect = float(drawn_effect(raw, differing_cases(seen), sizes, n))
    if math.isfinite(limits[0]) and math.isfinite(limits[1]) and own:
        p = (float(people.mean()) - limits[0]) / (limits[1] - limits[0])
        left = max(left, own / max(m * p * (1 - p), 1.0))
    cases = mass / (n * (n - 1))
    lot = (unsettled / n) ** 2 * (1 - m / unsettled) * left / (m * (m - 2))
    parts = ((effect - 1) * cases, count - 1), (cases, n - 1), (lot, m - 2)
    variance = sum(part for part, _ in parts)
    if not variance:
        return Spread(effect, 0.0, float(m - 2))
    return Spread(effect, variance, variance**2 / sum(part**2 / df for part, df in parts))


def _slope(f: Floats, y: Floats) -> float:
    """Of y on f, from 0 to 1; 0 where f does not vary."""
    about = f - f.mean()
    mass = float(about @ about)
    return min(max(float(about @ y) / mass, 0.0), 1.0) if float(np.ptp(f)) > 0 else 0.0
