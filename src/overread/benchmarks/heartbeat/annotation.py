"""ED and ES from EchoNet's VolumeTracings (HEARTBEAT 1).

A traced frame has one row for the long axis, the first in the file, and one for each chord.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.tables import Table, filled, numbers, read_table, refuse_first

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

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


# ---------------------------------------------------------------- which frame is which


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
