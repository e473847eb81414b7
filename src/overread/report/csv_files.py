"""Tables, the numbers behind figures, and every measure, as csv files that no spreadsheet runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.case import Figure, Measure, Table
from overread.judging.sheet import guarded
from overread.report.exports import Exported, figures_of, tables_of
from overread.report.reported import Reported

MEASURES: Final = "measures.csv"
_SIGNATURE: Final = "signature"
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_PICTURE: Final = "data:image/"


def write_csv_files(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """One file for each table and each figure's numbers, and `measures.csv` with every record.

    The last column of each is the signature: no number without its edition.
    """
    written = [_measures(folder, runs)]
    for stem, table in tables_of(runs):
        written.append(_table(folder, f"{stem}.csv", table))
    for stem, figure in figures_of(runs):
        written.append(_figure(folder, f"{stem}.csv", figure))
    return written


def _measures(folder: Path, runs: Sequence[Reported]) -> Exported:
    """Records of all runs, flat: one column for each group key, empty where it has none."""
    keys = sorted({key for run in runs for record in run.measures for key in record.by})
    plain = [name for name in Measure.__struct_fields__ if name != "by"]
    first, rest = plain[:2], plain[2:]
    lead = ("run", "benchmark", "edition", "dataset")
    columns = (*lead, *first, *(f"by_{key}" for key in keys), *rest, _SIGNATURE)

    def rows() -> Iterator[Sequence[Any]]:
        for number, run in enumerate(runs, 1):
            about = run.record
            for record in run.measures:
                yield (
                    number, about.benchmark, about.edition, about.dataset,
                    *(getattr(record, name) for name in first),
                    *(record.by.get(key) for key in keys),
                    *(getattr(record, name) for name in rest),
                    about.signature,
                )  # fmt: skip

    _write(folder / MEASURES, columns, rows())
    signatures = " ".join(run.record.signature for run in runs)
    return Exported(
        file=MEASURES, kind="measures", title="Every measure of the runs", signature=signatures
    )


def _table(folder: Path, name: str, table: Table) -> Exported:
    rows = ((*row, table.signature) for row in table.rows)
    _write(folder / name, (*table.columns, _SIGNATURE), rows)
    return Exported(
        file=name,
        kind="table",
        title=table.title,
        notes=" ".join(table.notes),
        signature=table.signature,
    )


def _figure(folder: Path, name: str, figure: Figure) -> Exported:
    columns = list(dict.fromkeys(column for row in figure.rows for column in row))
    rows = ((*(row.get(column) for column in columns), figure.signature) for row in figure.rows)
    _write(folder / name, (*columns, _SIGNATURE), rows)
    return Exported(
        file=name,
        kind="numbers behind a figure",
        title=figure.title,
        notes=" ".join((figure.alt, *figure.notes)),
        signature=figure.signature,
    )


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([_cell(column) for column in columns])
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> str:
    """A value as text: numbers in full, what is absent empty, words that cannot become formulas."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if not isinstance(value, str):
        value = msgspec.json.encode(value).decode()
    if value.startswith(_PICTURE):
        return "a picture"
    return value if _NUMBER.fullmatch(value) else guarded(value)
