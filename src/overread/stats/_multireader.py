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

which leaves 6.4 %. We report with ::

    1/df = min(s²/f (1 + 8 s (1 - s)/f), 1/f)

without the part by which a small share would add degrees of freedom: with few readers it may be
small by chance. By quadrature this errs in 4.6 to 5.6 % with three readers and in 4.6 to 5.0 % with
four or more, whatever the true share; where s is 0 or 1 nothing changes, and is exact. Effect and
standard error are the published ones, whose own interval and p stand in `published`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

    `published` is what the published degrees of freedom give, to be held against other software.
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
) -> MultiReader | None:
    """Does a model do as well as readers like these, on cases like these? Model minus readers.

    With d_j reader j's figure of merit minus the model's, MSR their variance (ddof 1), and Cov2 the
    mean covariance of two readers' d under the choice of cases (jackknife, (N-1)²/N times the
    covariance of the parts)::

        se = sqrt((MSR + max(J Cov2, 0)) / J)
        s = MSR / (MSR + max(J Cov2, 0))
        df = (J - 1) / s² as published; less for the reported test (see the top of this module)

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
    '0.058 [-0.073, 0.189], within 0.01'
    """
    apart = float(model) - np.asarray(readers, dtype=float)
    parts = np.asarray(model_left_out, dtype=float)[:, None] - np.asarray(readers_left_out, float)
    count = apart.size
    if count < LEAST_READERS or parts.shape[0] < 2 or not _defined(apart, parts):
        return None
    shared = _off_diagonal_mean(_covariance(parts))
    return _tested(apart, float(apart.var(ddof=1)), count * shared, 1 / count, margin, len(parts))


def conditions_apart(
    merits: ArrayLike, left_out: ArrayLike, margin: float | None = None
) -> MultiReader | None:
    """Do readers like these do better under one condition than another? Second minus first.

    MS(TR) is the mean square of condition by reader; Cov2 the mean covariance of two readers under
    one condition, Cov3 that under two conditions, both under the choice of cases::

        se = sqrt(2 (MS(TR) + J max(Cov2 - Cov3, 0)) / J)
        s = MS(TR) / (MS(TR) + J max(Cov2 - Cov3, 0))
        df = (J - 1) / s² as published; less for the reported test (see the top of this module)

    Parameters
    ----------
    merits : array of shape (2, J)
        Figures of merit, by condition and reader.
    left_out : array of shape (N, 2, J)
        The same with each cluster of cases left out (`jackknifed`).
    margin : float, optional
        By how much the second may be worse: `p_within` tests that it is not.

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
    '0.258 [0.126, 0.391]'
    """
    figures = np.asarray(merits, dtype=float)
    parts = np.asarray(left_out, dtype=float)
    count = figures.shape[1]
    if count < LEAST_READERS or parts.shape[0] < 2 or not _defined(figures, parts):
        return None
    table = _covariance(parts.reshape(len(parts), -1))
    first, second = slice(0, count), slice(count, None)
    within = (
        _off_diagonal_mean(table[first, first]) + _off_diagonal_mean(table[second, second])
    ) / 2
    across = _off_diagonal_mean(table[first, second])
    apart = figures[1] - figures[0]
    by_cases = count * (within - across)
    return _tested(apart, float(apart.var(ddof=1)) / 2, by_cases, 2 / count, margin, len(parts))


def _tested(
    apart: Floats, spread: float, by_cases: float, scale: float, margin: float | None, clusters: int
) -> MultiReader | None:
    """Student's t of the readers' mean difference: its variance is `scale` times both parts."""
    effect, whole = float(apart.mean()), spread + max(by_cases, 0.0)
    if whole <= _NOTHING:
        return None
    se, free = float(np.sqrt(whole * scale)), apart.size - 1
    share = spread / whole if spread > _NOTHING else 0.0
    return MultiReader(
        effect=effect,
        se=se,
        readers=apart.size,
        clusters=clusters,
        published=_by_t(effect, se, share**2 / free, margin),
        **msgspec.structs.asdict(_by_t(effect, se, float(_one_by_df(share, free)), margin)),
    )


def _one_by_df(share: ArrayLike, free: int) -> Floats:
    """1/df of the reported test, by the readers' share of the variance (top of this module)."""
    s = np.asarray(share, dtype=float)
    found: Floats = np.minimum(s**2 / free * (1 + _WELCH * s * (1 - s) / free), 1 / free)
    return found


def _by_t(effect: float, se: float, one_by_df: float, margin: float | None) -> StudentsT:
    from scipy import special

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
