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

__all__ = [
    "area_curve",
    "cavity_areas",
    "ejected",
    "neighbours",
    "red_areas",
    "smoothed",
]

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
_HALF: Final = 0.5  # of the range, or of a beat's own fall: less is no ejection
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


def ejected(curve: Floats) -> tuple[int, int]:
    """The frames between which an area falls most: ED and ES of a beat.

    The next beat may fill beyond what this one began with before the window ends, so the largest
    area of all need not be an ED. Where nothing falls by half the curve's range the window shows a
    filling, and the phases are those of the greatest rise. Frames without a value are passed over.
    """
    import numpy as np

    known = np.flatnonzero(~np.isnan(curve))
    counted = curve[known]
    calm = smoothed(counted)
    fall, largest, smallest = _greatest_fall(calm)
    rise, low, high = _greatest_fall(-calm)
    if fall < _HALF * np.ptp(calm) and fall < rise:
        largest, smallest = high, low
    return int(known[_near(counted, largest)]), int(known[_near(-counted, smallest)])


def _greatest_fall(curve: Floats) -> tuple[float, int, int]:
    """How far a curve falls at most, from which place and to which later one."""
    import numpy as np

    fallen = np.maximum.accumulate(curve) - curve
    end = int(fallen.argmax())
    return float(fallen[end]), int(curve[: end + 1].argmax()), end


def _near(curve: Floats, place: int) -> int:
    """The largest value within a frame of a place: smoothing moves a sharp turn so far."""
    first = max(0, place - 1)
    return first + int(curve[first : place + 2].argmax())


def neighbours(curve: Floats, ed: int, es: int) -> tuple[list[int], list[int]] | None:
    """ED and ES of the other beats that a curve shows beside the annotated one; None if unknown.

    Going away from the annotated phases the curve turns in earnest where it has gone, to the turn
    and back, half as far as the annotated beat falls; a turn that is not complete is none.
    """
    import numpy as np

    known = np.flatnonzero(~np.isnan(curve))
    if ed not in known or es not in known:
        return None
    calm = smoothed(curve[known])
    first, last = sorted(int(np.searchsorted(known, frame)) for frame in (ed, es))
    fall = float(calm[first] - calm[last]) * (1 if ed < es else -1)
    if fall <= 0:
        return None  # what was annotated is not what these values show
    found: dict[int, list[int]] = {1: [], -1: []}
    for side, begun in ((calm[last:], last), (calm[first::-1], first)):
        # After the smallest a largest is looked for, and the other way round.
        sign = 1 if (begun == last) is (ed < es) else -1
        step = 1 if begun == last else -1
        for turn, kind in _turns(side, sign, _HALF * fall):
            place = _near(kind * curve[known], begun + step * turn)
            found[kind].append(int(known[place]))
    return sorted(found[1]), sorted(found[-1])


def _turns(curve: Floats, sign: int, least: float) -> list[tuple[int, int]]:
    """Where a curve turns, and what it is there: 1 the largest, -1 the smallest."""
    found = []
    begin, best = 0, 0
    for place in range(1, len(curve)):
        if sign * (curve[place] - curve[best]) > 0:
            best = place
        gone, back = sign * (curve[best] - curve[begin]), sign * (curve[best] - curve[place])
        if gone >= least and back >= least:
            found.append((best, sign))
            begin, best, sign = best, place, -sign
    return found


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
