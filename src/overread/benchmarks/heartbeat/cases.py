"""One clip with its two annotated frames, whatever dataset it comes from.

A clip's file and what a list says of it become a case, or a reason why not; traced frames say which
is end-diastole and which end-systole (a traced frame has one row for the long axis, the first in
the file, and one for each chord); which clips are asked about is a seeded sample that knows no
order, or the first of a list.
"""

from __future__ import annotations

import math
import os.path
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.draws import lot
from overread.benchmarks.files.tables import Table, filled, numbers, read_table, refuse_first
from overread.benchmarks.heartbeat.edition import Edition, Options
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

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

FACETS: Final = ("view", "sex", "split")
"""What cards are filtered by."""


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
    **facts: Any,
) -> HeartbeatCase | Left:
    """The case of a clip below `root`, with the frames its file really has.

    `footage` is given where the file was opened already. A list that states another number of
    frames than there are is not believed, but a phase beyond the last frame has no picture.
    """
    try:
        found = footage or probe_clip(root, clip, stated)
        _check_phases(ed, es, found.frames)
        if (mask := facts.get("mask")) is not None:
            _check_below_root(root, mask, "masks")
            check_masks(root, mask, found)
        if (volumes := facts.get("volumes")) is not None:
            _check_below_root(root, volumes, "volumes")
    except Unplayable as why:
        return Left(case_id, f"{clip}: {why}")
    facts |= {"width": found.width, "height": found.height}
    if facts.get("fps") is None:
        facts["fps"] = found.fps
    return HeartbeatCase(case_id=case_id, clip=clip, frames=found.frames, ed=ed, es=es, **facts)


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


# ---------------------- ED and ES from EchoNet's VolumeTracings (HEARTBEAT 1): which frame is which

_FARTHEST: Final = 1 << 53  # beyond it a float is no exact number
TRACING_COLUMNS: Final = ("FileName", "X1", "Y1", "X2", "Y2", "Frame")


class Traced(msgspec.Struct, frozen=True):
    """One traced frame. `place` is the row of its first appearance, counted from 0."""

    file: str
    frame: int
    volume: float
    place: int


class Phases(msgspec.Struct, frozen=True):
    """The two phases of a clip: absolute frames, and what decided between them."""

    ed: int
    es: int
    ed_volume: float
    es_volume: float


def stem(name: str) -> str:
    """A clip's name as FileList has it; VolumeTracings and the Pediatric files add `.avi`."""
    return name.removesuffix(".avi")


def read_tracings(path: Path) -> list[Traced]:
    """Every traced frame of a VolumeTracings.csv with its volume, sorted by (file, frame).

    Its volume is by discs: sum of pi (chord/2)^2 h, pixels cubed, where h is the long axis over the
    number of chords. A frame with no chord has volume 0. A frame below 0 is for its clip to answer
    for.
    """
    import numpy as np
    import polars as pl

    table = read_table(path, TRACING_COLUMNS)
    filled(table, "FileName", "Frame")
    x1, y1, x2, y2 = (readings(table, name).to_numpy() for name in TRACING_COLUMNS[1:5])
    need = "a frame is a whole number from 0"
    frames = numbers(table, "Frame", need)
    refuse_first(table, (frames != frames.floor()) | (frames.abs() > _FARTHEST), "Frame", need)
    whole_frames = frames.cast(pl.Int64).to_numpy()
    lengths = np.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2)
    found = []
    for (file, frame), rows in groups_of(table.frame["FileName"].to_list(), whole_frames):
        radii = lengths[rows[1:]] / 2
        height = lengths[rows[0]] / max(1, len(radii))
        # In the order of the authors' multiplication, which is theirs to the last bit.
        volume = float(np.sum(np.pi * radii * radii * height))
        found.append(Traced(file, frame, volume, int(rows[0])))
    return found


def readings(table: Table, column: str) -> pl.Series:
    """A column of measured numbers; NaN where a cell is empty, "nan" or "inf".

    Those make one clip's tracing useless and not the others'; a word is a damaged file.
    """
    import polars as pl

    words = table.frame[column]
    found = words.cast(pl.Float64, strict=False)
    refuse_first(table, words.is_not_null() & found.is_null(), column, "it is a number")
    return found.replace([math.inf, -math.inf], math.nan).fill_null(math.nan)


def groups_of(
    files: Sequence[str], frames: npt.NDArray[np.int64]
) -> Iterable[tuple[tuple[str, int], npt.NDArray[np.int64]]]:
    """The rows of each (file, frame), both in the order of the csv's groupby: sorted and stable."""
    import numpy as np
    import polars as pl

    order = (
        pl.DataFrame({"file": files, "frame": frames})
        .with_row_index("row")
        .sort("file", "frame", maintain_order=True)
    )
    group = order.select(pl.struct("file", "frame").rle_id().cast(pl.Int64)).to_series()
    starts = np.flatnonzero(np.diff(group.to_numpy(), prepend=-1))
    rows = np.split(order["row"].to_numpy().astype(np.int64), starts[1:])
    keys = order[starts.tolist()].select("file", "frame").rows()
    return zip(keys, rows, strict=True)


def keyed(traced: Iterable[Traced], what: str = "volumes") -> dict[str, Phases | Left]:
    """Phases by file, each volume with its own frame: the larger is ED.

    Exactly two traced frames with distinct volumes are needed; else the reason stands instead.
    `what` names what was measured, where that is not a volume.
    """
    return {
        file: two_frames(file, list(rows), what)
        for file, rows in groupby(traced, attrgetter("file"))
    }


def two_frames(file: str, traced: Sequence[Traced], what: str = "volumes") -> Phases | Left:
    """ED and ES of one clip, or why it has none."""
    name = stem(file)
    if len(traced) != 2:
        listed = ", ".join(str(each.frame) for each in traced[:6])
        frames = "frame is" if len(traced) == 1 else "frames are"
        return Left(name, f"{len(traced)} {frames} traced ({listed}); two are needed")
    for each in traced:
        if math.isnan(each.volume):
            return without_number(file, each.frame)
    large, small = sorted(traced, key=lambda each: -each.volume)
    if math.isclose(large.volume, small.volume, rel_tol=1e-9):
        return Left(
            name,
            f"its traced frames {traced[0].frame} and {traced[1].frame} have equal {what}: "
            "which is end-diastole cannot be told",
        )
    return Phases(large.frame, small.frame, large.volume, small.volume)


def by_stem(phases: Mapping[str, Phases | Left]) -> dict[str, Phases | Left]:
    """Phases by name without `.avi`; a clip traced under both names has two tracings, not one."""
    found: dict[str, Phases | Left] = {}
    for file, one in phases.items():
        name = stem(file)
        both = f"it is traced under two names, {name} and {name}.avi"
        found[name] = Left(name, both) if name in found else one
    return found


def without_number(file: str, frame: int) -> Left:
    return Left(stem(file), f"the tracing of its frame {frame} lacks a number")


# ---------------------------------------------------------------- which clips are asked about

# A clip read: the case, or why there is none.
ReadCase = Callable[[str], HeartbeatCase | Left]
Drawn = tuple[list[HeartbeatCase], list[Left]]
"""The cases that are asked about, and the clips left out."""


def draw_cases(names: Sequence[str], read: ReadCase, videos: int, seed: int | None) -> Drawn:
    """A sample of `videos` names, in their own order; a clip that cannot be read is replaced.

    Each name's lot depends on the name and the seed, so the sample does not change with the order
    of the list, and a longer list keeps most of it. Clips never drawn are never opened. Without a
    seed they are the first distinct names, as the authors take them; none is replaced.
    """
    place = {name: number for number, name in enumerate(dict.fromkeys(names))}
    tried = list(place)[:videos]
    if seed is not None:
        tried = sorted(place, key=lambda name: (lot("sample", seed, name), name))
    cases: dict[str, HeartbeatCase] = {}
    left: dict[str, Left] = {}
    for name in tried:
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


def sampled(names: Sequence[str], read: ReadCase, edition: Edition, options: Options) -> Drawn:
    """The clips that an edition asks about: a sample, or the first."""
    seed = None if edition.name == "authors" else edition.seed
    return draw_cases(names, read, options.videos, seed)
