"""What can be had without looking: uniform guesses, coins, the middle, the window's length."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.benchmarks.heartbeat.marks import Floats

__all__ = [
    "TRIALS",
    "Chance",
    "coin_accuracy",
    "expected_error",
    "length_guess",
    "published_lengths",
    "published_uniform",
    "uniform_error",
]

TRIALS: Final = 10_000
# Guesses drawn at a time: a few tens of megabytes, however many videos.
_CHUNK: Final = 1 << 21


class Chance(NamedTuple):
    """A guesser's mean, and the 2.5th and 97.5th percentiles over runs of the whole set."""

    mean: float
    low: float
    high: float


def expected_error(lengths: ArrayLike, truths: ArrayLike) -> Floats:
    """Mean |k - g| of a guess uniform on {0 .. N-1}: Σ_k |k - g| / N, for any whole g.

    Closed form, also for a truth outside the window: g(g+1)/2 below and (N-1-g)(N-g)/2 above.
    """
    n: Floats = np.asarray(lengths, dtype=float)
    g: Floats = np.asarray(truths, dtype=float)
    inside = (g * (g + 1) + (n - 1 - g) * (n - g)) / (2 * n)
    outside = np.abs(g - (n - 1) / 2)
    found: Floats = np.where((g >= 0) & (g <= n - 1), inside, outside)
    return found


def uniform_error(
    lengths: ArrayLike, truths: ArrayLike, trials: int = TRIALS, seed: int = 0
) -> Chance:
    """The MAE of uniform guesses over these videos: exact mean, percentiles by Monte Carlo.

    Videos are taken in the order of (length, truth), so theirs does not matter.
    """
    n: NDArray[Any] = np.asarray(lengths, dtype=np.int64)
    g: NDArray[Any] = np.asarray(truths, dtype=np.int64)
    order = np.lexsort((g, n))
    rng = np.random.default_rng(seed)
    found = np.empty(trials)
    step = max(1, _CHUNK // n.size)
    for start in range(0, trials, step):
        rows = min(step, trials - start)
        guesses = rng.integers(0, n[order], size=(rows, n.size))
        found[start : start + rows] = np.abs(guesses - g[order]).mean(axis=1)
    low, high = np.percentile(found, [2.5, 97.5])
    return Chance(float(expected_error(n, g).mean()), float(low), float(high))


def published_uniform(
    lengths: ArrayLike, ed: ArrayLike, es: ArrayLike, trials: int = TRIALS, seed: int = 0
) -> tuple[Chance, Chance]:
    """The authors' Monte Carlo, draw for draw: per trial and video an ED guess, then an ES guess.

    Legacy generator; their notebook does not seed it. Mean and percentiles are those of the trials.
    """
    n: NDArray[Any] = np.asarray(lengths, dtype=np.int64)
    truths: NDArray[Any] = np.stack([np.asarray(ed, np.int64), np.asarray(es, np.int64)], axis=1)
    state = np.random.RandomState(seed)
    bounds = np.repeat(n, 2)
    found = np.empty((trials, 2))
    step = max(1, _CHUNK // bounds.size)
    for start in range(0, trials, step):
        rows = min(step, trials - start)
        guesses = state.randint(0, np.broadcast_to(bounds, (rows, bounds.size)))
        found[start : start + rows] = np.abs(guesses.reshape(rows, -1, 2) - truths).mean(axis=1)
    low, high = np.percentile(found, [2.5, 97.5], axis=0)
    mean = found.mean(axis=0)
    return (
        Chance(float(mean[0]), float(low[0]), float(high[0])),
        Chance(float(mean[1]), float(low[1]), float(high[1])),
    )


def published_lengths(ed: ArrayLike, es: ArrayLike) -> NDArray[np.int64]:
    """The notebook's own window length, (l + 1) * 7 // 3, which no window has (HEARTBEAT 8)."""
    between: NDArray[Any] = np.abs(np.asarray(ed, np.int64) - np.asarray(es, np.int64))
    found: NDArray[np.int64] = (between + 1) * 7 // 3
    return found


def coin_accuracy(truth: ArrayLike, rng: np.random.Generator, trials: int = TRIALS) -> Chance:
    """The accuracy of fair coins over these videos; the generator goes on from group to group."""
    y: NDArray[Any] = np.asarray(truth, dtype=np.int64)
    found = np.empty(trials)
    step = max(1, _CHUNK // y.size)
    for start in range(0, trials, step):
        rows = min(step, trials - start)
        flips = rng.integers(0, 2, size=(rows, y.size))
        found[start : start + rows] = (flips == y).mean(axis=1)
    low, high = np.percentile(found, [2.5, 97.5])
    return Chance(float(found.mean()), float(low), float(high))


def length_guess(frames: int) -> tuple[int, int]:
    """Both targets, earlier first, from nothing but the length of the authors' window.

    N = l + 2 floor(2l/3) + 1 grows with l, so N gives l, and l gives floor(2l/3) and
    floor(2l/3) + l. A length that no l has (a clamped window) takes the greatest l below it.
    """
    # N >= 7l/3 - 1/3, so this l is at most one or two too small.
    between = max(0, (3 * frames - 3) // 7 - 1)
    while _window(between + 1) <= frames:
        between += 1
    margin = 2 * between // 3
    return margin, margin + between


def _window(between: int) -> int:
    return between + 2 * (2 * between // 3) + 1
