"""One clip with its two annotated frames, whatever dataset it comes from.

A clip's file and what a list says of it become a case, or a reason why not; which clips are asked
about is a seeded sample that knows no order, or the first of a list.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.draws import lot
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.tables import Int32
from overread.case import BadInput, Source
from overread.imaging import (
    Footage,
    Unplayable,
    bare_message,
    check_masks,
    is_dicom,
    probe_dicom,
    probe_video,
)


class PhasedClip(msgspec.Struct, frozen=True, kw_only=True):
    """A clip of a beating heart. Frames are absolute and start at 0; `ed` has the larger volume."""

    case_id: str
    # The clip's file below the data root; several frames of one file (DICOM, NIfTI) count as one.
    clip: str
    frames: Int32
    ed: Int32
    es: Int32
    fps: float | None = None
    width: Int32 | None = None
    height: Int32 | None = None

    @property
    def length(self) -> int:
        """l: frames between the two phases."""
        return abs(self.ed - self.es)


class HeartbeatCase(PhasedClip, frozen=True, kw_only=True):
    """The clip, whose heart it is, and what the dataset says or lets work out of its volumes."""

    patient: str | None = None
    view: str | None = None
    sex: str | None = None
    age: float | None = None
    split: str | None = None
    # Per cent, as the dataset states it.
    ef: float | None = None
    # The volumes of the traced frames, in the dataset's or the tracing's own unit.
    ed_volume: float | None = None
    es_volume: float | None = None
    # Masks of the ventricle, one per frame: npz, a folder of PNG, a video of masks, or EchoNet's
    # side-by-side output; below the data root.
    mask: str | None = None
    # A csv `frame,volume` (any unit), one row per frame, below the data root.
    volumes: str | None = None


class CaseRow(HeartbeatCase, frozen=True, kw_only=True):
    """A row of the cases table: the case, and the volumes of its frames.

    One volume per frame of the clip, None where it is not known; how they were got, or why not.
    """

    frame_volumes: Sequence[float | None] | None = None
    volume_method: str | None = None
    volume_fault: str | None = None
    # The masks' pixels in every frame shown, None elsewhere.
    frame_areas: Sequence[Int32 | None] | None = None
    # Frames of other beats' phases among those shown; None where nothing tells.
    other_ed: Sequence[Int32] | None = None
    other_es: Sequence[Int32] | None = None


def row_of(case: HeartbeatCase, **volumes: Any) -> CaseRow:
    """The row of a case, with what is known of its volumes."""
    return CaseRow(**msgspec.structs.asdict(case), **volumes)


class Window(msgspec.Struct, frozen=True):
    """Frames start .. start + count - 1 of a clip; `ed` and `es` are local, from 0.

    `count` frames are really there. `stated` is the number the record holds (idx_high + 1 in the
    authors' window, which may overrun the clip; elsewhere it equals `count`).
    """

    start: int
    count: int
    stated: int
    ed: int
    es: int

    @property
    def frames(self) -> tuple[int, ...]:
        return tuple(range(self.start, self.start + self.count))


# ---------------------------------------------------------------- from a file to a case


def probe_clip(root: Path, clip: str, stated: int | None = None) -> Footage:
    """Frames, size and rate of a video or a DICOM clip below `root`; raises `Unplayable`."""
    _check_below_root(root, clip)
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
        found = footage or probe_clip(root, clip, stated)
        _check_phases(ed, es, found.frames)
        if mask is not None:
            _check_below_root(root, mask, "masks")
            check_masks(root, mask, found)
        if volumes is not None:
            _check_below_root(root, volumes, "volumes")
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


def _check_below_root(root: Path, name: str, what: str = "") -> None:
    """A name must lie below the root, for only from there files are shown.

    `what` a clip has besides its frames may be a folder.
    """
    from overread.imaging import locate

    if not os.path.exists(root / name):
        raise Unplayable(f"its {what}, {name}, are not there" if what else "the file is not there")
    try:
        locate(Source(str(root), name), folder=bool(what))
    except BadInput as error:
        raise Unplayable(bare_message(error)) from None


# ---------------------------------------------------------------- which clips are asked about

# A clip read: the case, or why there is none.
ReadCase = Callable[[str], HeartbeatCase | Left]


def draw_cases(
    names: Sequence[str], read: ReadCase, videos: int, seed: int
) -> tuple[list[HeartbeatCase], list[Left]]:
    """A sample of `videos` names, in their own order; a clip that cannot be read is replaced.

    Each name's lot depends on the name and the seed, so the sample does not change with the order
    of the list, and a longer list keeps most of it. Clips never drawn are never opened.
    """
    place = {name: number for number, name in enumerate(names)}
    cases: dict[str, HeartbeatCase] = {}
    left: dict[str, Left] = {}
    for name in sorted(place, key=lambda name: (lot("sample", seed, name), name)):
        if len(cases) == videos:
            break
        found = read(name)
        if isinstance(found, Left):
            left[name] = found
        else:
            cases[name] = found
    return (
        [cases[name] for name in sorted(cases, key=place.__getitem__)],
        [left[name] for name in sorted(left, key=place.__getitem__)],
    )


def take_cases(
    names: Sequence[str], read: ReadCase, videos: int
) -> tuple[list[HeartbeatCase], list[Left]]:
    """The first `videos` distinct names, as the authors take them; none is replaced."""
    cases: list[HeartbeatCase] = []
    left: list[Left] = []
    for name in list(dict.fromkeys(names))[:videos]:
        found = read(name)
        if isinstance(found, Left):
            left.append(found)
        else:
            cases.append(found)
    return cases, left


def sampled(
    names: Sequence[str], read: ReadCase, edition: Edition, videos: int, seed: int
) -> tuple[list[HeartbeatCase], list[Left]]:
    """The clips that an edition asks about: a sample, or the first."""
    if edition.name == "authors":
        return take_cases(names, read, videos)
    return draw_cases(names, read, videos, seed)
