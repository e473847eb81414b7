"""Frames as small pictures inside a drawing: PNG data URLs, laid out in rows."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from overread.case import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["WIDTH", "Tile", "tiles"]

_ACROSS: Final = 12
_SIDE: Final = 72  # pixels of the longer side
_GAP: Final = 4
WIDTH: Final = _ACROSS * (_SIDE + _GAP) - _GAP
_INDEX: Final = 18  # the line with the frame's index
_MOST: Final = 36


class Tile(NamedTuple):
    """A frame's place in the drawing, its index in the window, and its picture."""

    frame: int
    x: float
    y: float
    width: int
    height: int
    url: str


def tiles(frames: Sequence[NDArray[np.uint8]], keep: Sequence[int]) -> tuple[list[Tile], int]:
    """The frames in rows of twelve, and how high they stand together.

    A long window is thinned to every n-th frame; those of `keep` are there in any case.
    """
    step = ceil(len(frames) / _MOST)
    chosen = sorted({*range(0, len(frames), step), *keep})
    made: list[Tile] = []
    row = 0
    for place, index in enumerate(chosen):
        url, width, height = _picture(frames[index])
        row, column = divmod(place, _ACROSS)
        x = column * (_SIDE + _GAP) + (_SIDE - width) / 2
        made.append(Tile(index, x, row * (height + _INDEX + _GAP), width, height, url))
    return made, (row + 1) * (max(tile.height for tile in made) + _INDEX + _GAP)


def _picture(frame: Any) -> tuple[str, int, int]:
    """A frame scaled to `_SIDE`; grey stays grey."""
    from PIL import Image

    if frame.dtype != "uint8" or not (frame.ndim == 2 or frame.shape[2:] == (3,)):
        raise BadInput(
            f"a frame is {frame.dtype} of shape {frame.shape}; a strip needs uint8, H x W or "
            "H x W x 3."
        )
    if frame.ndim == 3 and (frame == frame[:, :, :1]).all():
        frame = frame[:, :, 0]
    high, wide = frame.shape[:2]
    scale = _SIDE / max(high, wide)
    size = max(1, round(wide * scale)), max(1, round(high * scale))
    image = Image.fromarray(frame).resize(size, Image.Resampling.BILINEAR)
    held = io.BytesIO()
    image.save(held, "PNG", optimize=True)
    data = base64.b64encode(held.getvalue()).decode("ascii")
    return f"data:image/png;base64,{data}", *size
