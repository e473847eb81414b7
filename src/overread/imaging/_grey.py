"""Grey samples of more than 8 bits -> 8 bits, plainly or as DICOM's display pipeline has them.

The rules of plain images stand in `open_image`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.imaging import _dicom_file as tags
from overread.imaging._dicom_file import Elements, Lut
from overread.imaging._formats import Plain

# Values worked on at a time: what comes in between are 64-bit numbers, several for each pixel.
_BAND = 1 << 20


# The least and the greatest of values that are there to be compared.
Range: TypeAlias = tuple[float, float]


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
    return (low, high) if low < high else None


def fraction_of(values: NDArray[Any], ends: Range | None) -> NDArray[np.float64]:
    """Where each value lies between the ends, in [0, 1]; all zero where there is no range."""
    if ends is None:
        return np.zeros(values.shape)
    low, high = ends
    # Halved, so that the range of two extreme doubles does not overflow.
    fraction = (values.astype(np.float64) / 2 - low / 2) / (high / 2 - low / 2)
    return np.clip(np.nan_to_num(fraction, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def to_bytes(fraction: NDArray[np.float64]) -> NDArray[np.uint8]:
    """[0, 1] -> 0 .. 255, halves rounded up."""
    return np.floor(fraction * 255 + 0.5).astype(np.uint8)


# ---- Stored grey values of a DICOM file -> what its display pipeline shows (PS3.3 C.11.1, C.11.2)
#
# The pipeline is worked out once for every integer between the least and the greatest pixel and
# then looked up, which is ten times faster than working it out for every pixel.

_LONGEST_TABLE = 1 << 18
_Real = NDArray[np.float64]


def shown_grey(
    stored: NDArray[Any], elements: Elements, *, inverted: bool, whole_range: bool = False
) -> NDArray[np.uint8]:
    """8-bit grey: modality step, VOI step, and MONOCHROME1 (`inverted`) turned round.

    The VOI LUT comes before a window, and the first window before others, as in pydicom. A window
    too narrow for its function counts as absent. With neither, eight bits are shown as they are,
    as they are in a PNG. Of more bits the least and greatest pixel become 0 and 255; pixels of
    PixelPaddingValue are left out of that search and then clipped.
    With `whole_range` it is the least and the greatest value that the stored bits can hold.
    """
    low, high = int(stored.min()), int(stored.max())
    # Whether a VOI LUT's first value may be negative (PS3.3 C.11.2.1.1).
    negative = _is_signed(elements) or (elements.number(tags.INTERCEPT) or 0) < 0
    signed = negative and tags.MODALITY_LUT not in elements.raw
    lut = elements.lut(tags.VOI_LUT, signed=signed)
    window = _window(elements)
    one_bit = elements.short(tags.STORED) == 1
    ends = None
    if lut is None and window is None and not one_bit:
        bits = elements.short(tags.STORED) or elements.short(tags.ALLOCATED) or 8
        if whole_range or bits <= 8:
            least = -(1 << (bits - 1)) if _is_signed(elements) else 0
            values = np.array([least, least + (1 << bits) - 1], np.int64)
        else:
            values = _occurring(stored, low, high, elements)
        ends = range_of(_modality(values, elements))

    def shown(values: NDArray[Any]) -> NDArray[np.uint8]:
        real = _modality(values, elements)
        if lut is not None:
            return to_bytes(np.clip(_looked_up(real, lut) / ((1 << lut.bits) - 1), 0, 1))
        if window is not None:
            return to_bytes(_windowed(real, *window))
        if one_bit:
            return to_bytes(np.clip(values.astype(np.float64), 0, 1))
        return to_bytes(fraction_of(real, ends))

    if high - low < _LONGEST_TABLE:
        first = 0 if 0 <= low <= high < _LONGEST_TABLE else low  # no subtraction for each pixel
        table = shown(np.arange(first, high + 1, dtype=np.int64))
        grey = _looked_up_in(table, first, stored)
    else:
        grey = in_bands(stored, shown)
    return np.subtract(255, grey, out=grey) if inverted else grey


def _looked_up_in(table: NDArray[np.uint8], first: int, stored: NDArray[Any]) -> NDArray[np.uint8]:
    """The table's value for every pixel, of which each has one: nothing wraps round."""
    grey = np.empty(stored.shape, np.uint8)
    row, made, at = stored.reshape(-1), grey.reshape(-1), 0
    for band in bands(row):
        places = band - np.int64(first) if first else band
        np.take(table, places, out=made[at : at + band.size], mode="wrap")
        at += band.size
    return grey


def _occurring(stored: NDArray[Any], low: int, high: int, elements: Elements) -> NDArray[np.int64]:
    """Values among the pixels that are no padding: all of them, or the two ends of a wide range."""
    signed = _is_signed(elements)
    first = elements.short(tags.PADDING, signed=signed)
    last = elements.short(tags.PADDING_LIMIT, first, signed=signed)
    padding = None if first is None or last is None else (min(first, last), max(first, last))
    if high - low < _LONGEST_TABLE:
        seen = np.zeros(high - low + 1, np.bool_)
        for band in bands(stored.reshape(-1)):
            seen[band.astype(np.int64) - low] = True
        return _without(low + np.flatnonzero(seen), padding)
    ends = []
    for band in bands(stored.reshape(-1)):
        values = _without(band, padding)
        ends += [int(values.min()), int(values.max())] if values.size else []
    return np.array(ends, np.int64)


def _without(values: NDArray[Any], padding: tuple[int, int] | None) -> NDArray[Any]:
    return values if padding is None else values[(values < padding[0]) | (values > padding[1])]


def _modality(values: NDArray[Any], elements: Elements) -> _Real:
    lut = elements.lut(tags.MODALITY_LUT, signed=_is_signed(elements))
    if lut is not None:
        return _looked_up(values, lut)
    slope, intercept = elements.number(tags.SLOPE), elements.number(tags.INTERCEPT)
    real = values.astype(np.float64)
    return real if slope is None or intercept is None else real * slope + intercept


def _windowed(real: _Real, function: str, center: float, width: float) -> _Real:
    """The share of the output range, in [0, 1]."""
    if function == "SIGMOID":
        exponent = np.clip(-4 * (real - center) / width, -700, 700)
        return np.asarray(1 / (1 + np.exp(exponent)))
    if function == "LINEAR":
        center, width = center - 0.5, width - 1
    if width == 0:
        return (real > center).astype(np.float64)
    return np.clip((real - center) / width + 0.5, 0, 1)


def _window(elements: Elements) -> tuple[str, float, float] | None:
    center, width = elements.number(tags.CENTER), elements.number(tags.WIDTH)
    function = elements.text(tags.VOI_FUNCTION, "LINEAR").upper()
    if function not in ("LINEAR_EXACT", "SIGMOID"):
        function = "LINEAR"
    if center is None or width is None or width < (1 if function == "LINEAR" else 1e-9):
        return None
    return function, center, width


def _looked_up(values: NDArray[Any], lut: Lut) -> _Real:
    at = np.clip(np.floor(values).astype(np.int64) - lut.first, 0, len(lut.entries) - 1)
    return np.asarray(np.array(lut.entries, dtype=np.float64)[at])


def _is_signed(elements: Elements) -> bool:
    return elements.short(tags.REPRESENTATION, 0) == 1
