"""The ventricle's volume and its mask's area in every frame shown, kept with the case.

Masks are read when the tables are written, so that measuring again needs no data set. Where they
cannot be read the case keeps the reason: EF has no such video, and says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from overread.benchmarks.heartbeat.beats import neighbours
from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.volumes import Method, read_volumes, volumes_of
from overread.benchmarks.heartbeat.windows import Window
from overread.case import BadInput, Source

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Volumes", "areas_in", "kept_volumes", "volumes_in"]


class Volumes(NamedTuple):
    """One volume per frame of the clip, None where it is not known; how they were got, or not."""

    frames: list[float | None] | None = None
    method: str | None = None
    fault: str | None = None
    # The masks' pixels in every frame shown, None elsewhere.
    areas: list[int | None] | None = None
    # Frames of other beats' phases among those shown; None where nothing tells.
    other_ed: list[int] | None = None
    other_es: list[int] | None = None


def kept_volumes(case: HeartbeatCase, window: Window, root: str, method: Method) -> Volumes:
    """A csv of volumes as it stands; else those of the masks of the frames in the window."""
    try:
        measured = _measured(case, window, root, method) if case.mask is not None else Volumes()
        return _listed(case, window, root, measured) if case.volumes is not None else measured
    except BadInput as error:
        return Volumes(fault=str(error))


def _listed(case: HeartbeatCase, window: Window, root: str, measured: Volumes) -> Volumes:
    assert case.volumes is not None
    found = read_volumes(Path(root) / case.volumes)
    if len(found) != case.frames:
        raise BadInput(
            f"{case.volumes} has {len(found)} rows; the clip has {case.frames} frames. "
            "Give one row per frame."
        )
    listed = measured._replace(frames=[_plain(volume) for volume in found], method="csv")
    return _with_others(listed, found, case, window)


def _measured(case: HeartbeatCase, window: Window, root: str, method: Method) -> Volumes:
    import numpy as np

    from overread.imaging import Films, masks_of

    assert case.mask is not None
    shown = range(window.start, min(window.start + window.count, case.frames))
    # Whether a curve turns at the window's edge is seen beyond it.
    seen = range(max(0, shown.start - window.count), min(shown.stop + window.count, case.frames))
    size = (case.width or 0, case.height or 0)
    masks = masks_of(Source(root, case.mask), list(seen), size, Films(0))
    stacked = np.stack(masks)
    curve = np.full(case.frames, np.nan)
    curve[seen.start : seen.stop] = volumes_of(stacked, method)
    volumes: list[float | None] = [None] * case.frames
    areas: list[int | None] = [None] * case.frames
    for frame in shown:
        volumes[frame] = _plain(curve[frame])
        areas[frame] = int(stacked[frame - seen.start].sum())
    return _with_others(Volumes(volumes, method, areas=areas), curve, case, window)


def _with_others(kept: Volumes, curve: Any, case: HeartbeatCase, window: Window) -> Volumes:
    """With the phases of neighbouring beats that are in the window."""
    found = neighbours(curve, case.ed, case.es)
    if found is None:
        return kept._replace(other_ed=None, other_es=None)
    end = window.start + window.count
    ed, es = ([frame for frame in some if window.start <= frame < end] for some in found)
    return kept._replace(other_ed=ed, other_es=es)


def _plain(volume: Any) -> float | None:
    return None if volume != volume else float(volume)


def volumes_in(cases: pl.DataFrame) -> tuple[dict[str, Any], str]:
    """The kept volumes by case, NaN where not known, and one line on where they come from."""
    import numpy as np

    found: dict[str, Any] = {}
    methods: dict[str, int] = {}
    faults: list[str] = []
    columns = ("case", "frame_volumes", "volume_method", "volume_fault")
    for case, frames, method, fault in cases.select(*columns).iter_rows():
        if frames is not None:
            found[case] = np.array([np.nan if v is None else v for v in frames], float)
            methods[method] = methods.get(method, 0) + 1
        elif fault:
            faults.append(fault)
    parts = [_HOW.get(method, method) for method in sorted(methods)]
    if faults:
        parts.append(f"{len(faults)} videos without: {faults[0].rstrip('.')}")
    return found, ", ".join(parts)


def areas_in(cases: pl.DataFrame) -> dict[str, Any]:
    """The kept areas by case, NaN where not known."""
    import numpy as np

    kept = cases.select("case", "frame_areas").drop_nulls().iter_rows()
    return {case: np.array([np.nan if a is None else a for a in areas]) for case, areas in kept}


_HOW = {
    "csv": "as given",
    "discs": "20 discs along the mask's long axis",
    "area": "area of the mask to the power 1.5",
}
