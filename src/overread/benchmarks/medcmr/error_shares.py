"""Why readers are wrong, as people labelled it: shares of five kinds (MEDCMR, "Analyses" 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from overread.benchmarks.drafts import Mask, joined
from overread.benchmarks.medcmr.csv_sheets import as_read, listed, short
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.error_labels import (
    ERRORS,
    Error,
    choices_of,
    read_error_sheet,
)
from overread.benchmarks.medcmr.marks import MCQ
from overread.benchmarks.medcmr.study import Study
from overread.case import BadInput, Measure

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["error_measures"]


class _Row(NamedTuple):
    """One row of a sheet: the item's place, the reader, the label, and whether it is an error."""

    place: int
    reader: str
    error: Error | None
    wrong: bool


def error_measures(study: Study, tables: Tables, options: Options) -> list[Measure]:
    """`error_share` of each reader that has labelled errors; none without `errors`.

    The share of the labelled errors that have the label, over all and by dimension. Over all they
    stand as they were sampled, dimensions alike, not as often as the reader makes them.
    """
    if options.errors is None:
        return []
    rows = _rows(study, tables, listed(options.errors))
    return [
        record
        for reader in study.readers
        if any(row.reader == reader for row in rows)
        for record in _of_reader(study, reader, [row for row in rows if row.reader == reader])
    ]


def _of_reader(study: Study, reader: str, rows: Sequence[_Row]) -> Iterator[Measure]:
    at = np.array([row.place for row in rows], dtype=np.int64)
    said = np.array([row.error or "" for row in rows], dtype=np.str_)
    wrong = np.array([row.wrong for row in rows], dtype=bool)
    for by, members in study.groups("mcq", "dimension"):
        inside = members[at]
        if by and not inside.any():
            continue
        counted = inside & wrong & (said != "")
        note = joined(
            _count(inside & wrong & (said == ""), "not labelled"),
            _count(inside & ~wrong, "right under these rules, left out"),
        )
        for error in ERRORS:
            record = Measure(
                reader=reader, measure="error_share", by={**by, "error": error}, note=note
            )
            yield study.share_of(record, said[counted] == error, study.facts.clusters[at[counted]])


def _count(which: Mask, what: str) -> str | None:
    n = int(which.sum())
    return f"{n} {what}" if n else None


def _rows(study: Study, tables: Tables, paths: Sequence[Path]) -> list[_Row]:
    """What the sheets say, each row matched with the run."""
    places = {as_read(case): place for place, case in enumerate(study.facts.cases)}
    readers = {as_read(name): name for name in study.readers}
    asked = choices_of(tables, study.readers)
    right = {marks.reader: marks.right(MCQ) for marks in study.marks}
    found: list[_Row] = []
    seen: dict[tuple[int, str], str] = {}
    for label in (one for path in paths for one in read_error_sheet(path)):
        where = f"{label.file} row {label.line}"
        reader, place = readers.get(label.reader), places.get(label.case)
        if reader is None:
            raise BadInput(
                f'{where}: reader is "{short(label.reader)}"; the readers of this run are '
                f"{', '.join(readers)}."
            )
        if place is None or (study.facts.cases[place], reader) not in asked:
            raise BadInput(
                f'{where}: case is "{short(label.case)}", which is no multiple-choice item that '
                f"{short(reader)} was asked in this run. Give the run the errors are of."
            )
        first = seen.setdefault((place, reader), where)
        if first != where:
            raise BadInput(f"{where}: the same case and reader as {first}; keep one row.")
        found.append(_Row(place, reader, label.error, not right[reader][place]))
    return found
