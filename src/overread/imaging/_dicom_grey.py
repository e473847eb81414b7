"""Stored grey values of a DICOM file -> what its display pipeline shows (PS3.3 C.11.1, C.11.2).

The pipeline is worked out once for every integer between the least and the greatest pixel and then
looked up, which is ten times faster than working it out for every pixel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.imaging import _dicom_file as tags
from overread.imaging._depth import fraction_of_range, to_bytes
from overread.imaging._dicom_file import Elements, Lut

_LONGEST_TABLE = 1 << 18
_Real = NDArray[np.float64]


def shown_grey(
    stored: NDArray[Any], elements: Elements, *, inverted: bool, whole_range: bool = False
) -> NDArray[np.uint8]:
    """8-bit grey: modality step, VOI step, and MONOCHROME1 (`inverted`) turned round.

    The VOI LUT comes before a window, and the first window before others, as in pydicom. A window
    too narrow for its function counts as absent. With neither, the least and greatest pixel
    become 0 and 255; pixels of PixelPaddingValue are left out of that search and then clipped.
    With `whole_range` it is the least and the greatest value that the stored bits can hold.
    """
    low, high = int(stored.min()), int(stored.max())
    if whole_range:
        ends = _ends(elements)
        if high - low >= _LONGEST_TABLE:
            grey = _pipeline(stored, lambda: ends, elements)
        else:
            values = np.arange(low, high + 1, dtype=np.int64)
            grey = _pipeline(values, lambda: ends, elements)[stored.astype(np.int64) - low]
    elif high - low >= _LONGEST_TABLE:
        grey = _pipeline(stored, lambda: stored, elements)
    else:
        values = np.arange(low, high + 1, dtype=np.int64)
        at = stored if low == 0 else stored.astype(np.int64) - low
        grey = _pipeline(values, lambda: values[np.bincount(at.ravel()) > 0], elements)[at]
    return 255 - grey if inverted else grey


def _ends(elements: Elements) -> NDArray[np.int64]:
    bits = elements.short(tags.STORED) or 8
    least = -(1 << (bits - 1)) if _is_signed(elements) else 0
    return np.array([least, least + (1 << bits) - 1], np.int64)


def _pipeline(
    values: NDArray[Any], occurring: Callable[[], NDArray[Any]], elements: Elements
) -> NDArray[np.uint8]:
    """Modality and VOI step for `values`; those that occur set the range where no window does."""
    real = _modality(values, elements)
    lut = elements.lut(tags.VOI_LUT, signed=_signed_after_modality(elements))
    if lut is not None:
        return to_bytes(np.clip(_looked_up(real, lut) / ((1 << lut.bits) - 1), 0, 1))
    window = _window(elements)
    if window is not None:
        return to_bytes(_windowed(real, *window))
    if elements.short(tags.STORED) == 1:
        return to_bytes(np.clip(values.astype(np.float64), 0, 1))
    occurs, padding = occurring(), _padding(elements)
    if padding is not None:
        occurs = occurs[(occurs < padding[0]) | (occurs > padding[1])]
    return to_bytes(fraction_of_range(real, _modality(occurs, elements)))


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
    found: _Real = np.array(lut.entries, dtype=np.float64)[at]
    return found


def _is_signed(elements: Elements) -> bool:
    return elements.short(tags.REPRESENTATION, 0) == 1


def _signed_after_modality(elements: Elements) -> bool:
    """Whether a VOI LUT's first value may be negative (PS3.3 C.11.2.1.1)."""
    if tags.MODALITY_LUT in elements.raw:
        return False
    return _is_signed(elements) or (elements.number(tags.INTERCEPT) or 0) < 0


def _padding(elements: Elements) -> tuple[int, int] | None:
    signed = _is_signed(elements)
    value = elements.short(tags.PADDING, signed=signed)
    if value is None:
        return None
    limit = elements.short(tags.PADDING_LIMIT, value, signed=signed)
    assert limit is not None
    return min(value, limit), max(value, limit)
