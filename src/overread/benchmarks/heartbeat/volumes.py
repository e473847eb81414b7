"""How large the left ventricle is in every frame, and what its curve says of the beats.

From pictures alone (`area_curve`): with a red overlay the red pixels, counted; without one the dark
area between septum and lateral wall, where an apical four-chamber view has it, above the valves.
That area is of a part only, so it serves to say which frame has more of it, not how much there is.
From masks or a csv (`volumes_of`, `read_volumes`), for EF at the frames a reader names (HEARTBEAT
9). Masks are read when the tables are written, so that measuring again needs no data set; where
they cannot be read the case keeps the reason: EF has no such video, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from overread.benchmarks.files.fields import read_fields
from overread.benchmarks.heartbeat.cases import CaseRow, HeartbeatCase, Window, row_of
from overread.case import BadInput, Source
from overread.files import whole

if TYPE_CHECKING:
    import polars as pl

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating[Any]]
Masks = npt.NDArray[np.bool_]
FrameVolumes = npt.NDArray[np.float64]

# ---------------------------------------------------------------- from the pixels alone

_RED_ABOVE: Final = 40  # how far red must stand above green and blue; grey has none of it
_NOMINAL_WIDTH: Final = 112  # pictures are taken as if of this width
_LEAST_SIDE: Final = 28  # pixels on a side; on fewer no ventricle is measured
# Where the middle of the ventricle may be, as shares of height and width.
_MIDDLE_ROWS: Final = (0.28, 0.50)
_MIDDLE_COLUMNS: Final = (0.42, 0.72)
# How far up and down from the middle is measured, in radii of the disc that fits in.
_TO_APEX: Final = 2.0
_TO_VALVES: Final = 0.2
# The edge's greys, as shares of the step from blood to wall.
_BLOOD_GREY: Final = 0.2
_WALL_GREY: Final = 0.7
_HALF_FALL: Final = 0.5  # of the range, or of a beat's own fall: less is no ejection
_WALL_MOVES: Final = 0.3  # how far the wall moves out from its mean place, in the same radii


def area_curve(pictures: Sequence[Pixels]) -> Floats:
    """The ventricle's area in each picture, in pixels or in a measure that goes with them.

    A count of red pixels is exact and is left as it is; an area seen through speckle is smoothed.
    """
    red = red_areas(pictures)
    if red.any():
        return red
    if len({picture.shape[:2] for picture in pictures}) != 1:
        return np.zeros(len(pictures))  # pictures of several sizes show no one clip
    return smoothed(cavity_areas(np.stack([p if p.ndim == 2 else p[..., 0] for p in pictures])))


def red_areas(pictures: Sequence[Pixels]) -> Floats:
    """How many pixels of each picture are red; zeros where pictures are grey."""
    found = np.zeros(len(pictures))
    for k, picture in enumerate(pictures):
        if picture.ndim == 3 and picture.shape[2] >= 3:
            rest = np.maximum(picture[..., 1], picture[..., 2]).astype(np.int16)
            found[k] = int((picture[..., 0] - rest > _RED_ABOVE).sum())
    return found


def cavity_areas(grey: Floats) -> Floats:
    """The dark area around the ventricle's middle in each frame (frames x height x width).

    From the middle's column outwards, row by row, until a wall is met. A pixel at the edge counts
    by how dark it is, so that the area changes by less than whole pixels.
    """
    from scipy import ndimage

    if min(grey.shape[1:]) < _LEAST_SIDE:
        return np.zeros(len(grey))
    scale = grey.shape[2] / _NOMINAL_WIDTH
    calm = ndimage.gaussian_filter(grey.astype(np.float32), (0, 1.2 * scale, 1.2 * scale))
    calm = smoothed(calm)
    middle = _cavity_middle(calm.mean(axis=0), scale)
    if middle is None:
        return np.zeros(len(grey))
    row, column, inner = middle
    rows = slice(max(0, round(row - _TO_APEX * inner)), round(row + _TO_VALVES * inner) + 1)
    found: Floats = np.zeros(len(grey))
    for side in (calm[:, rows, column::-1], calm[:, rows, column + 1 :]):
        found = found + _dark_area(side, inner, scale)
    return found


def _dark_area(side: Floats, inner: float, scale: float) -> Floats:
    """The dark area from the first column to beyond the wall's mean place, in each frame.

    Blood and wall are as grey as the mean frame has them in that row. What lies farther out than
    the wall ever moves is left out: there is no blood of this chamber.
    """
    from scipy import ndimage

    mean = ndimage.gaussian_filter1d(side.mean(axis=0), 2.0 * scale, axis=0)
    blood = np.median(mean[:, : max(1, round(0.5 * inner))], axis=1)[:, None]
    wall = mean[:, : round(1.3 * inner + 6 * scale)].max(axis=1)[:, None]
    step = np.maximum(wall - blood, 1.0)
    edge = (mean > blood + 0.5 * step).argmax(axis=1)[:, None]
    held = np.arange(side.shape[2]) < edge + _WALL_MOVES * inner
    dark = np.clip((blood + _WALL_GREY * step - side) / ((_WALL_GREY - _BLOOD_GREY) * step), 0, 1)
    return np.asarray((dark * held).sum(axis=(1, 2)))


def _cavity_middle(mean: Floats, scale: float) -> tuple[int, int, float] | None:
    """Row, column and radius of the largest dark disc where the ventricle is, in the mean frame."""
    from scipy import ndimage

    height, width = mean.shape
    rows = slice(*(round(share * height) for share in _MIDDLE_ROWS))
    columns = slice(*(round(share * width) for share in _MIDDLE_COLUMNS))
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
    known = np.flatnonzero(~np.isnan(curve))
    counted = curve[known]
    calm = smoothed(counted)
    fall, largest, smallest = _greatest_fall(calm)
    rise, low, high = _greatest_fall(-calm)
    if fall < _HALF_FALL * np.ptp(calm) and fall < rise:
        largest, smallest = high, low
    return int(known[_largest_near(counted, largest)]), int(
        known[_largest_near(-counted, smallest)]
    )


def _greatest_fall(curve: Floats) -> tuple[float, int, int]:
    """How far a curve falls at most, from which place and to which later one."""
    fallen = np.maximum.accumulate(curve) - curve
    end = int(fallen.argmax())
    return float(fallen[end]), int(curve[: end + 1].argmax()), end


def _largest_near(curve: Floats, place: int) -> int:
    """The largest value within a frame of a place: smoothing moves a sharp turn so far."""
    first = max(0, place - 1)
    return first + int(curve[first : place + 2].argmax())


def neighbours(curve: Floats, ed: int, es: int) -> tuple[list[int], list[int]] | None:
    """ED and ES of the other beats that a curve shows beside the annotated one; None if unknown.

    Going away from the annotated phases the curve turns in earnest where it has gone, to the turn
    and back, half as far as the annotated beat falls; a turn that is not complete is none.
    """
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
        for turn, kind in _turns_of(side, sign, _HALF_FALL * fall):
            place = _largest_near(kind * curve[known], begun + step * turn)
            found[kind].append(int(known[place]))
    return sorted(found[1]), sorted(found[-1])


def _turns_of(curve: Floats, sign: int, least: float) -> list[tuple[int, int]]:
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
    if len(curve) < 3:
        return curve
    wide = np.concatenate((curve[:1], curve, curve[-1:]))
    return np.asarray((wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4)


# ---------------------------------------------------------------- from masks, or from a csv

VolumeMethod = Literal["discs", "area"]
DISCS: Final = 20


def volumes_of(masks: Masks, method: VolumeMethod = "discs") -> FrameVolumes:
    """One volume per frame of masks (T x H x W), pixels cubed; NaN where a mask is empty.

    `discs`: 20 discs of equal height along the long axis of the mask's largest connected part,
    sum of pi (d/2)^2 h, where d is the area of the disc's slice over h. `area`: area^1.5, the
    declared fallback, which is a volume but for a constant factor that cancels in EF.
    """
    if method == "area":
        areas = masks.sum(axis=(1, 2)).astype(np.float64)
        return np.where(areas > 0, areas, np.nan) ** 1.5
    return np.array([_disc_volume(mask) for mask in masks], np.float64)


def _disc_volume(mask: Masks) -> float:
    from scipy import ndimage

    parts, count = ndimage.label(mask)
    if count > 1:
        # A speck far from the ventricle must not lengthen its axis.
        sizes = np.bincount(parts.ravel())
        sizes[0] = 0
        mask = parts == sizes.argmax()
    pixels = np.stack(np.nonzero(mask)).astype(np.float64)
    if not pixels.size:
        return math.nan
    # Each pixel's place along the long axis: the direction of the largest second moment.
    points = pixels - pixels.mean(axis=1, keepdims=True)
    along: FrameVolumes = np.linalg.eigh(points @ points.T)[1][:, 1] @ points
    low = along.min() - 0.5
    height = (along.max() + 0.5 - low) / DISCS
    # Each pixel is spread over its own width along the axis, so slices need not hold whole pixels.
    edges = low + height * np.arange(DISCS + 1)
    below = np.clip(edges[:, None] - (along - 0.5), 0, 1).sum(axis=1)
    diameters = np.diff(below) / height
    return float(np.pi / 4 * height * np.sum(diameters**2))


# ---------------------------------------------------------------- files


def read_volumes(path: Path) -> FrameVolumes:
    """Volumes of a csv `frame,volume`: every frame from 0 once, in any order; empty is NaN."""
    found: dict[int, float] = {}
    for row in read_fields(path, ("frame", "volume")):
        frame = row.fact("frame") or ""
        number = whole(frame) if frame.isascii() and frame.isdigit() else None
        if number is None:
            row.wrong("frame", "it is a whole number from 0")
        if number in found:
            row.wrong("frame", "it stands in the file twice")
        need = "it is a number from 0, or empty"
        empty = row.fact("volume") is None
        found[number] = math.nan if empty else row.number("volume", need, low=0)
    missing = next((n for n in range(len(found)) if n not in found), None)
    if missing is not None:
        raise BadInput(f"{path.name} has no row of frame {missing}. Give one row per frame.")
    if not found:
        raise BadInput(f"{path} has a header but no rows. Give one row per frame.")
    return np.array([found[n] for n in range(len(found))], np.float64)


# ---------------------------------------------------------------- kept with the case


def kept_volumes(case: HeartbeatCase, window: Window, root: str, method: VolumeMethod) -> CaseRow:
    """A csv of volumes as it stands; else those of the masks of the frames in the window."""
    found: dict[str, Any] = {}
    try:
        if case.mask is not None:
            found |= _volumes_of_masks(case, window, root, method)
        if case.volumes is not None:
            found |= _volumes_of_csv(case, window, root)
    except BadInput as error:
        return row_of(case, volume_fault=str(error))
    return row_of(case, **found)


def _volumes_of_csv(case: HeartbeatCase, window: Window, root: str) -> dict[str, Any]:
    assert case.volumes is not None
    found = read_volumes(Path(root) / case.volumes)
    if len(found) != case.frames:
        raise BadInput(
            f"{case.volumes} has {len(found)} rows; the clip has {case.frames} frames. "
            "Give one row per frame."
        )
    kept = [_known_number(volume) for volume in found]
    return {"frame_volumes": kept, "volume_method": "csv"} | _other_beats(found, case, window)


def _volumes_of_masks(
    case: HeartbeatCase, window: Window, root: str, method: VolumeMethod
) -> dict[str, Any]:
    from overread.imaging import Films, masks_of

    assert case.mask is not None
    shown = range(window.start, min(window.start + window.count, case.frames))
    # Whether a curve turns at the window's edge is seen beyond it.
    seen = range(max(0, shown.start - window.count), min(shown.stop + window.count, case.frames))
    size = (case.width or 0, case.height or 0)
    stacked = np.stack(masks_of(Source(root, case.mask), list(seen), size, Films(0)))
    curve = np.full(case.frames, np.nan)
    curve[seen.start : seen.stop] = volumes_of(stacked, method)
    volumes: list[float | None] = [None] * case.frames
    areas: list[int | None] = [None] * case.frames
    for frame in shown:
        volumes[frame] = _known_number(curve[frame])
        areas[frame] = int(stacked[frame - seen.start].sum())
    kept = {"frame_volumes": volumes, "volume_method": method, "frame_areas": areas}
    return kept | _other_beats(curve, case, window)


def _other_beats(curve: Any, case: HeartbeatCase, window: Window) -> dict[str, Any]:
    """The phases of neighbouring beats that are in the window."""
    found = neighbours(curve, case.ed, case.es)
    if found is None:
        return {"other_ed": None, "other_es": None}
    end = window.start + window.count
    ed, es = ([frame for frame in some if window.start <= frame < end] for some in found)
    return {"other_ed": ed, "other_es": es}


def _known_number(volume: Any) -> float | None:
    return None if volume != volume else float(volume)


def kept_in(cases: pl.DataFrame, column: str) -> dict[str, FrameVolumes]:
    """The kept volumes or areas by case, NaN where not known."""
    if column not in cases.columns:
        return {}
    kept = cases.select("case", column).drop_nulls().iter_rows()
    return {case: np.array([np.nan if v is None else v for v in frames]) for case, frames in kept}


def methods_of(cases: pl.DataFrame) -> str:
    """One line on where the kept volumes come from, and what keeps others out."""
    import polars as pl

    there = pl.col("frame_volumes").is_not_null()
    methods = cases.filter(there)["volume_method"].unique().sort()
    faults = cases.filter(~there & (pl.col("volume_fault") != ""))["volume_fault"]
    parts = [_METHOD_WORDS.get(method, method) for method in methods]
    if len(faults):
        parts.append(f"{len(faults)} videos without: {faults[0].rstrip('.')}")
    return ", ".join(parts)


_METHOD_WORDS = {
    "csv": "as given",
    "discs": "20 discs along the mask's long axis",
    "area": "area of the mask to the power 1.5",
}
