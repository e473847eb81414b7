"""Paired tests by seeded coins: signs of differences flipped, cluster by cluster."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.drafts import Floats

__all__ = ["FLIPS", "flip_ps", "signs"]

FLIPS: Final = 9_999
_ROWS: Final = 1_000


def signs(units: int, flips: int, seed: int) -> NDArray[np.int8]:
    """`flips` rows of +1 and -1 by fair coins, always the same for one seed."""
    # The generator's words are frozen, what numpy makes of them is not: hence bit by bit.
    words = np.random.PCG64(np.random.SeedSequence(seed)).random_raw((flips * units + 63) // 64)
    bits = np.unpackbits(words.astype("<u8").view(np.uint8))[: flips * units]
    return bits.reshape(flips, units).view(np.int8) * np.int8(2) - np.int8(1)


def flip_ps(sums: Floats, coins: NDArray[np.int8]) -> list[float]:
    """Two-sided p of several paired differences: signs flipped by cluster, by these coins.

    `sums` (clusters x m) are the clusters' sums of differences, in whole numbers so that ties are
    ties. P is the share of sign vectors, the observed one among them, whose total is as far from 0.
    """
    observed = np.abs(sums.sum(axis=0))
    beyond = np.zeros(sums.shape[1], dtype=np.int64)
    for start in range(0, len(coins), _ROWS):
        drawn = np.abs(coins[start : start + _ROWS].astype(np.float64) @ sums)
        beyond += (drawn >= observed).sum(axis=0)
    return [float(p) for p in (1 + beyond) / (1 + len(coins))]
