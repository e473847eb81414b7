"""Resampling: the authors' percentile bootstrap to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._interval import Interval
from overread.stats._stream import resampled_sums, resamples

__all__ = ["bootstrap_proportion", "bootstrap_proportion_many"]


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
    return bootstrap_proportion_many([values], n_boot, seed)[0]


def bootstrap_proportion_many(
    vectors: Sequence[ArrayLike], n_boot: int = 10_000, seed: int = 0
) -> list[Interval]:
    """`bootstrap_proportion` of each vector, to the bit, with the random numbers drawn once.

    Every call of the authors' function starts the same generator anew, so vectors of one length
    are resampled alike; even those of different lengths share random words (see `_stream`).

    Parameters
    ----------
    vectors : sequence of arrays
        Outcomes as for `bootstrap_proportion`; lengths may differ.
    n_boot, seed : int
        As for `bootstrap_proportion`.

    Returns
    -------
    list of Interval
        One for each vector, in their order.

    References
    ----------
    B. Efron (1979), Annals of Statistics 7, 1-26.

    Examples
    --------
    >>> many = bootstrap_proportion_many([[1, 0, 1, 1], [0, 1]], n_boot=1000)
    >>> many == [bootstrap_proportion([1, 0, 1, 1], 1000), bootstrap_proportion([0, 1], 1000)]
    True
    """
    arrays: list[NDArray[Any]] = [np.asarray(values, dtype=float) for values in vectors]
    means: dict[int, NDArray[Any]] = {}
    binary = [
        which
        for which, x in enumerate(arrays)
        if x.size and x.min() < x.max() and bool(np.isin(x, (0.0, 1.0)).all())
    ]
    # Counting hits gives the same means as averaging, and is several times quicker.
    sums = resampled_sums([arrays[which] for which in binary], n_boot, seed)
    for which, hits in zip(binary, sums, strict=True):
        means[which] = hits / arrays[which].size
    return [
        _percentiles(x, means[which] if which in means else _plain_means(x, n_boot, seed))
        for which, x in enumerate(arrays)
    ]


def _plain_means(x: NDArray[Any], n_boot: int, seed: int) -> NDArray[Any]:
    means = np.empty(n_boot)
    if x.size == 0 or x.min() == x.max() in (0.0, 1.0):
        means.fill(x[0] if x.size else np.nan)
        return means
    for _, start, places in resamples([x.size], n_boot, seed):
        means[start : start + places.shape[0]] = x[places].mean(axis=1)
    return means


def _percentiles(x: NDArray[Any], means: NDArray[Any]) -> Interval:
    if x.size == 0:
        return Interval(None, None, None, None, 0)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(x.mean()), float(low), float(high), float(means.std(ddof=1)), x.size)
