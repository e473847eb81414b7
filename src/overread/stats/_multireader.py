"""Several readers read several cases: what can be said of readers and cases that were not there.

The analysis of Obuchowski, Rockette and Hillis (ORH), for any figure of merit of a set of cases:
accuracy, sensitivity, AUROC, a share of flips. Readers and cases are both drawn by chance; the
covariances that cases bring about are taken by leaving out one patient at a time.

**Degrees of freedom.** Let s be the share of the estimated variance that the readers' mean square
has, and f = J - 1 its degrees of freedom. The published analysis tests with f/s², Satterthwaite's.
But s is an estimate: where three readers happen to be alike, the standard error is too small and
the degrees of freedom too many, both at once, and a difference that is none is found (p <= 0.05) in
up to 7.9 % of studies of readers and cases that are normal. Welch's expansion for an estimated
share has as its next term, at 5 %::

    1/df = s²/f (1 + (1 - s)(8.2 s - 2)/f)

which leaves 6.4 %. We test with ::

    1/df = min(s²/f (1 + 8 s (1 - s)/f), 1/f)

without the part by which a small share would add degrees of freedom: with few readers it may be
small by chance. By quadrature this errs in 4.6 to 5.6 % with three readers and in 4.6 to 5.0 % with
four or more, whatever the true share; where s is 0 or 1 nothing changes, and is exact.

**Near the ends.** A share or an AUROC near 1 is skewed, and its variance falls as it rises: one
hard case makes both the difference and its estimated error, and of an AUROC of 0.96 on 25 cases of
each class a difference that is none is found in 1.5 to 11 %. The analysis holds for any figure of
merit, so what we test is the angle between the two that are compared, A_1 and A_2 (a model's and
the readers' mean, or the means under two conditions), of figures between two bounds, 0 and 1::

    p = (N A + 1)/(N + 2)    g = 2 asin sqrt(p)    slope = 1/sqrt(p (1 - p))

with N clusters of cases and one more at either end. Mean squares and covariances are those of the
figures times the slopes. The interval of A_2 - A_1 is from the least to the most that it is where
g_1 and g_2 are as likely as the bounds of their difference: on the ellipse of their variances that
touches these. So it holds no difference if and only if the angles' does, and is right where the two
are far apart and their slopes unlike.

One model's variance is one estimate, and of a figure near 1 a poor one; on this scale it is much
the same for all who read the same cases (as Obuchowski and Rockette have it for all). So the
model's takes 50/(N + 50) of its weight from the mean of the model's and the readers' own: half on
50 cases, next to nothing on thousands. Simulated: `python -m bench multireader`.

Effect and standard error are the published ones, whose own interval and p stand in `published`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import asin, pi, sqrt
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._spread import counted_from_zero

Floats = NDArray[np.float64]
# Below this many readers nothing is said of others: their spread would stand on one difference.
LEAST_READERS = 3
# A variance of figures between 0 and 1 that is rounding alone.
_NOTHING = 1e-15
# Welch's second-order coefficient at a two-sided 5 %: (2/3)(3 + 7x + 2x²)/(1 + x), x = 1.96².
_WELCH = 8.0
# On so many clusters of cases half of a model's variance is taken from all who read them.
_HALF_SHARED = 50.0
# So many standard errors away is nothing.
_NEVER = 1e6
SHARES = (0.0, 1.0)
"""The bounds of shares and of areas under a curve."""


class StudentsT(msgspec.Struct, frozen=True, kw_only=True):
    """What so many degrees of freedom make of an effect and its standard error.

    `p` is two-sided against no difference; `p_within` one-sided against "worse by the margin or
    more", where a margin was given. `df` is infinite where the readers' differences are all alike.
    """

    df: float
    low: float
    high: float
    p: float
    p_within: float | None = None


class MultiReader(StudentsT, frozen=True, kw_only=True):
    """A difference of figures of merit, for readers and cases like these.

    `se` is of the figures as they are; the interval and p are of their angles (top of this module).
    `published` is what the published analysis gives, to be held against other software.
    """

    effect: float
    se: float
    readers: int
    clusters: int
    published: StudentsT


def jackknifed(
    merit: Callable[[NDArray[np.bool_]], ArrayLike], clusters: ArrayLike
) -> tuple[Floats, Floats]:
    """A figure of merit over all cases, and with each cluster of cases left out in turn.

    Parameters
    ----------
    merit : function
        Takes a mask of the cases to count, of shape (n,), and returns any shape of figures, one
        for each reader, or for each condition and reader.
    clusters : array of shape (n,)
        Whose case it is: cases of one patient are left out together.

    Returns
    -------
    tuple of arrays
        Of the shape of the figures, and (clusters, ...).

    Examples
    --------
    >>> right = np.array([[1, 0, 1, 1], [1, 1, 1, 0]])
    >>> whole, parts = jackknifed(lambda keep: right[:, keep].mean(axis=1), [1, 2, 3, 4])
    >>> whole.tolist(), parts.shape
    ([0.75, 0.75], (4, 2))
    """
    whose = counted_from_zero(clusters)
    whole = np.asarray(merit(np.ones(whose.size, dtype=bool)), dtype=float)
    each = range(int(whose.max()) + 1)
    parts = np.stack([np.asarray(merit(whose != one), dtype=float) for one in each])
    return whole, parts


def model_against_readers(
    model: float,
    readers: ArrayLike,
    model_left_out: ArrayLike,
    readers_left_out: ArrayLike,
    margin: float | None = None,
    *,
    bounds: tuple[float, float] | None = SHARES,
) -> MultiReader | None:
    """Does a model do as well as readers like these, on cases like these? Model minus readers.

    With d_j reader j's figure of merit minus the model's, MSR their variance (ddof 1), and Cov2 the
    mean covariance of two readers' d under the choice of cases (jackknife, (N-1)²/N times the
    covariance of the parts)::

        se = sqrt((MSR + max(J Cov2, 0)) / J)
        s = MSR / (MSR + max(J Cov2, 0))
        df = (J - 1) / s² as published; less, and of angles, in the reported test (see the top)

    Parameters
    ----------
    model : float
        The model's figure of merit over all cases.
    readers : array of shape (J,)
        Each reader's.
    model_left_out, readers_left_out : arrays of shape (N,) and (N, J)
        The same with each cluster of cases left out (`jackknifed`).
    margin : float, optional
        By how much the model may be worse: `p_within` tests that it is not.
    bounds : tuple of float, or None
        Between which figures of merit lie; None where they have no bounds, then nothing is turned
        into angles.

    Returns
    -------
    MultiReader or None
        None with fewer than three readers or two clusters, where a figure is undefined in a part,
        and where nothing varies at all.

    References
    ----------
    N. A. Obuchowski and H. E. Rockette (1995), Communications in Statistics B 24, 285.
    S. L. Hillis (2007), Statistics in Medicine 26, 596.
    B. L. Welch (1947), Biometrika 34, 28; A. A. Aspin (1948), Biometrika 35, 88.
    D. P. Chakraborty (2017), Observer Performance Methods for Diagnostic Imaging, 22.

    Examples
    --------
    >>> right = np.random.default_rng(0).random((5, 60)) < 0.8  # a model and four readers
    >>> whole, parts = jackknifed(lambda keep: right[:, keep].mean(axis=1), range(60))
    >>> found = model_against_readers(whole[0], whole[1:], parts[:, 0], parts[:, 1:], margin=0.1)
    >>> f"{found.effect:.3f} [{found.low:.3f}, {found.high:.3f}], within {found.p_within:.2f}"
    '0.058 [-0.081, 0.187], within 0.01'
    """
    theirs = np.asarray(readers, dtype=float)
    parts = np.column_stack([model_left_out, readers_left_out]).astype(float)
    count = theirs.size
    if count < LEAST_READERS or len(parts) < 2 or not _defined(theirs - model, parts):
        return None
    table = _covariance(parts)
    own, together = np.diag(table), float(table[0, 1:].mean())
    among, spread = _off_diagonal_mean(table[1:, 1:]), float(theirs.var(ddof=1))
    scale = _Scale(len(parts), bounds)
    merits = float(theirs.mean()), float(model)

    def apart(slopes: tuple[float, float], own: float) -> _Variance:
        both = slopes[0] * slopes[1] * together
        of_readers = slopes[0] ** 2 * among
        return _Variance((slopes[0] ** 2 * spread / count, 0.0), (of_readers, own), both)

    slopes = scale.slopes(merits)
    each = own * np.array([slopes[1] ** 2, *[slopes[0] ** 2] * count])
    shared = 0.0 if bounds is None else _HALF_SHARED / (_HALF_SHARED + len(parts))
    own_angle = (1 - shared) * float(each[0]) + shared * float(each.mean())
    return _tested(
        merits, scale, apart((1, 1), float(own[0])), apart(slopes, own_angle), count, margin
    )


def conditions_apart(
    merits: ArrayLike,
    left_out: ArrayLike,
    margin: float | None = None,
    *,
    bounds: tuple[float, float] | None = SHARES,
) -> MultiReader | None:
    """Do readers like these do better under one condition than another? Second minus first.

    MS(TR) is the mean square of condition by reader; Cov2 the mean covariance of two readers under
    one condition, Cov3 that under two conditions, both under the choice of cases::

        se = sqrt(2 (MS(TR) + J max(Cov2 - Cov3, 0)) / J)
        s = MS(TR) / (MS(TR) + J max(Cov2 - Cov3, 0))
        df = (J - 1) / s² as published; less, and of angles, in the reported test (see the top)

    Parameters
    ----------
    merits : array of shape (2, J)
        Figures of merit, by condition and reader.
    left_out : array of shape (N, 2, J)
        The same with each cluster of cases left out (`jackknifed`).
    margin : float, optional
        By how much the second may be worse: `p_within` tests that it is not.
    bounds : tuple of float, or None
        As of `model_against_readers`.

    Returns
    -------
    MultiReader or None
        None with fewer than three readers or two clusters, where a figure is undefined in a part,
        and where nothing varies at all.

    References
    ----------
    As of `model_against_readers`.

    Examples
    --------
    >>> right = np.random.default_rng(0).random((2, 4, 60)) < [[[0.7]], [[0.9]]]
    >>> whole, parts = jackknifed(lambda keep: right[..., keep].mean(axis=-1), range(60))
    >>> found = conditions_apart(whole, parts)
    >>> f"{found.effect:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '0.258 [0.119, 0.400]'
    """
    figures = np.asarray(merits, dtype=float)
    parts = np.asarray(left_out, dtype=float)
    count = figures.shape[1]
    if count < LEAST_READERS or parts.shape[0] < 2 or not _defined(figures, parts):
        return None
    table = _covariance(parts.reshape(len(parts), -1))
    first, second = slice(0, count), slice(count, None)
    within = _off_diagonal_mean(table[first, first]), _off_diagonal_mean(table[second, second])
    across = _off_diagonal_mean(table[first, second])
    scale = _Scale(len(parts), bounds)
    merits = float(figures[0].mean()), float(figures[1].mean())

    def apart(slopes: tuple[float, float]) -> _Variance:
        one, two = slopes
        half = float((two * figures[1] - one * figures[0]).var(ddof=1)) / count / 2
        by_cases = one**2 * within[0], two**2 * within[1]
        return _Variance((half, half), by_cases, one * two * across)

    return _tested(merits, scale, apart((1, 1)), apart(scale.slopes(merits)), count, margin)


class _Variance(NamedTuple):
    """Of two figures, what readers and cases add to each; and their covariance by cases."""

    by_readers: tuple[float, float]
    by_cases: tuple[float, float]
    together: float

    @property
    def whole(self) -> float:
        """Of their difference."""
        return sum(self.by_readers) + max(sum(self.by_cases) - 2 * self.together, 0.0)

    @property
    def share(self) -> float:
        """The readers' part of it."""
        readers = sum(self.by_readers)
        return readers / self.whole if readers > _NOTHING else 0.0

    @property
    def root(self) -> Floats:
        """What makes of a circle the ellipse of both; their difference varies as `whole` says."""
        alone = self.by_readers[1] + self.by_cases[1] - self.together
        second = min(max(alone / self.whole, 0.0), 1.0) * self.whole
        common = max(self.together, 0.0)
        size, axes = np.linalg.eigh(
            [[self.whole - second + common, common], [common, second + common]]
        )
        found: Floats = axes * np.sqrt(np.maximum(size, 0.0))
        return found


class _Scale(NamedTuple):
    """Where two figures are compared: their angles, or they themselves if they have no bounds."""

    clusters: int
    bounds: tuple[float, float] | None

    def slopes(self, merits: tuple[float, float]) -> tuple[float, float]:
        if self.bounds is None:
            return 1.0, 1.0
        if not self.bounds[0] <= min(merits) <= max(merits) <= self.bounds[1]:
            raise ValueError(f"figures of merit {merits} beyond their bounds {self.bounds}")
        width = self.bounds[1] - self.bounds[0]
        one, two = (1 / (sqrt(p * (1 - p)) * width) for p in map(self._p, merits))
        return one, two

    def angle(self, merit: float) -> float:
        return merit if self.bounds is None else 2 * asin(sqrt(self._p(merit)))

    def merit(self, angle: Floats) -> Floats:
        if self.bounds is None:
            return angle
        low, high = self.bounds
        p = (1 - np.cos(np.clip(angle, 0.0, pi))) / 2
        share = (p * (self.clusters + 2) - 1) / self.clusters
        found: Floats = low + (high - low) * np.clip(share, 0.0, 1.0)
        return found

    def _p(self, merit: float) -> float:
        assert self.bounds is not None
        share = (merit - self.bounds[0]) / (self.bounds[1] - self.bounds[0])
        return (self.clusters * share + 1) / (self.clusters + 2)


def _tested(
    merits: tuple[float, float],
    scale: _Scale,
    published: _Variance,
    angled: _Variance,
    readers: int,
    margin: float | None,
) -> MultiReader | None:
    """Student's t of the second figure minus the first, as published and of their angles."""
    from overread.stats import special

    if min(published.whole, angled.whole) <= _NOTHING:
        return None
    effect, free = merits[1] - merits[0], readers - 1
    angles = np.array([scale.angle(one) for one in merits])

    def farthest(reach: float, sign: int) -> float:
        """The most (or the least) that figures differ by where angles are so many errors away."""

        def apart(turn: Floats) -> Floats:
            around = angled.root @ np.array([np.cos(turn), np.sin(turn)])
            first, second = scale.merit(angles[:, None] + reach * around)
            further: Floats = sign * (second - first)
            return further

        return sign * _greatest(apart)

    one_by_df = float(_one_by_df(angled.share, free))
    df = 1 / one_by_df if one_by_df else np.inf
    reach = float(special.stdtrit(df, 0.975))
    within = None
    if margin is not None:
        above = 1 if effect > -margin else -1
        away = _first_reached(lambda errors: above * (farthest(errors, -above) + margin) <= 0)
        within = float(special.stdtr(df, -above * away))
    return MultiReader(
        effect=effect,
        se=sqrt(published.whole),
        readers=readers,
        clusters=scale.clusters,
        df=df,
        low=farthest(reach, -1),
        high=farthest(reach, 1),
        p=float(2 * special.stdtr(df, -abs(angles[1] - angles[0]) / sqrt(angled.whole))),
        p_within=within,
        published=_by_t(effect, sqrt(published.whole), published.share**2 / free, margin),
    )


def _greatest(of: Callable[[Floats], Floats]) -> float:
    """Of a function of the turn around a circle: looked for all around, then ever closer."""
    turns = np.linspace(0, 2 * pi, 257)
    for _ in range(5):
        step, most = turns[1] - turns[0], turns[of(turns).argmax()]
        turns = np.linspace(most - step, most + step, 33)
    return float(of(turns).max())


def _first_reached(reached: Callable[[float], bool]) -> float:
    """The least number from which on something is so; infinite where it never is."""
    high = 1.0
    while not reached(high):
        high *= 2
        if high > _NEVER:
            return np.inf
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _one_by_df(share: ArrayLike, free: int) -> Floats:
    """1/df of the reported test, by the readers' share of the variance (top of this module)."""
    s = np.asarray(share, dtype=float)
    found: Floats = np.minimum(s**2 / free * (1 + _WELCH * s * (1 - s) / free), 1 / free)
    return found


def _by_t(effect: float, se: float, one_by_df: float, margin: float | None) -> StudentsT:
    from overread.stats import special

    df = 1 / one_by_df if one_by_df else np.inf
    reach = float(special.stdtrit(df, 0.975)) * se
    return StudentsT(
        df=df,
        low=effect - reach,
        high=effect + reach,
        p=float(2 * special.stdtr(df, -abs(effect) / se)),
        p_within=None if margin is None else float(special.stdtr(df, -(effect + margin) / se)),
    )


def _covariance(parts: Floats) -> Floats:
    """Of figures under the choice of cases: the jackknife's, from figures with one left out."""
    count = len(parts)
    table: Floats = np.cov(parts, rowvar=False, ddof=1) * (count - 1) ** 2 / count
    return table


def _off_diagonal_mean(table: Floats) -> float:
    count = len(table)
    return float((table.sum() - np.trace(table)) / (count * (count - 1)))


def _defined(*figures: NDArray[Any]) -> bool:
    return all(bool(np.isfinite(some).all()) for some in figures)
