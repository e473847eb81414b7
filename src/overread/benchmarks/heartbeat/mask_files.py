"""Whether masks go with a clip: as many frames, as large. Found before anyone is asked.

Only headers are read, so that opening a set stays quick.
"""

from __future__ import annotations

from pathlib import Path

from overread.benchmarks.heartbeat.dicom_clips import is_dicom, probe_dicom
from overread.benchmarks.heartbeat.footage import Footage, Unplayable, bare, probe_video
from overread.case import BadInput, Source

__all__ = ["check_masks"]


def check_masks(root: Path, mask: str, clip: Footage) -> None:
    """Refuse masks of another number of frames, or of another size, than the clip's.

    EchoNet's output shows the clip beside the clip with its mask, so it is twice as wide, and
    twice as high where the plot below is kept.
    """
    from overread.imaging import mask_shape

    width, height = clip.width, clip.height
    sizes = {(width, height)}
    try:
        shape = mask_shape(Source(str(root), mask))
        if shape is None:
            path = root / mask
            video = probe_dicom(path) if is_dicom(path) else probe_video(path)
            shape = video.frames, video.width, video.height
            sizes |= {(2 * width, height), (2 * width, 2 * height)}
    except BadInput as error:
        raise Unplayable(f"its masks, {mask}: {bare(error, mask)}") from None
    except Unplayable as why:
        raise Unplayable(f"its masks, {mask}: {why}") from None
    if shape[0] != clip.frames:
        raise Unplayable(f"its masks, {mask}, are of {shape[0]} frames and it has {clip.frames}")
    if shape[1:] not in sizes:
        raise Unplayable(
            f"its masks, {mask}, are {shape[1]} x {shape[2]} and its frames {width} x {height}"
        )
