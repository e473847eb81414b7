"""Any folder of clips, videos or DICOM, with a csv that says where the two phases are.

Columns: `clip`, `ed`, `es` (frames from 0); also, where known, `case_id`, `beat`, `patient`,
`view`, `sex`, `age`, `split`, `ef`, `fps`, `frames`, `ed_volume`, `es_volume`, `mask`, `volumes`.
A row is a case, so a clip with several beats has several rows. What the csv does not say of a clip
is looked up in a `manifest.csv` beside it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.files.tables import columns_of
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.clips import case_of, probe
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.footage import Footage, Unplayable
from overread.benchmarks.heartbeat.sampling import draw, take
from overread.case import BadInput

__all__ = ["COLUMNS", "find_csv", "has_phases", "load"]

COLUMNS: Final = ("clip", "ed", "es")
MANIFEST: Final = "manifest.csv"
# Other names a column may have, in order of preference.
_ALSO: Final = {
    "clip": ("file", "video"),
    "ed": ("ed_frame",),
    "es": ("es_frame",),
    "fps": ("playback_fps",),
    "frames": ("n_frames",),
}
_TEXTS: Final = ("patient", "view", "sex", "split", "mask", "volumes")
_NUMBERS: Final = ("age", "ef", "fps", "ed_volume", "es_volume")
_FARTHEST: Final = 1_000_000


def has_phases(path: Path, names: Mapping[str, str] | None = None) -> bool:
    """Whether a csv's header has what a case needs."""
    try:
        header = columns_of(path)
    except BadInput:
        return False
    return all(_column(header, name, names or {}) for name in COLUMNS)


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
    rows = _rows(csv, names or {})
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
        # A clip of many beats is opened once.
        if row.clip not in opened:
            try:
                opened[row.clip] = probe(home / row.clip, row.frames)
            except Unplayable as why:
                opened[row.clip] = str(why)
        found = opened[row.clip]
        if isinstance(found, str):
            return Left(case_id, f"{row.clip}: {found}")
        return _case(home, row, found)

    if edition.name == "authors":
        return take(list(by_id), read, videos)
    return draw(list(by_id), read, videos, seed)


def _case(home: Path, row: _Row, footage: Footage) -> HeartbeatCase | Left:
    facts: dict[str, Any] = {name: row.text(name) for name in _TEXTS}
    facts |= {name: row.number(name) for name in _NUMBERS}
    large, small = facts["ed_volume"], facts["es_volume"]
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


# ---------------------------------------------------------------- rows


class _Row(msgspec.Struct, kw_only=True):
    """A row under our names; every complaint names its file and line."""

    path: Path
    line: int
    cells: dict[str, str]
    # What the manifest beside says of the clip: its line, and its cells under our names.
    also: tuple[int, dict[str, str]] = (0, {})
    case_id: str = ""
    clip: str = ""
    ed: int = 0
    es: int = 0
    frames: int | None = None

    def text(self, name: str) -> str | None:
        return self.cells.get(name) or self.also[1].get(name) or None

    def number(self, name: str) -> float | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or (name != "ef" and value < 0):
            self.wrong(name, "it is a number from 0, or empty")
        return value

    def frame(self, name: str) -> int:
        value = self.number(name)
        if value is None or value != int(value) or not value < _FARTHEST:
            self.wrong(name, "a frame is a whole number from 0")
        return int(value)

    def wrong(self, name: str, need: str) -> NoReturn:
        own = bool(self.cells.get(name)) or not self.also[1].get(name)
        file, line = (self.path.name, self.line) if own else (MANIFEST, self.also[0])
        shown = " ".join((self.text(name) or "").split())[:40]
        raise BadInput(f'{file} row {line}: {name} is "{shown}"; {need}. Fix the row.')


def _rows(csv: Path, names: Mapping[str, str]) -> list[_Row]:
    header = columns_of(csv)
    _check(csv, header, names)
    beside = csv.with_name(MANIFEST)
    also = _manifest(beside) if beside.is_file() and beside != csv else {}
    rows = []
    for line, cells in _renamed(csv, header, names):
        row = _Row(path=csv, line=line, cells=cells)
        row.clip = cells.get("clip") or row.wrong("clip", "every row names a clip")
        row.also = also.get(row.clip, (0, {}))
        row.ed, row.es = row.frame("ed"), row.frame("es")
        row.frames = row.frame("frames") if row.text("frames") else None
        for name in _NUMBERS:
            row.number(name)
        rows.append(row)
    if not rows:
        raise BadInput(f"{csv} has a header but no rows. Give a csv with a row for each beat.")
    _name(rows)
    return rows


def _name(rows: Sequence[_Row]) -> None:
    """Ids: the csv's own, else the clip's name, with the beat where a clip has several rows."""
    often = Counter(row.clip for row in rows)
    seen: Counter[str] = Counter()
    taken: dict[str, int] = {}
    for row in rows:
        stem = str(Path(row.clip).with_suffix(""))
        beat = row.cells.get("beat") or str(seen[row.clip])
        seen[row.clip] += 1
        row.case_id = row.cells.get("case_id") or (
            stem if often[row.clip] == 1 else f"{stem}#{beat}"
        )
        first = taken.setdefault(row.case_id, row.line)
        if first != row.line:
            raise BadInput(
                f'{row.path.name} row {row.line}: the case "{row.case_id}" stands in row {first} '
                "already. Give each case its own case_id, or each beat its number."
            )


def _manifest(path: Path) -> dict[str, tuple[int, dict[str, str]]]:
    header = columns_of(path)
    if not _column(header, "clip", {}):
        return {}
    return {
        cells["clip"]: (line, cells) for line, cells in _renamed(path, header, {}) if cells["clip"]
    }


def _renamed(
    path: Path, header: Sequence[str], names: Mapping[str, str]
) -> list[tuple[int, dict[str, str]]]:
    known = (*COLUMNS, "case_id", "beat", "frames", *_TEXTS, *_NUMBERS)
    columns = {name: column for name in known if (column := _column(header, name, names))}
    return [
        (line, {name: cells[column].strip() for name, column in columns.items()})
        for line, cells in rows_of(path, ())
    ]


def _column(header: Sequence[str], name: str, names: Mapping[str, str]) -> str | None:
    """The column of the file that holds what we call `name`."""
    choices = (names[name],) if name in names else (name, *_ALSO.get(name, ()))
    return next((choice for choice in choices if choice in header), None)


def _check(csv: Path, header: Sequence[str], names: Mapping[str, str]) -> None:
    missing = [names.get(name, name) for name in COLUMNS if not _column(header, name, names)]
    missing += [names[n] for n in names if n not in COLUMNS and names[n] not in header]
    if missing:
        raise BadInput(
            f"{csv} has no column {', '.join(missing)}; a csv of clips has clip, ed and es, with "
            "frames counted from 0."
        )
