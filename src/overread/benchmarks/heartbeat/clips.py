"""One clip's file and what a list says of it, made a case or a reason why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.dicom_clips import is_dicom, probe_dicom
from overread.benchmarks.heartbeat.footage import Footage, Unplayable, probe_video

__all__ = ["case_of", "probe"]


def probe(path: Path, stated: int | None = None) -> Footage:
    """A video's or a DICOM clip's frames, size and rate; raises `Unplayable`."""
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
        found = footage or probe(root / clip, stated)
    except Unplayable as why:
        return Left(case_id, f"{clip}: {why}")
    if not found.frames:
        return Left(case_id, f"{clip}: the clip has no frames")
    for phase, frame in (("end-diastole", ed), ("end-systole", es)):
        if not 0 <= frame < found.frames:
            return Left(
                case_id,
                f"{clip}: {phase} is frame {frame}, beyond the end: the clip has {found.frames} "
                f"frames, 0 to {found.frames - 1}",
            )
    if ed == es:
        return Left(case_id, f"{clip}: end-diastole and end-systole are both frame {ed}")
    for name in (mask, volumes):
        if name is not None and not (root / name).exists():
            return Left(case_id, f"{clip}: its {name} is not there")
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
