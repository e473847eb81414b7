"""Rows of a csv of clips under our names; every complaint names its file and line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.files.tables import columns_of
from overread.case import BadInput

__all__ = ["COLUMNS", "NUMBERS", "TEXTS", "Row", "column_of", "read_rows"]

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
TEXTS: Final = ("patient", "view", "sex", "split", "mask", "volumes")
NUMBERS: Final = ("age", "ef", "fps", "ed_volume", "es_volume")
_VOLUMES: Final = ("ed_volume", "es_volume")
_FARTHEST: Final = 1_000_000


class Row(msgspec.Struct, kw_only=True):
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
    # The row in which the same beat stands, if it was there before.
    again: int = 0

    def text(self, name: str) -> str | None:
        return self.cells.get(name) or self.also[1].get(name) or None

    def number(self, name: str) -> float | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.inf
        if math.isinf(value) or (value < 0 and name in NUMBERS and name != "ef"):
            self.wrong(name, "it is a number from 0, or empty")
        if math.isnan(value) and name not in _VOLUMES:
            return None  # how tables say that nothing is known
        return value

    def frame(self, name: str) -> int:
        """A whole number; one below 0 is for its own case to answer for."""
        value = self.number(name)
        if value is None or value != int(value) or not abs(value) < _FARTHEST:
            self.wrong(name, "a frame is a whole number from 0")
        return int(value)

    def wrong(self, name: str, need: str) -> NoReturn:
        own = bool(self.cells.get(name)) or not self.also[1].get(name)
        file, line = (self.path.name, self.line) if own else (MANIFEST, self.also[0])
        shown = " ".join((self.text(name) or "").split())[:40]
        raise BadInput(f'{file} row {line}: {name} is "{shown}"; {need}. Fix the row.')


def read_rows(csv: Path, names: Mapping[str, str]) -> list[Row]:
    header = columns_of(csv)
    _check(csv, header, names)
    beside = csv.with_name(MANIFEST)
    also = _manifest(beside) if beside.is_file() and beside != csv else {}
    rows: list[Row] = []
    beats: dict[tuple[str, int, int], int] = {}
    for line, cells in _renamed(csv, header, names):
        row = Row(path=csv, line=line, cells=cells)
        row.clip = cells.get("clip") or row.wrong("clip", "every row names a clip")
        row.also = also.get(row.clip, (0, {}))
        row.ed, row.es = row.frame("ed"), row.frame("es")
        row.frames = row.frame("frames") if row.number("frames") is not None else None
        first = beats.setdefault((row.clip, row.ed, row.es), line)
        row.again = first if first != line else 0
        for name in NUMBERS:
            row.number(name)
        rows.append(row)
    if not rows:
        raise BadInput(f"{csv} has a header but no rows. Give a csv with a row for each beat.")
    _name(rows)
    return rows


def _name(rows: Sequence[Row]) -> None:
    """Ids: the csv's own, else the clip's name, with the beat where a clip has several rows."""
    often = Counter(row.clip for row in rows if not row.again)
    seen: Counter[str] = Counter()
    taken: dict[str, int] = {}
    for row in rows:
        stem = str(Path(row.clip).with_suffix(""))
        beat = row.cells.get("beat") or str(seen[row.clip])
        seen[row.clip] += not row.again
        row.case_id = row.cells.get("case_id") or (
            stem if often[row.clip] <= 1 else f"{stem}#{beat}"
        )
        if row.again:  # it is left out, under a name of its own
            row.case_id += f" (row {row.line})"
        first = taken.setdefault(row.case_id, row.line)
        if first != row.line:
            raise BadInput(
                f'{row.path.name} row {row.line}: the case "{row.case_id}" stands in row {first} '
                "already. Give each case its own case_id, or each beat its number."
            )


def _manifest(path: Path) -> dict[str, tuple[int, dict[str, str]]]:
    header = columns_of(path)
    if not column_of(header, "clip", {}):
        return {}
    return {
        cells["clip"]: (line, cells) for line, cells in _renamed(path, header, {}) if cells["clip"]
    }


def _renamed(
    path: Path, header: Sequence[str], names: Mapping[str, str]
) -> list[tuple[int, dict[str, str]]]:
    known = (*COLUMNS, "case_id", "beat", "frames", *TEXTS, *NUMBERS)
    columns = {name: column for name in known if (column := column_of(header, name, names))}
    return [
        (line, {name: cells[column].strip() for name, column in columns.items()})
        for line, cells in rows_of(path, ())
    ]


def column_of(header: Sequence[str], name: str, names: Mapping[str, str]) -> str | None:
    """The column of the file that holds what we call `name`."""
    choices = (names[name],) if name in names else (name, *_ALSO.get(name, ()))
    return next((choice for choice in choices if choice in header), None)


def _check(csv: Path, header: Sequence[str], names: Mapping[str, str]) -> None:
    missing = [names.get(name, name) for name in COLUMNS if not column_of(header, name, names)]
    missing += [names[n] for n in names if n not in COLUMNS and names[n] not in header]
    if missing:
        raise BadInput(
            f"{csv} has no column {', '.join(missing)}; a csv of clips has clip, ed and es, with "
            "frames counted from 0."
        )
