"""Errors for people to label: sampled, written as a sheet, read back (MEDCMR, "Analyses" 2, 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.csv_sheets import read_csv, short, write_csv
from overread.benchmarks.medcmr.schemas import cases_in
from overread.benchmarks.medcmr.vocabulary import DIMENSIONS
from overread.case import BadInput

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = [
    "COLUMNS",
    "ERRORS",
    "Error",
    "ErrorLabel",
    "ErrorRow",
    "cells_of",
    "choices_of",
    "read_error_sheet",
    "sample_errors",
    "write_error_sheet",
]

Error: TypeAlias = Literal["recognition", "reasoning", "knowledge", "question", "format"]
ERRORS: Final[Mapping[Error, str]] = {
    "recognition": "does not see in the image what is there, or sees what is not",
    "reasoning": "sees and knows the parts, draws the wrong conclusion",
    "knowledge": "medical knowledge: lacks a fact, or has a wrong one",
    "question": "question misunderstanding: answers something else than was asked",
    "format": "names no option, or none in a form that can be read",
}
"""The words of a label, and what they mean."""
_SPELLINGS: Final[Mapping[str, Error]] = {
    **{word: word for word in ERRORS},
    "medical knowledge": "knowledge",
    "question misunderstanding": "question",
}


class ErrorRow(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong answer; the fields are the columns of the sheet, the last two for the person."""

    case: str
    reader: str
    dimension: str
    question: str
    options: str
    images: str
    right: str
    given: str
    reply: str
    label: str = ""
    note: str = ""


COLUMNS: Final = ErrorRow.__struct_fields__


class ErrorLabel(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a sheet that came back; `error` is None where it is not labelled yet."""

    file: str
    line: int
    case: str
    reader: str
    error: Error | None


def cells_of(row: ErrorRow) -> tuple[str, ...]:
    """The cells of one row, in the order of `COLUMNS`."""
    return tuple(getattr(row, column) for column in COLUMNS)


def sample_errors(
    tables: Tables,
    reader: str,
    n_per_dimension: int = 100,
    seed: int = 0,
    right_for: str | None = None,
) -> list[ErrorRow]:
    """Wrong multiple-choice answers of a reader: at most n of each dimension, by chance.

    Wrong is a reply that names another option or none; a refusal and a missing reply have nothing
    to label. With `right_for` only items that this other reader got right: what a medical model
    lost against its base. The same run and seed give the same rows whatever their order, and fewer
    rows are a part of more.
    """
    names = [one.name for one in tables.readers]
    for name in (reader, *([] if right_for is None else [right_for])):
        if name not in names:
            raise BadInput(f'reader is "{name}"; the readers of this run are {", ".join(names)}.')
    if n_per_dimension < 1:
        raise BadInput(f"{n_per_dimension} errors of a dimension are asked for; give 1 or more.")
    cases = {case.case_id: case for case in cases_in(tables.cases)}
    answers = choices_of(tables, (reader,) if right_for is None else (reader, right_for))
    if not any(who == reader for _, who in answers):
        raise BadInput(
            f"{reader} was not asked a multiple-choice item with its own image: nothing to label."
        )
    pools: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for case_id, case in cases.items():
        row = answers.get((case_id, reader))
        if row is None or row["outcome"] not in ("answered", "unparsed"):
            continue
        other = answers.get((case_id, right_for or ""))
        lost = right_for is None or (other is not None and other["choice"] == case.answer)
        if row["choice"] != case.answer and lost:
            pools.setdefault(case.dimension or "", []).append((case_id, row))
    return [
        _row(cases[case_id], reader, row)
        for dimension in sorted(pools, key=_place)
        for case_id, row in sorted(pools[dimension], key=lambda one: _lot(seed, one[0]))[
            :n_per_dimension
        ]
    ]


def choices_of(tables: Tables, readers: Iterable[str]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The rows of multiple-choice answers as the set asks them, by case and reader."""
    import polars as pl

    asked = tables.answers.filter(
        (pl.col("form") == "mcq")
        & (pl.col("image") == "original")
        & (pl.col("order") == 0)
        & pl.col("reader").is_in(list(readers))
    )
    kept = asked.select("case", "reader", "outcome", "choice", "text")
    return {(row["case"], row["reader"]): row for row in kept.iter_rows(named=True)}


def write_error_sheet(path: Path, rows: Sequence[ErrorRow]) -> None:
    """A csv to label; its column `case` also serves `--set reformulate=FILE`."""
    write_csv(path, COLUMNS, [cells_of(row) for row in rows])


def read_error_sheet(path: Path) -> list[ErrorLabel]:
    """The rows of a sheet that people labelled, in the file's order."""
    found: list[ErrorLabel] = []
    seen: dict[tuple[str, str], int] = {}
    for line, row in read_csv(path, ("case", "reader", "label")):
        said = " ".join(row["label"].casefold().split())
        if said and said not in _SPELLINGS:
            raise BadInput(
                f'{path.name} row {line}: label is "{short(row["label"])}"; expected '
                f"{', '.join(ERRORS)}, or nothing."
            )
        if not row["case"] or not row["reader"]:
            missing = "reader" if row["case"] else "case"
            raise BadInput(f"{path.name} row {line}: {missing} is empty. Leave it as it was.")
        first = seen.setdefault((row["case"], row["reader"]), line)
        if first != line:
            raise BadInput(
                f"{path.name} row {line}: the same case and reader as row {first}; keep one row."
            )
        error = _SPELLINGS[said] if said else None
        found.append(
            ErrorLabel(
                file=path.name, line=line, case=row["case"], reader=row["reader"], error=error
            )
        )
    return found


def _row(case: MedCase, reader: str, row: Mapping[str, Any]) -> ErrorRow:
    named = [f"{letter}) {text}" for letter, text in zip(LETTERS, case.options, strict=False)]
    given = row["choice"]
    return ErrorRow(
        case=case.case_id,
        reader=reader,
        dimension=case.dimension or "",
        question=case.question,
        options="\n".join(named),
        images="\n".join(case.images),
        right=named[LETTERS.index(case.answer)],
        given=named[LETTERS.index(given)] if given else "",
        reply=row["text"] or "",
    )


def _place(dimension: str) -> tuple[int, str]:
    """Dimensions in the paper's order; those of other sets after them, none last."""
    known = list(DIMENSIONS)
    place = known.index(dimension) if dimension in known else len(known) + (not dimension)
    return place, dimension


def _lot(seed: int, case: str) -> bytes:
    """A number drawn for a case: the order of these says nothing of the cases."""
    return blake2b(msgspec.json.encode([seed, case]), digest_size=16).digest()
