"""EchoNet-Pediatric: per view FileList.csv, VolumeTracings.csv (polygons) and Videos/*.avi."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from overread.benchmarks.files.tables import (
    columns_of,
    filled,
    numbers,
    read_table,
)
from overread.benchmarks.heartbeat.annotation import (
    Traced,
    by_stem,
    groups_of,
    keyed,
    readings,
    stem,
)
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.clips import case_of
from overread.benchmarks.heartbeat.echonet import (
    FILE_LIST,
    TRACINGS,
    VIDEOS,
    check_names,
    in_split,
    unusable,
    usable,
    without_nan,
)
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.sampling import draw, take

__all__ = ["VIEWS", "has_polygons", "load", "read_polygons"]

VIEWS: Final = ("A4C", "PSAX")


def has_polygons(folder: Path) -> bool:
    """Whether a folder's tracings are this set's, not EchoNet-Dynamic's chords."""
    path = folder / TRACINGS
    return path.is_file() and {"X", "Y"} <= set(columns_of(path))


def load(
    folder: Path,
    edition: Edition,
    *,
    split: str | None,
    videos: int,
    seed: int,
    view: str = "A4C",
) -> tuple[list[HeartbeatCase], list[Left]]:
    """Cases of one view, from the whole set's folder or from the view's own.

    The whole set means its apical four-chamber clips, which is what the questions speak of. The
    polygon with the larger area is ED; an area is no volume, so none is given. Splits are ten
    folds, "0" to "9"; EchoNet-Dynamic's names of splits mean nothing here and take all of them.
    """
    inside = "" if (folder / FILE_LIST).is_file() else f"{view}/"
    if not inside:
        view = folder.resolve().name if folder.resolve().name in VIEWS else view
    home = folder / inside
    listed = _listed(home / FILE_LIST)
    traced = read_polygons(home / TRACINGS)
    phases = by_stem(keyed(traced, "areas"))
    names = in_split(listed, None if split in ("TRAIN", "VAL", "TEST") else split, home / FILE_LIST)

    def read(name: str) -> HeartbeatCase | Left:
        found = phases[name]
        if isinstance(found, Left):
            return found
        return case_of(
            folder,
            f"{inside}{VIDEOS}/{name}.avi",
            case_id=name,
            ed=found.ed,
            es=found.es,
            view=view,
            **listed[name],
        )

    askable = usable(names, phases)
    if edition.name == "authors":
        cases, left = take(askable, read, videos)
    else:
        cases, left = draw(askable, read, videos, seed)
    return cases, [*left, *unusable(names, listed, phases)]


def read_polygons(path: Path) -> list[Traced]:
    """Every traced frame with the area of its polygon, sorted by (file, frame).

    Rows whose Frame is not a whole number mark a phase that was not traced; they are passed over.
    """
    import polars as pl

    columns = ("FileName", "X", "Y", "Frame")
    table = read_table(path, columns)
    filled(table, "FileName")
    kept = table.frame["Frame"].str.contains(r"^\d+$").fill_null(value=False)
    points = {}
    for name in ("X", "Y"):
        points[name] = readings(table, name).filter(kept).to_numpy()
    files = table.frame["FileName"].filter(kept).to_list()
    frames = table.frame["Frame"].filter(kept).cast(pl.Int64).to_numpy()
    return [
        Traced(file, frame, _area(points["X"][rows], points["Y"][rows]), int(rows[0]))
        for (file, frame), rows in groups_of(files, frames)
    ]


def _area(x: Any, y: Any) -> float:
    """The shoelace formula, about the first point so that nothing large cancels."""
    import numpy as np

    x, y = x - x[0], y - y[0]
    return abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))) / 2


def _listed(path: Path) -> dict[str, dict[str, Any]]:
    table = read_table(path, ("FileName", "EF", "Sex", "Age", "Split"))
    table = without_nan(table, ("EF", "Age"))
    check_names(table)
    filled(table, "Split")
    ef, age = (numbers(table, name, "it is a number", least=0) for name in ("EF", "Age"))
    names, sexes, splits = (table.frame[name] for name in ("FileName", "Sex", "Split"))
    return {
        stem(name): {"ef": e, "sex": s, "age": a, "split": fold}
        for name, e, s, a, fold in zip(names, ef, sexes, age, splits, strict=True)
    }
