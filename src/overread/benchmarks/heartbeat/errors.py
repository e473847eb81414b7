"""Frame errors: passes become one answer, answers become errors, errors become a mean (T1).

Pure functions over (videos, seeds[, passes]) arrays; NaN is "no answer" and never a number.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.heartbeat.marks import Floats, Mask

__all__ = [
    "Average",
    "aggregate",
    "mean_over",
    "median_bounds",
    "others_median",
    "pearson",
    "spread_of",
    "spread_over",
]

_INT64: Final = 2.0**63


def mean_over(values: Floats, axis: int) -> Floats:
    """The mean of what is there along an axis; NaN where nothing is."""
    there = ~np.isnan(values)
    count = there.sum(axis=axis)
    total = np.where(there, values, 0.0).sum(axis=axis)
    found: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return found


def aggregate(said: Floats, how: Literal["truncated", "plain"]) -> Floats:
    """One answer per video and seed: the mean of the parsed passes (HEARTBEAT 7).

    "truncated" cuts it toward zero, as the authors' cast to int64 does; a mean beyond 64 bits
    becomes the least whole number, as that cast has it.
    """
    mean = mean_over(said, axis=2)
    if how == "plain":
        return mean
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(mean) >= _INT64, -_INT64, np.trunc(mean))


def pearson(x: Floats, y: Floats, *, least: int) -> float | None:
    """Pearson's correlation; None with fewer than `least` points, or where either is constant."""
    there = ~(np.isnan(x) | np.isnan(y))
    a, b = x[there], y[there]
    if a.size < max(least, 2) or a.min() == a.max() or b.min() == b.max():
        return None
    a, b = a - a.mean(), b - b.mean()
    # Scaled first, so that an absurd answer does not overflow when squared.
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    r = float(a @ b) / float(np.sqrt((a @ a) * (b @ b)))
    return max(-1.0, min(1.0, r))


def others_median(truth: Floats, patients: NDArray[np.int64]) -> Floats:
    """The median of all videos but this patient's, per video and seed: the best constant.

    The median is the constant with the least mean error; leaving the patient out makes it a guess.
    NaN where there is no other patient.
    """
    if np.unique(patients).size == patients.size:
        return _all_but_one(truth)
    found = np.full(truth.shape, np.nan)
    for patient in np.unique(patients):
        own = patients == patient
        rest = truth[~own]
        for seed in np.flatnonzero(~np.isnan(rest).all(axis=0)) if rest.size else ():
            found[own, seed] = np.nanmedian(rest[:, seed])
    found[np.isnan(truth)] = np.nan
    return found


def _all_but_one(truth: Floats) -> Floats:
    """The median of all videos but this one, which no other of the same patient is beside."""
    found = np.full(truth.shape, np.nan)
    for seed in range(truth.shape[1]):
        there = np.flatnonzero(~np.isnan(truth[:, seed]))
        n = there.size
        if n < 2:
            continue
        values = truth[there, seed]
        order = np.argsort(values, kind="stable")
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        sorted_values = values[order]
        # Without the element of rank r, the i-th of the others is the i-th or the one after it.
        low, high = (n - 2) // 2, (n - 1) // 2
        below = sorted_values[low + (rank <= low)]
        above = sorted_values[high + (rank <= high)]
        found[there, seed] = (below + above) / 2
    return found


def spread_of(values: Floats) -> float | None:
    """Standard deviation with ddof 1 of what is there; None with fewer than two."""
    found = float(spread_over(values[None], axis=1)[0])
    return None if np.isnan(found) else found


def spread_over(values: Floats, axis: int) -> Floats:
    """The same along an axis; NaN with fewer than two."""
    off = values - np.expand_dims(mean_over(values, axis), axis)
    there = ~np.isnan(values)
    more = there.sum(axis=axis) - 1
    squares = np.where(there, off * off, 0.0).sum(axis=axis)
    found: Floats = np.sqrt(
        np.divide(squares, more, out=np.full(squares.shape, np.nan), where=more > 0)
    )
    return found


class Average(msgspec.Struct, frozen=True, dict=True):
    """The mean of a (videos, seeds) array, and how to take it again in a resample of videos.

    over "seeds": the mean over seeds of each seed's mean over videos (Tables 1-4). over "videos":
    the mean over videos of each video's mean over seeds (Tables 5-7). They differ only where
    something is missing.
    """

    values: Floats
    over: Literal["seeds", "videos"]

    @cached_property
    def per_seed(self) -> Floats:
        return mean_over(self.values, axis=0)

    @cached_property
    def per_video(self) -> Floats:
        return mean_over(self.values, axis=1)

    @cached_property
    def counted(self) -> Mask:
        """The videos that have any value."""
        found: Mask = np.asarray((~np.isnan(self.values)).sum(axis=1) > 0)
        return found

    @cached_property
    def n(self) -> int:
        return int(self.counted.sum())

    @cached_property
    def point(self) -> float | None:
        if not self.n:
            return None
        each = self.per_seed if self.over == "seeds" else self.per_video
        return float(each[~np.isnan(each)].mean())

    @property
    def sd_seeds(self) -> float | None:
        return spread_of(self.per_seed)

    @property
    def sd_videos(self) -> float | None:
        return spread_of(self.per_video)

    @cached_property
    def columns(self) -> Floats:
        """What is summed over the videos of a resample: values, then how many there are."""
        part = self.values if self.over == "seeds" else self.per_video[:, None]
        return np.hstack([np.nan_to_num(part, nan=0.0), (~np.isnan(part)).astype(float)])

    @staticmethod
    def again(totals: Floats) -> Floats:
        """The mean in each resample, from the totals of `columns`."""
        half = totals.shape[1] // 2
        sums, counts = totals[:, :half], totals[:, half:]
        means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return mean_over(means, axis=1)


def median_bounds(values: Floats, effect: float) -> tuple[float, float, float]:
    """The median and its 95 % bounds: the quantiles at Wilson's bounds of one half.

    `effect` is the design effect of "at most the median" by patient.
    """
    from overread.stats import wilson

    # One half of n videos, worth n / effect independent ones.
    half = wilson(values.size, 2 * values.size, design_effect=2 * max(1.0, effect))
    assert half.low is not None
    assert half.high is not None
    low, high = np.quantile(values, [half.low, half.high])
    return float(low), float(np.median(values)), float(high)
