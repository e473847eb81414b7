"""The area under the ROC curve, its interval, and what ties could make of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._authors import resamples, tallies
from overread.stats._proportions import Z95, Interval
from overread.stats._spread import BELIEF, USUAL

# The least share of an exponential area's variance that real scores are taken to have.
_LEAST: Final = 0.5


def auroc(scores: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None = None) -> Interval:
    """Area under the ROC curve by mid-ranks (Mann-Whitney), with a 95 % interval.

    The chance that a positive case scores above a negative one, ties counting half [D6]. With m
    positives x and n negatives y, psi = 1, 1/2 or 0 as x is above, equal to or below y::

        A = Σ psi(x_i, y_j) / mn,   V_i = Σ_j psi(x_i, y_j) / n,   W_j = Σ_i psi(x_i, y_j) / m

    The variance is DeLong's, over clusters c (patients) as Obuchowski has it; with one case per
    cluster the two are the same. a_c = Σ (V_i - A) over the positives of c, b_c = Σ (W_j - A) over
    its negatives; I₁ clusters hold positives, I₀ negatives, I either::

        I₁/(I₁-1) Σ a_c²/m² + I₀/(I₀-1) Σ b_c²/n² + 2 I/(I-1) Σ a_c b_c/mn

    The interval is Newcombe's score interval: every A that the estimate Â is not too far from by
    the variance that A itself would have were scores exponential::

        (Â - A)² <= t² f v(A)
        v(A) = A(1-A) (1 + N (1-A)/(2-A) + N A/(1+A)) / mn,   N = (m+n)/2 - 1

    f is how much larger DeLong's variance is than v(Â), at least 1/2. With e clusters that make it
    up, e = (Σ r_c²)²/Σ r_c⁴ of r_c = a_c/m + b_c/n and no more than hold the rarer class, it is
    drawn towards the design effect of patients whose cases correlate by 1/2, as that of a mean is
    (`spread_of_mean`); t has Satterthwaite's degrees of freedom of what is estimated. Neither
    bound lies beyond that of a perfect reader of such cases, and no interval has zero width. Where
    one class comes from one patient alone nothing is estimated, and its cases count as wholly
    alike: m²/Σ m_c² and n²/Σ n_c² in place of m and n.

    Parameters
    ----------
    scores : array of shape (n,)
        Larger means more likely positive.
    labels : array of shape (n,)
        1 or 0.
    clusters : array of shape (n,), optional
        Which cluster each case belongs to; any sortable labels. None: all independent.

    Returns
    -------
    Interval
        `point` in [0, 1], None when a class is missing; `low` < `high`, None with fewer than 2
        cases of either class; `sd` the standard error, None where it cannot be had.

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson (1988), Biometrics 44, 837-845.
    N. A. Obuchowski (1997), Biometrics 53, 567-578. R. G. Newcombe (2006), Statistics in Medicine
    25, 559-573, method 5. F. E. Satterthwaite (1946), Biometrics Bulletin 2, 110-114.

    Examples
    --------
    >>> found = auroc([0.1, 0.4, 0.35, 0.8, 0.7], [0, 0, 1, 1, 1])
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '0.833 [0.226, 0.987]'
    >>> perfect = auroc([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    >>> f"{perfect.point} [{perfect.low:.3f}, {perfect.high}]"
    '1.0 [0.386, 1.0]'
    """
    from overread.stats.special import stdtrit

    x, positive = checked(scores, labels)
    m, n = int(positive.sum()), int((~positive).sum())
    if m == 0 or n == 0:
        return Interval(None, None, None, None, x.size)
    above, below = _placements(x, positive)
    twice = int(above.sum())  # 2mn times the area, a whole number
    area = twice / (2 * m * n)
    if m < 2 or n < 2:
        return Interval(area, None, None, None, x.size)
    names = np.arange(x.size) if clusters is None else np.asarray(clusters)
    if names.shape != x.shape:
        raise ValueError(f"{x.size} scores, {names.size} clusters")
    _, where = np.unique(names, return_inverse=True)
    of_m = np.bincount(where[positive], minlength=where.max() + 1)
    of_n = np.bincount(where[~positive], minlength=where.max() + 1)
    # Residuals times 2mn: whole numbers, so that a variance of zero is seen as zero.
    a = np.bincount(where[positive], weights=m * above - twice, minlength=of_m.size) / m
    b = np.bincount(where[~positive], weights=n * below - twice, minlength=of_m.size) / n
    with_a, with_b = int((of_m > 0).sum()), int((of_n > 0).sum())
    if with_a < 2 or with_b < 2:
        alone = m * m / float(of_m @ of_m), n * n / float(of_n @ of_n)
        return Interval(area, *_score_bounds(area, *alone, Z95 * Z95), None, x.size)
    parts = with_a / (with_a - 1) * float(a @ a), with_b / (with_b - 1) * float(b @ b)
    variance = _with_both(parts, a, b)
    usual = _usual(of_m, m) / m + _usual(of_n, n) / n
    usual /= 1 / m + 1 / n
    each = a + b
    fourth = float((each**4).sum())
    events = min(float(each @ each) ** 2 / fourth, with_a, with_b) if fourth else 0.0
    own = (2 * m * n) ** 2 * _exponential(area, m, n)
    seen = events * variance / own if own else 0.0
    effect = max((seen + BELIEF * usual) / (events + BELIEF), _LEAST)
    wider = Z95 * Z95
    if seen:
        df = sum(parts) ** 2 / (parts[0] ** 2 / (with_a - 1) + parts[1] ** 2 / (with_b - 1))
        wider = float(stdtrit(df * ((seen + BELIEF * usual) / seen) ** 2, 0.975)) ** 2
    low, high = _score_bounds(area, m, n, wider * effect)
    perfect = _score_bounds(1.0, m, n, Z95 * Z95 * max(usual, effect))[0]
    error = math.sqrt(variance) / (2 * m * n)
    return Interval(area, min(low, perfect), max(high, 1 - perfect), error, x.size)


def auroc_tie_bounds(scores: ArrayLike, labels: ArrayLike) -> tuple[float, float] | None:
    """The least and greatest area that breaking ties between the classes could give.

    ::

        #(x_i > y_j) / mn   and   #(x_i >= y_j) / mn

    Parameters
    ----------
    scores, labels : arrays of shape (n,)
        As for `auroc`.

    Returns
    -------
    (float, float) or None
        Both in [0, 1], and equal without ties between the classes; None when a class is missing.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27, 861-874, section 6.

    Examples
    --------
    >>> auroc_tie_bounds([0.5, 0.5, 0.9, 0.1], [1, 0, 1, 0])
    (0.75, 1.0)
    """
    x, positive = checked(scores, labels)
    positives, negatives = x[positive], np.sort(x[~positive])
    pairs = positives.size * negatives.size
    if pairs == 0:
        return None
    strictly = int(np.searchsorted(negatives, positives, side="left").sum())
    at_least = int(np.searchsorted(negatives, positives, side="right").sum())
    return strictly / pairs, at_least / pairs


def checked(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Scores as floats and labels as booleans, or a ValueError that says what is wrong."""
    x: NDArray[Any] = np.asarray(scores, dtype=float)
    y: NDArray[Any] = np.asarray(labels)
    if x.shape != y.shape:
        raise ValueError(f"{x.size} scores, {y.size} labels")
    if np.isnan(x).any():
        raise ValueError("a score is missing (NaN)")
    if not np.isin(y, (0, 1)).all():
        raise ValueError("a label is neither 0 nor 1")
    return x, y.astype(bool)


def _placements(
    x: NDArray[Any], positive: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Twice the negatives below each positive, and twice the positives above each negative."""
    up, down = np.sort(x[positive]), np.sort(x[~positive])
    ups, downs = x[positive], x[~positive]
    above = np.searchsorted(down, ups, side="left") + np.searchsorted(down, ups, side="right")
    under = np.searchsorted(up, downs, side="left") + np.searchsorted(up, downs, side="right")
    return above.astype(np.int64), (2 * up.size - under).astype(np.int64)


def _with_both(parts: tuple[float, float], a: NDArray[Any], b: NDArray[Any]) -> float:
    """Obuchowski's sum: what positives and negatives add, and those of one patient together."""
    total = math.fsum((*parts, 2 * a.size / (a.size - 1) * float(a @ b)))
    # Positives and negatives of each patient can cancel exactly; rounding leaves 1e-16 of it.
    return total if total > 1e-12 * sum(parts) else 0.0


def _usual(sizes: NDArray[np.int64], cases: int) -> float:
    """The design effect of clusters of these sizes before any case is seen."""
    return 1 + USUAL * (float(sizes @ sizes) / cases - 1)


def _exponential(area: float, m: float, n: float) -> float:
    """The variance of an area of m and n exponential scores."""
    half = (m + n) / 2 - 1
    spread = 1 + half * (1 - area) / (2 - area) + half * area / (1 + area)
    return area * (1 - area) * spread / (m * n)


def _score_bounds(area: float, m: float, n: float, wider: float) -> tuple[float, float]:
    """Newcombe's two bounds by bisection; m and n need not be whole."""

    def inside(other: float) -> bool:
        return (area - other) ** 2 <= wider * _exponential(other, m, n)

    def edge(outer: float) -> float:
        held, outside = area + (outer - area) * 1e-9, outer
        for _ in range(100):
            middle = (held + outside) / 2
            held, outside = (middle, outside) if inside(middle) else (held, middle)
        return held

    return 0.0 if area == 0 else edge(0.0), 1.0 if area == 1 else edge(1.0)


# ----------------------- as the authors have it: one step per case, and its bootstrap

_NONE: Final = (None, None)


def auroc_stepwise(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """Area under the ROC curve with one step per case, tied or not, as the authors integrate it.

    Cases are sorted by `numpy.argsort(scores)[::-1]`; each negative counts the positives before it
    (GROUNDING 8.1). Without ties between the classes this is `auroc`. With them it lies anywhere
    within `auroc_tie_bounds`, depending on the order of the rows and even on the processor [D6]:
    use it to reproduce, and `auroc` to report.

    Parameters
    ----------
    scores, labels : arrays of shape (n,)
        As for `auroc`, in the order of the answers.

    Returns
    -------
    float or None
        In [0, 1]; None when a class is missing.

    References
    ----------
    D. Bamber (1975), Journal of Mathematical Psychology 12, 387-415.

    Examples
    --------
    >>> auroc_stepwise([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.75
    >>> auroc_stepwise([0.5, 0.5], [1, 0]), auroc_stepwise([0.5, 0.5], [0, 1])
    (0.0, 1.0)
    """
    x, positive = checked(scores, labels)
    falling = positive[_falling(x)]
    m, n = int(positive.sum()), int((~positive).sum())
    if m == 0 or n == 0:
        return None
    return int(np.cumsum(falling)[~falling].sum()) / (m * n)


def bootstrap_auroc(
    scores: ArrayLike, labels: ArrayLike, n_boot: int = 10_000, seed: int = 0
) -> tuple[float | None, float | None]:
    """Percentile bootstrap bounds of `auroc_stepwise`, as the grounding paper's code draws them.

    Resamples are those of `bootstrap_proportion`; those without both classes are dropped; bounds
    are the 2.5th and 97.5th percentiles (GROUNDING 8.1). Cases are sorted once, and a resample is
    how often each run of equal labels in that order came up. Ties between the classes keep the
    order they have in the whole set, where the authors sort anew and break them by chance.

    Parameters
    ----------
    scores, labels : arrays of shape (n,)
        As for `auroc`, in the order of the answers.
    n_boot, seed : int
        As for `bootstrap_proportion`.

    Returns
    -------
    (float, float) or (None, None)
        Bounds in [0, 1]; None when a class is missing, or from every resample.

    References
    ----------
    B. Efron (1979), Annals of Statistics 7, 1-26.

    Examples
    --------
    >>> low, high = bootstrap_auroc([0.1, 0.4, 0.35, 0.8, 0.7], [0, 0, 1, 1, 1], n_boot=1000)
    >>> f"{low:.3f} {high:.3f}"
    '0.250 1.000'
    """
    return bootstrap_auroc_many([(scores, labels)], n_boot, seed)[0]


def bootstrap_auroc_many(
    samples: Sequence[tuple[ArrayLike, ArrayLike]], n_boot: int = 10_000, seed: int = 0
) -> list[tuple[float | None, float | None]]:
    """`bootstrap_auroc` of each sample, to the bit, with the random numbers drawn once.

    Lengths may differ; the bounds come in the order of the samples.

    Examples
    --------
    >>> bootstrap_auroc_many([([0.2, 0.1], [1, 1]), ([0.2, 0.1, 0.3], [1, 0, 1])])
    [(None, None), (1.0, 1.0)]
    """
    runs: dict[int, NDArray[np.int64]] = {}
    alike: dict[int, list[int]] = {}
    for which, (scores, labels) in enumerate(samples):
        x, positive = checked(scores, labels)
        if positive.any() and not positive.all():
            runs[which] = _runs(x, positive)
            alike.setdefault(x.size, []).append(which)
    areas = {which: np.empty(n_boot) for which in runs}
    for n, start, places in resamples(alike, n_boot, seed):
        for which in alike[n]:
            areas[which][start : start + places.shape[0]] = _areas(runs[which], places)
    return [_bounds(areas[which]) if which in areas else _NONE for which in range(len(samples))]


def _runs(x: NDArray[Any], positive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The run of equal labels each case stands in, best score first; positives' runs are even."""
    order = _falling(x)
    runs = np.empty(x.size, np.int64)
    runs[order] = np.cumsum(np.diff(positive[order], prepend=True))
    return runs


def _areas(runs: NDArray[np.int64], places: NDArray[np.int32]) -> NDArray[Any]:
    """The area in each resample; NaN where one class is missing."""
    counted = tallies(runs.take(places), 2 * (int(runs.max()) // 2 + 1))
    up, down = counted[:, 0::2], counted[:, 1::2]
    before = np.cumsum(up, axis=1)
    pairs = before[:, -1] * (runs.size - before[:, -1])
    area: NDArray[Any] = np.full(pairs.size, np.nan)
    np.divide(np.einsum("ij,ij->i", before, down), pairs, out=area, where=pairs > 0)
    return area


def _bounds(areas: NDArray[Any]) -> tuple[float | None, float | None]:
    defined = areas[~np.isnan(areas)]
    if defined.size == 0:
        return _NONE
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def _falling(x: NDArray[Any]) -> NDArray[np.int64]:
    return np.argsort(x)[::-1]
