"""How large the left ventricle is in each picture, from the pixels alone.

With a red overlay: the red pixels, counted. Without one: the dark area between septum and lateral
wall, where an apical four-chamber view has it, above the valves. The area is of that part only, so
it serves to say which frame has more of it, not how much there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]
    Floats = npt.NDArray[np.floating[Any]]

__all__ = ["area_curve", "cavity_areas", "extremes", "red_areas", "smoothed"]

_RED: Final = 40  # how far red must stand above green and blue; grey has none of it
_SIDE: Final = 112  # pictures are taken as if of this width
_LEAST: Final = 28  # pixels on a side; on fewer no ventricle is measured
# Where the middle of the ventricle may be, as shares of height and width.
_ROWS: Final = (0.28, 0.50)
_COLUMNS: Final = (0.42, 0.72)
# How far up and down from the middle is measured, in radii of the disc that fits in.
_TO_APEX: Final = 2.0
_TO_VALVES: Final = 0.2
# The edge's greys, as shares of the step from blood to wall.
_BLOOD: Final = 0.2
_WALL: Final = 0.7
_STANDS_OUT: Final = 0.2  # of the curve's range
_BEYOND: Final = 0.3  # how far the wall moves out from its mean place, in the same radii


def area_curve(pictures: Sequence[Pixels]) -> Floats:
    """The ventricle's area in each picture, in pixels or in a measure that goes with them.

    A count of red pixels is exact and is left as it is; an area seen through speckle is smoothed.
    """
    import numpy as np

    red = red_areas(pictures)
    if red.any():
        return red
    if len({picture.shape[:2] for picture in pictures}) != 1:
        return np.zeros(len(pictures))  # pictures of several sizes show no one clip
    return smoothed(cavity_areas(np.stack([_grey(picture) for picture in pictures])))


def red_areas(pictures: Sequence[Pixels]) -> Floats:
    """How many pixels of each picture are red; zeros where pictures are grey."""
    import numpy as np

    found = np.zeros(len(pictures))
    for k, picture in enumerate(pictures):
        if picture.ndim == 3 and picture.shape[2] >= 3:
            rest = np.maximum(picture[..., 1], picture[..., 2]).astype(np.int16)
            found[k] = int((picture[..., 0] - rest > _RED).sum())
    return found


def cavity_areas(grey: Floats) -> Floats:
    """The dark area around the ventricle's middle in each frame (frames x height x width).

    From the middle's column outwards, row by row, until a wall is met. A pixel at the edge counts
    by how dark it is, so that the area changes by less than whole pixels.
    """
    import numpy as np
    from scipy import ndimage

    if min(grey.shape[1:]) < _LEAST:
        return np.zeros(len(grey))
    scale = grey.shape[2] / _SIDE
    calm = ndimage.gaussian_filter(grey.astype(np.float32), (0, 1.2 * scale, 1.2 * scale))
    calm = smoothed(calm)
    middle = _middle(calm.mean(axis=0), scale)
    if middle is None:
        return np.zeros(len(grey))
    row, column, inner = middle
    rows = slice(max(0, round(row - _TO_APEX * inner)), round(row + _TO_VALVES * inner) + 1)
    found: Floats = np.zeros(len(grey))
    for side in (calm[:, rows, column::-1], calm[:, rows, column + 1 :]):
        found = found + _reached(side, inner, scale)
    return found


def _reached(side: Floats, inner: float, scale: float) -> Floats:
    """The dark area from the first column to beyond the wall's mean place, in each frame.

    Blood and wall are as grey as the mean frame has them in that row. What lies farther out than
    the wall ever moves is left out: there is no blood of this chamber.
    """
    import numpy as np
    from scipy import ndimage

    mean = ndimage.gaussian_filter1d(side.mean(axis=0), 2.0 * scale, axis=0)
    blood = np.median(mean[:, : max(1, round(0.5 * inner))], axis=1)[:, None]
    wall = mean[:, : round(1.3 * inner + 6 * scale)].max(axis=1)[:, None]
    step = np.maximum(wall - blood, 1.0)
    edge = (mean > blood + 0.5 * step).argmax(axis=1)[:, None]
    held = np.arange(side.shape[2]) < edge + _BEYOND * inner
    dark = np.clip((blood + _WALL * step - side) / ((_WALL - _BLOOD) * step), 0, 1)
    found: Floats = (dark * held).sum(axis=(1, 2))
    return found


def _middle(mean: Floats, scale: float) -> tuple[int, int, float] | None:
    """Row, column and radius of the largest dark disc where the ventricle is, in the mean frame."""
    import numpy as np
    from scipy import ndimage

    height, width = mean.shape
    rows = slice(*(round(share * height) for share in _ROWS))
    columns = slice(*(round(share * width) for share in _COLUMNS))
    seen = mean[rows, columns]
    blood, bright = np.percentile(seen, 25), np.percentile(mean, 90)
    if bright - blood < 8:
        return None
    free = ndimage.distance_transform_edt(mean < blood + 0.45 * (bright - blood))
    at = int(free[rows, columns].argmax())
    row, column = (int(k) for k in np.unravel_index(at, seen.shape))
    row, column = row + rows.start, column + columns.start
    inner = float(free[row, column])
    return None if inner < 3 * scale else (row, column, inner)


def extremes(curve: Floats) -> tuple[int, int]:
    """The frames of the largest and the smallest area: where the curve turns, if it can be told.

    At the window's edge a curve that still rises or falls shows no phase, and a weak heart fills to
    nearly its largest before it is there. An edge therefore counts only if it stands out from the
    best turn inside by a fifth of the curve's range.
    """
    return _extreme(curve), _extreme(-curve)


def _extreme(curve: Floats) -> int:
    import numpy as np

    best = int(curve.argmax())
    inside = np.arange(1, len(curve) - 1)
    turns = inside[(curve[1:-1] >= curve[:-2]) & (curve[1:-1] >= curve[2:])]
    if 0 < best < len(curve) - 1 or not turns.size:
        return best
    turn = int(turns[curve[turns].argmax()])
    return turn if curve[best] - curve[turn] < _STANDS_OUT * np.ptp(curve) else best


def smoothed(curve: Floats) -> Floats:
    """Each frame with half its weight of each neighbour; two frames are no curve."""
    import numpy as np

    if len(curve) < 3:
        return curve
    wide = np.concatenate((curve[:1], curve, curve[-1:]))
    found: Floats = (wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4
    return found


def _grey(picture: Pixels) -> Pixels:
    return picture if picture.ndim == 2 else picture[..., 0]
