"""Resampling: the authors' percentile bootstrap to the bit, and the bootstrap of patients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._interval import Interval

__all__ = ["bootstrap_proportion", "cluster_bootstrap_sd"]

# Indices drawn at a time: 2 MB, whatever the number of cases.
_CHUNK = 1 << 18


def bootstrap_proportion(values: ArrayLike, n_boot: int = 10_000, seed: int = 0) -> Interval:
    """Percentile bootstrap of a mean, exactly as the grounding paper's code draws it.

    Resample means of `RandomState(seed).randint(0, n, (n_boot, n))`; bounds are their 2.5th and
    97.5th percentiles with linear interpolation (GROUNDING 10.1). The legacy stream is the same
    whether drawn at once or some rows at a time, so memory stays flat. The bounds depend on the
    order of the values, and have zero width when all values agree: use it to reproduce, and
    `wilson` to report.

    Parameters
    ----------
    values : array of shape (n,)
        Outcomes, 0 or 1, in the order of the answers.
    n_boot : int, default 10000
        Resamples.
    seed : int, default 0
        Seed of the legacy generator; every call starts it anew.

    Returns
    -------
    Interval
        `point` the mean; `low` and `high` percentiles within the range of the values; `sd` the
        standard deviation of the resample means (ddof 1). All None at n = 0.

    References
    ----------
    B. Efron (1979), Annals of Statistics 7, 1-26.

    Examples
    --------
    >>> found = bootstrap_proportion([1, 0, 1, 1], n_boot=1000)
    >>> found.point, found.low, found.high
    (0.75, 0.25, 1.0)
    """
    x: NDArray[Any] = np.asarray(values, dtype=float)
    n = int(x.size)
    if n == 0:
        return Interval(None, None, None, None, 0)
    binary = bool(np.isin(x, (0.0, 1.0)).all())
    if binary and x.min() == x.max():
        only = float(x[0])
        return Interval(only, only, only, 0.0, n)
    hits = x == 1.0
    draw = np.random.RandomState(seed)  # the frozen stream: Generator's may change
    means = np.empty(n_boot)
    rows = max(1, _CHUNK // n)
    for start in range(0, n_boot, rows):
        stop = min(start + rows, n_boot)
        places = draw.randint(0, n, size=(stop - start, n))
        # Counting hits gives the same means as averaging, and is several times quicker.
        means[start:stop] = (
            np.count_nonzero(hits[places], axis=1) / n if binary else x[places].mean(axis=1)
        )
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(x.mean()), float(low), float(high), float(means.std(ddof=1)), n)


def cluster_bootstrap_sd(
    outcomes: ArrayLike, clusters: ArrayLike, n_boot: int = 10_000, seed: int = 0
) -> float | None:
    """Standard deviation of a mean when clusters (patients) are resampled with replacement.

    Each resample draws as many clusters as there are and takes Σ outcomes / Σ cases over them.
    Clusters with the same size and sum are interchangeable, so one draws how often each *kind*
    comes up (a multinomial), which is the same distribution at a fraction of the cost and depends
    on neither the order of the cases nor the names of the clusters.

    Parameters
    ----------
    outcomes : array of shape (n,)
        Whole numbers: 0/1 for a proportion, -1/0/1 for a paired difference.
    clusters : array of shape (n,)
        Which cluster each outcome belongs to; any sortable labels.
    n_boot, seed : int
        Resamples, and the seed of the legacy generator.

    Returns
    -------
    float or None
        At least 0; None with fewer than two clusters.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, 3.8.

    Examples
    --------
    >>> spread = cluster_bootstrap_sd([1, 1, 0, 0], ["a", "a", "b", "b"])
    >>> f"{spread:.2f}"
    '0.35'
    """
    x: NDArray[Any] = np.asarray(outcomes, dtype=np.int64)
    _, where = np.unique(np.asarray(clusters), return_inverse=True)
    sizes = np.bincount(where)
    if sizes.size < 2:
        return None
    if x.min() == x.max():
        return 0.0
    sums = np.bincount(where, weights=x).astype(np.int64)
    kinds, count = np.unique(np.column_stack((sizes, sums)), axis=0, return_counts=True)
    # Frequent kinds first: the later, rare ones are then drawn from what little is left.
    by_count = np.argsort(-count, kind="stable")
    kinds, share = kinds[by_count], count[by_count] / sizes.size
    drawn = np.random.RandomState(seed).multinomial(sizes.size, share, size=n_boot)
    size, hits = (drawn.astype(float) @ kinds.astype(float)).T  # whole numbers, summed exactly
    return float((hits / size).std(ddof=1))
