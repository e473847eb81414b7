"""Grey samples of more than 8 bits -> 8 bits. The rules stand in `open_image`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.imaging._plain import Plain


def scaled(image: Image.Image, plain: Plain) -> Image.Image:
    """A deep grey image as 8 bits."""
    stored = np.asarray(image)
    if plain.bits <= 16 and not plain.signed:
        full = (1 << plain.bits) - 1
        grey = full_range_table(full)[np.minimum(stored, full)]
    else:
        if plain.bits == 32 and not plain.signed:
            stored = stored.view(np.uint32)  # Pillow has no unsigned 32-bit mode
        grey = to_bytes(fraction_of_range(stored))
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


def fraction_of_range(
    values: NDArray[Any], among: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Where each value lies between the least and the greatest finite one (of `among`), in [0, 1].

    All zero when there is no range to speak of: a constant image, or none with a finite value.
    """
    wide = values.astype(np.float64)
    counted = wide if among is None else among.astype(np.float64)
    counted = counted[np.isfinite(counted)]
    if not counted.size or counted.min() == counted.max():
        return np.zeros(wide.shape)
    low, high = float(counted.min()), float(counted.max())
    # Halved, so that the range of two extreme doubles does not overflow.
    fraction = (wide / 2 - low / 2) / (high / 2 - low / 2)
    return np.clip(np.nan_to_num(fraction, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def to_bytes(fraction: NDArray[np.float64]) -> NDArray[np.uint8]:
    """[0, 1] -> 0 .. 255, halves rounded up."""
    return np.floor(fraction * 255 + 0.5).astype(np.uint8)
