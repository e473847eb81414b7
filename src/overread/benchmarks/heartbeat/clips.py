"""One clip's file and what a list says of it, made a case or a reason why not."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import Any

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.dicom_clips import is_dicom, probe_dicom
from overread.benchmarks.heartbeat.footage import Footage, Unplayable, bare, probe_video
from overread.benchmarks.heartbeat.mask_files import check_masks
from overread.case import BadInput, Source

__all__ = ["case_of", "probe"]


def probe(root: Path, clip: str, stated: int | None = None) -> Footage:
    """Frames, size and rate of a video or a DICOM clip below `root`; raises `Unplayable`."""
    _reach(root, clip)
    path = root / clip
    return probe_dicom(path) if is_dicom(path) else probe_video(path, stated)


def case_of(
    root: Path,
    clip: str,
    *,
    case_id: str,
    ed: int,
    es: int,
    stated: int | None = None,
    footage: Footage | None = None,
    fps: float | None = None,
    mask: str | None = None,
    volumes: str | None = None,
    **facts: Any,
) -> HeartbeatCase | Left:
    """The case of a clip below `root`, with the frames its file really has.

    `footage` is given where the file was opened already. A list that states another number of
    frames than there are is not believed, but a phase beyond the last frame has no picture.
    """
    try:
        found = footage or probe(root, clip, stated)
        _check_phases(ed, es, found.frames)
        if mask is not None:
            _reach(root, mask, "masks")
            check_masks(root, mask, found)
        if volumes is not None:
            _reach(root, volumes, "volumes")
    except Unplayable as why:
        return Left(case_id, f"{clip}: {why}")
    return HeartbeatCase(
        case_id=case_id,
        clip=clip,
        frames=found.frames,
        ed=ed,
        es=es,
        fps=found.fps if fps is None else fps,
        width=found.width,
        height=found.height,
        mask=mask,
        volumes=volumes,
        **facts,
    )


def _check_phases(ed: int, es: int, frames: int) -> None:
    if not frames:
        raise Unplayable("the clip has no frames")
    if frames == 1:
        raise Unplayable("it is one picture; a clip has at least two frames")
    for phase, frame in (("end-diastole", ed), ("end-systole", es)):
        if frame < 0:
            raise Unplayable(f"{phase} is frame {frame}; frames are counted from 0")
        if frame >= frames:
            raise Unplayable(
                f"{phase} is frame {frame}, beyond the end: the clip has {frames} frames, 0 to "
                f"{frames - 1}"
            )
    if ed == es:
        raise Unplayable(f"end-diastole and end-systole are both frame {ed}")


def _reach(root: Path, name: str, what: str = "") -> None:
    """A name must lie below the root, for only from there files are shown.

    `what` a clip has besides its frames may be a folder.
    """
    from overread.imaging import locate

    if not os.path.exists(root / name):
        raise Unplayable(f"its {what}, {name}, are not there" if what else "the file is not there")
    try:
        locate(Source(str(root), name), folder=bool(what))
    except BadInput as error:
        raise Unplayable(bare(error)) from None
