"""Any folder of clips, videos or DICOM, with a csv that says where the two phases are.

Columns: `clip`, `ed`, `es` (frames from 0); also, where known, `case_id`, `beat`, `patient`,
`view`, `sex`, `age`, `split`, `ef`, `fps`, `frames`, `ed_volume`, `es_volume`, `mask`, `volumes`.
A row is a case, so a clip with several beats has several rows. What the csv does not say of a clip
is looked up in a `manifest.csv` beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from overread.benchmarks.files.tables import columns_of
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.clip_rows import (
    COLUMNS,
    NUMBERS,
    TEXTS,
    Row,
    column_of,
    read_rows,
)
from overread.benchmarks.heartbeat.clips import case_of, probe
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.footage import Footage, Unplayable
from overread.benchmarks.heartbeat.sampling import draw, take
from overread.case import BadInput

__all__ = ["COLUMNS", "find_csv", "has_phases", "load"]


def has_phases(path: Path, names: Mapping[str, str] | None = None) -> bool:
    """Whether a csv's header has what a case needs."""
    try:
        header = columns_of(path)
    except BadInput:
        return False
    return all(column_of(header, name, names or {}) for name in COLUMNS)


def find_csv(folder: Path, names: Mapping[str, str] | None = None) -> Path | None:
    """The one csv of a folder that has the phases; None where there is none."""
    found = [path for path in sorted(folder.glob("*.csv")) if has_phases(path, names)]
    if len(found) > 1:
        listed = ", ".join(path.name for path in found)
        raise BadInput(f"{folder}: {listed} all have columns clip, ed and es. Give one of them.")
    return found[0] if found else None


def load(
    csv: Path,
    edition: Edition,
    *,
    split: str | None,
    videos: int,
    seed: int,
    root: Path | None = None,
    names: Mapping[str, str] | None = None,
) -> tuple[list[HeartbeatCase], list[Left]]:
    """Cases of a csv, and the clips left out. `names` maps our columns to those of the file.

    Clips, masks and volumes stand below `root`, or below the csv's folder. A split is only looked
    for where the csv has such a column.
    """
    home = csv.parent if root is None else root
    rows = read_rows(csv, names or {})
    if split is not None and any(row.text("split") for row in rows):
        chosen = [row for row in rows if row.text("split") == split]
        if not chosen:
            known = ", ".join(sorted({row.text("split") or "none" for row in rows}))
            raise BadInput(f'{csv} has no row of the split "{split}"; its splits are {known}.')
        rows = chosen
    by_id = {row.case_id: row for row in rows}
    opened: dict[str, Footage | str] = {}

    def read(case_id: str) -> HeartbeatCase | Left:
        row = by_id[case_id]
        if row.again:
            return Left(
                case_id,
                f"{row.clip}: the beat of frames {row.ed} and {row.es} stands in row {row.again} "
                "already",
            )
        # A clip of many beats is opened once.
        if row.clip not in opened:
            try:
                opened[row.clip] = probe(home, row.clip, row.frames)
            except Unplayable as why:
                opened[row.clip] = str(why)
        found = opened[row.clip]
        if isinstance(found, str):
            return Left(case_id, f"{row.clip}: {found}")
        return _case(home, row, found)

    if edition.name == "authors":
        return take(list(by_id), read, videos)
    return draw(list(by_id), read, videos, seed)


def _case(home: Path, row: Row, footage: Footage) -> HeartbeatCase | Left:
    facts: dict[str, Any] = {name: row.text(name) for name in TEXTS}
    facts |= {name: row.number(name) for name in NUMBERS}
    large, small = facts["ed_volume"], facts["es_volume"]
    for phase, volume in (("diastole", large), ("systole", small)):
        if volume is not None and math.isnan(volume):
            return Left(row.case_id, f"{row.clip}: the volume at end-{phase} is not a number")
    if large is not None and small is not None and large <= small:
        which = "equal to" if large == small else "below"
        return Left(
            row.case_id,
            f"{row.clip}: the volume at end-diastole, {large:g}, is {which} the one at "
            f"end-systole, {small:g}",
        )
    return case_of(
        home,
        row.clip,
        case_id=row.case_id,
        ed=row.ed,
        es=row.es,
        footage=footage,
        **facts,
    )
