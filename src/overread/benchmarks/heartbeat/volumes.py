"""The volume of the ventricle in every frame, for EF at the frames a reader names (HEARTBEAT 9)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NoReturn

from overread.benchmarks.files.sheets import rows_of
from overread.case import BadInput
from overread.files import whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Masks = npt.NDArray[np.bool_]
    Volumes = npt.NDArray[np.float64]

__all__ = ["DISCS", "Method", "read_volumes", "volumes_of"]

Method = Literal["discs", "area"]
DISCS: Final = 20


def volumes_of(masks: Masks, method: Method = "discs") -> Volumes:
    """One volume per frame of masks (T x H x W), pixels cubed; NaN where a mask is empty.

    `discs`: 20 discs of equal height along the long axis of the mask's largest connected part,
    sum of pi (d/2)^2 h, where d is the area of the disc's slice over h. `area`: area^1.5, the
    declared fallback, which is a volume but for a constant factor that cancels in EF.
    """
    import numpy as np

    found = np.asarray(masks)
    if found.ndim != 3 or found.dtype != np.bool_:
        raise BadInput(
            f"masks have the shape {found.shape} of {found.dtype}; frames x height x width of "
            "true and false are needed."
        )
    if method == "area":
        areas = found.sum(axis=(1, 2)).astype(np.float64)
        return np.where(areas > 0, areas, np.nan) ** 1.5
    if method != "discs":
        raise BadInput(f'the method of volumes is "{method}"; it is discs or area.')
    return np.array([_discs(mask) for mask in found], np.float64)


def _discs(mask: Masks) -> float:
    import numpy as np

    rows, columns = np.nonzero(_largest(mask))
    if not len(rows):
        return math.nan
    along = _along(rows.astype(np.float64), columns.astype(np.float64))
    low = along.min() - 0.5
    length = along.max() + 0.5 - low
    height = length / DISCS
    # Each pixel is spread over its own width along the axis, so slices need not hold whole pixels.
    edges = low + height * np.arange(DISCS + 1)
    below = np.clip(edges[:, None] - (along - 0.5), 0, 1).sum(axis=1)
    diameters = np.diff(below) / height
    return float(np.pi / 4 * height * np.sum(diameters**2))


def _along(rows: Volumes, columns: Volumes) -> Volumes:
    """Each pixel's place along the long axis: the direction of the largest second moment."""
    import numpy as np

    points = np.stack((rows - rows.mean(), columns - columns.mean()))
    _, axes = np.linalg.eigh(points @ points.T)
    place: Volumes = axes[:, 1] @ points
    return place


def _largest(mask: Masks) -> Masks:
    """A speck far from the ventricle must not lengthen its axis."""
    import numpy as np
    from scipy import ndimage

    parts, count = ndimage.label(mask)
    if count < 2:
        return mask
    sizes = np.bincount(parts.ravel())
    sizes[0] = 0
    return np.asarray(parts == sizes.argmax())


# ---------------------------------------------------------------- files


def read_volumes(path: Path) -> Volumes:
    """Volumes of a csv `frame,volume`: every frame from 0 once, in any order; empty is NaN."""
    import numpy as np

    found: dict[int, float] = {}
    for line, cells in rows_of(path, ("frame", "volume")):
        frame, volume = cells["frame"].strip(), cells["volume"].strip()
        number = whole(frame) if frame.isascii() and frame.isdigit() else None
        if number is None:
            _wrong(path, line, "frame", frame, "it is a whole number from 0")
        if number in found:
            _wrong(path, line, "frame", frame, "it stands in the file twice")
        try:
            value = float(volume) if volume else math.nan
        except ValueError:
            value = -1
        if value < 0 or math.isinf(value) or (math.isnan(value) and volume):
            _wrong(path, line, "volume", volume, "it is a number from 0, or empty")
        found[number] = value
    missing = next((n for n in range(len(found)) if n not in found), None)
    if missing is not None:
        raise BadInput(f"{path.name} has no row of frame {missing}. Give one row per frame.")
    if not found:
        raise BadInput(f"{path} has a header but no rows. Give one row per frame.")
    return np.array([found[n] for n in range(len(found))], np.float64)


def _wrong(path: Path, line: int, column: str, value: str, need: str) -> NoReturn:
    raise BadInput(f'{path.name} row {line}: {column} is "{value[:40]}"; {need}. Fix the row.')
