"""The authors' area under the ROC curve, one step per case, and its bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._auroc import checked
from overread.stats._stream import resamples, tallies

__all__ = ["auroc_stepwise", "bootstrap_auroc", "bootstrap_auroc_many"]

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

    Parameters
    ----------
    samples : sequence of (scores, labels)
        As for `bootstrap_auroc`; lengths may differ.
    n_boot, seed : int
        As for `bootstrap_proportion`.

    Returns
    -------
    list of (float, float) or (None, None)
        One for each sample, in their order.

    References
    ----------
    B. Efron (1979), Annals of Statistics 7, 1-26.

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
