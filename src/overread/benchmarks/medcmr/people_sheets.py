"""Sheets for people: errors to be labelled, replies to be ranked; written and read back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.base import ErrorRow, Tables
from overread.benchmarks.files.sheets import as_filled, filled_rows, quoted
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import DIMENSIONS, MedCase, cases_in
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS
from overread.case import BadInput
from overread.judging.sheet import write_csv
from overread.typeset import guarded

# ---------------------------------------------------------------- cells of a sheet


def short(text: str) -> str:
    """A cell as a complaint quotes it: one line, forty characters."""
    return quoted(guarded(text))


def reader_named(where: str, cell: str, readers: Mapping[str, str]) -> str:
    """The reader of the run that a cell names; `readers` are by what a sheet makes of each."""
    if cell not in readers:
        known = ", ".join(readers)
        raise BadInput(f'{where}: reader is "{short(cell)}"; the readers of this run are {known}.')
    return readers[cell]


def refuse_same(seen: dict[tuple[str, str], str], case: str, reader: str, where: str) -> None:
    """Refuse a second row about one reply; `seen` says where each stands."""
    first = seen.setdefault((case, reader), where)
    if first != where:
        raise BadInput(f"{where}: the same case and reader as {first}; keep one row.")


def _check_readers(tables: Tables, readers: Iterable[str]) -> None:
    known = [one.name for one in tables.readers]
    for name in readers:
        if name not in known:
            raise BadInput(f'reader is "{name}"; the readers of this run are {", ".join(known)}.')


def _lot(*parts: str | int) -> bytes:
    """A number drawn for a case: the order of these says nothing of the cases."""
    return blake2b(msgspec.json.encode(parts), digest_size=16).digest()


# ---------------------------------------------------------------- sheets of errors
# Errors for people to label: sampled, written as a sheet, read back (MEDCMR, "Analyses" 2, 3).

Error: TypeAlias = Literal["recognition", "reasoning", "knowledge", "question", "format"]
ERRORS: Final[Mapping[Error, str]] = {
    "recognition": "does not see in the image what is there, or sees what is not",
    "reasoning": "sees and knows the parts, draws the wrong conclusion",
    "knowledge": "medical knowledge: lacks a fact, or has a wrong one",
    "question": "question misunderstanding: answers something else than was asked",
    "format": "names no option, or none in a form that can be read",
}
"""The words of a label, and what they mean."""
SPELLINGS: Final[Mapping[str, Error]] = {
    **{word: word for word in ERRORS},
    "medical knowledge": "knowledge",
    "question misunderstanding": "question",
}
COLUMNS: Final = ErrorRow.__struct_fields__


class ErrorLabel(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a sheet that came back; `error` is None where it is not labelled yet."""

    where: str
    case: str
    reader: str
    error: Error | None


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
    asked = (reader,) if right_for is None else (reader, right_for)
    _check_readers(tables, asked)
    if n_per_dimension < 1:
        raise BadInput(f"{n_per_dimension} errors of a dimension are asked for; give 1 or more.")
    cases = cases_in(tables.cases)
    answers = choices_of(tables, asked)
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
    # Dimensions in the paper's order; those of other sets after them, none last.
    places = {**{name: at for at, name in enumerate(DIMENSIONS)}, "": len(DIMENSIONS) + 1}
    return [
        _row(cases[case_id], reader, row)
        for dimension in sorted(pools, key=lambda one: (places.get(one, len(DIMENSIONS)), one))
        for case_id, row in sorted(pools[dimension], key=lambda one: _lot(seed, one[0]))[
            :n_per_dimension
        ]
    ]


def choices_of(tables: Tables, readers: Iterable[str]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The rows of multiple-choice answers as the set asks them, by case and reader."""
    import polars as pl

    asked = tables.scan("answers").filter(
        (pl.col("form") == "mcq")
        & (pl.col("image") == "original")
        & (pl.col("order") == 0)
        & pl.col("reader").is_in(list(readers))
    )
    kept = asked.select("case", "reader", "outcome", "choice", "text").collect()
    return {(row["case"], row["reader"]): row for row in kept.iter_rows(named=True)}


def write_error_sheet(path: Path, rows: Sequence[ErrorRow]) -> None:
    """A csv to label; its column `case` also serves `--set reformulate=FILE`."""
    write_csv(path, COLUMNS, [msgspec.structs.astuple(row) for row in rows])


def read_error_sheet(path: Path) -> list[ErrorLabel]:
    """The rows of a sheet that people labelled, in the file's order."""
    found: list[ErrorLabel] = []
    seen: dict[tuple[str, str], int] = {}
    for line, row in filled_rows(path, ("case", "reader", "label")):
        where, said = f"{path.name} row {line}", " ".join(row["label"].casefold().split())
        case, reader = row["case"], row["reader"]
        if said and said not in SPELLINGS:
            expected = f"expected {', '.join(ERRORS)}, or nothing"
            raise BadInput(f'{where}: label is "{short(row["label"])}"; {expected}.')
        if not case or not reader:
            missing = "reader" if case else "case"
            raise BadInput(f"{where}: {missing} is empty. Leave it as it was.")
        first = seen.setdefault((case, reader), line)
        if first != line:
            raise BadInput(f"{where}: the same case and reader as row {first}; keep one row.")
        error = SPELLINGS[said] if said else None
        found.append(ErrorLabel(where=where, case=case, reader=reader, error=error))
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


# ---------------------------------------------------------------- sheets of ranks
# Rankings of replies by people: the blinded sheet, and what came back (MEDCMR, "Analyses" 4).

_SHOWN: Final = ("case", "question", "images", "caption", "reference", "code", "reply")
RANK_COLUMNS: Final = (*_SHOWN, *COMPONENTS)
# 1 is best; a tie has one rank for both, the higher (1, 1, 3) or the one between (1.5, 1.5, 3).
_RANK: Final = re.compile(r"(\d{1,3})(?:\.([05])0*)?", re.ASCII)


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """Where people put one reader's reply to one item; twice the rank, by component."""

    case: str
    reader: str
    doubled: Mapping[str, int]


def code_of(case: str, reader: str) -> str:
    """What a reader is called on a sheet: another word for every item, and the run tells which.

    The letter before the digits keeps spreadsheets from taking a code for a number.
    """
    data = msgspec.json.encode(["rank", as_filled(case), as_filled(reader)])
    return f"r{blake2b(data, digest_size=5).hexdigest()}"


def write_rank_sheet(
    path: Path, tables: Tables, readers: Sequence[str], n: int, seed: int = 0
) -> int:
    """A csv of at most n open items that all these readers answered, with four columns to fill.

    Rows name no reader; those of one item stand together in the order of their codes. The same run
    and seed give the same items, and fewer are a part of more. Returns how many items it has.
    """
    readers = tuple(dict.fromkeys(readers))
    if len(readers) < 2 or n < 1:
        raise BadInput("A ranking needs two different readers or more, and one item or more.")
    found = sorted(
        replies_to_rank(tables, readers), key=lambda one: _lot("ranks", seed, one[0].case_id)
    )[:n]
    cells = []
    for case, said in found:
        images, caption = "\n".join(case.images), case.caption or ""
        shown = (case.case_id, case.question, images, caption, case.answer)
        codes = sorted((code_of(case.case_id, who), said[who]) for who in readers)
        cells += [(*shown, code, reply, *([""] * len(COMPONENTS))) for code, reply in codes]
    write_csv(path, RANK_COLUMNS, cells)
    return len(found)


def replies_to_rank(
    tables: Tables, readers: Sequence[str]
) -> list[tuple[MedCase, Mapping[str, str]]]:
    """The open items that all these readers answered, each with its replies by reader."""
    import polars as pl

    _check_readers(tables, readers)
    rows = tables.answers.filter(
        (pl.col("form") == "open")
        & (pl.col("image") == "original")
        & pl.col("reader").is_in(list(readers))
        & pl.col("outcome").is_in(["answered", "unparsed", "refused"])
        & (pl.col("text").fill_null("").str.strip_chars() != "")
    )
    said: dict[str, dict[str, str]] = {}
    for case, who, text in rows.select("case", "reader", "text").iter_rows():
        said.setdefault(case, {})[who] = text
    found: list[tuple[MedCase, Mapping[str, str]]] = [
        (case, said[case.case_id])
        for case in cases_in(tables.cases).values()
        if case.kind == "open" and len(said.get(case.case_id, ())) == len(readers)
    ]
    if not found:
        raise BadInput(f"There is no open item that all of {', '.join(readers)} answered.")
    return found


def read_ranks(paths: Sequence[Path], tables: Tables) -> list[Rank]:
    """The rankings in one or more csv files: a row for each item and reader.

    Columns are `case`, `reader` or `code`, and the four components: 1 is best, ties allowed, empty
    where a reply was not ranked. Only the order within an item matters.
    """
    readers = {as_filled(one.name): one.name for one in tables.readers}
    cases = {as_filled(case): case for case in tables.cases["case"].to_list()}
    found: list[Rank] = []
    seen: dict[tuple[str, str], str] = {}
    for path in paths:
        rows = list(filled_rows(path, ("case", *COMPONENTS)))
        if rows and not {"reader", "code"} & set(rows[0][1]):
            raise BadInput(f"{path} has no column reader or code. Add one of them.")
        sizes = Counter(row["case"] for _, row in rows)
        for line, row in rows:
            where = f"{path.name} row {line}"
            case = cases.get(row["case"])
            if case is None:
                said = f'{where}: case is "{short(row["case"])}", which is not in this run'
                raise BadInput(f"{said}. Give the run that was ranked.")
            reader = _reader(where, row, case, readers)
            refuse_same(seen, case, reader, where)
            most = sizes[row["case"]]
            doubled = {
                name: _doubled(where, name, row[name], most) for name in COMPONENTS if row[name]
            }
            if doubled:
                found.append(Rank(case=case, reader=reader, doubled=doubled))
    if not found:
        names = ", ".join(path.name for path in paths)
        raise BadInput(f"{names}: no row has a rank. Fill the columns {', '.join(COMPONENTS)}.")
    return found


def _reader(where: str, row: Mapping[str, str], case: str, readers: Mapping[str, str]) -> str:
    if row.get("reader"):
        return reader_named(where, row["reader"], readers)
    for reader in readers.values():
        if code_of(case, reader) == row.get("code", "").casefold():
            return reader
    raise BadInput(
        f'{where}: code is "{short(row.get("code", ""))}", which is no reply to this case in this '
        "run. Leave the column as it was written."
    )


def _doubled(where: str, name: str, cell: str, most: int) -> int:
    """Twice a rank: a whole number, and so are ranks between two places."""
    match = _RANK.fullmatch(cell)
    doubled = 2 * int(match[1]) + (match[2] == "5") if match else 0
    if not 2 <= doubled <= 2 * most:
        raise BadInput(
            f'{where}: {name} is "{short(cell)}"; expected a rank from 1 to {most}, the number of '
            "replies to the case, or nothing."
        )
    return doubled
