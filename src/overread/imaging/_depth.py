"""Grey samples of more than 8 bits -> 8 bits. The rules stand in `open_image`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.imaging._plain import Plain

# Values worked on at a time: what comes in between are 64-bit numbers, several for each pixel.
_BAND = 1 << 20


class Range(NamedTuple):
    """The least and the greatest of values that are there to be compared."""

    low: float
    high: float


def scaled(image: Image.Image, plain: Plain) -> Image.Image:
    """A deep grey image as 8 bits."""
    stored = np.asarray(image)
    if plain.bits <= 16 and not plain.signed:
        full = (1 << plain.bits) - 1
        table = full_range_table(full)
        grey = in_bands(stored, lambda band: table[np.minimum(band, full)])
    else:
        if plain.bits == 32 and not plain.signed:
            stored = stored.view(np.uint32)  # Pillow has no unsigned 32-bit mode
        ends = range_of(stored)
        grey = in_bands(stored, lambda band: to_bytes(fraction_of(band, ends)))
    return Image.fromarray(255 - grey if plain.inverted else grey)


def not_zero(image: Image.Image) -> Image.Image:
    """255 where the stored value is a number other than zero."""
    stored = np.asarray(image)
    there = (stored != 0) & (stored == stored)  # the second is false for NaN
    return Image.fromarray(np.where(there, np.uint8(255), np.uint8(0)))


def full_range_table(full: int) -> NDArray[np.uint8]:
    """round(255 v / full) for v = 0 .. full, in whole numbers."""
    values = np.arange(full + 1, dtype=np.uint32)
    return ((values * 255 + full // 2) // full).astype(np.uint8)


def in_bands(
    values: NDArray[Any], shown: Callable[[NDArray[Any]], NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """What `shown` makes of each value, a band of them at a time."""
    made = np.concatenate([shown(band) for band in bands(values.reshape(-1))])
    return made.reshape(values.shape + made.shape[1:])


def bands(row: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A row of values, a part at a time."""
    return (row[at : at + _BAND] for at in range(0, row.size, _BAND))


def range_of(values: NDArray[Any]) -> Range | None:
    """The range of the finite values; None of a constant image, or of none with a finite value."""
    low, high = float("inf"), float("-inf")
    for band in bands(values.ravel("K")):  # in the order of memory: nothing is copied
        finite = band[np.isfinite(band)]
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return Range(low, high) if low < high else None


def fraction_of(values: NDArray[Any], ends: Range | None) -> NDArray[np.float64]:
    """Where each value lies between the ends, in [0, 1]; all zero where there is no range."""
    if ends is None:
        return np.zeros(values.shape)
    wide = values.astype(np.float64)
    # Halved, so that the range of two extreme doubles does not overflow.
    fraction = (wide / 2 - ends.low / 2) / (ends.high / 2 - ends.low / 2)
    return np.clip(np.nan_to_num(fraction, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def to_bytes(fraction: NDArray[np.float64]) -> NDArray[np.uint8]:
    """[0, 1] -> 0 .. 255, halves rounded up."""
    return np.floor(fraction * 255 + 0.5).astype(np.uint8)
