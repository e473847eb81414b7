"""Rankings of replies by people: the blinded sheet, and what came back (MEDCMR, "Analyses" 4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.medcmr.components import COMPONENTS
from overread.benchmarks.medcmr.csv_sheets import as_read, read_csv, short, write_csv
from overread.benchmarks.medcmr.schemas import cases_in
from overread.case import BadInput

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["RANK_COLUMNS", "Rank", "code_of", "read_ranks", "write_rank_sheet"]

RANK_COLUMNS: Final = (
    "case",
    "question",
    "images",
    "caption",
    "reference",
    "code",
    "reply",
    *COMPONENTS,
)
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
    data = msgspec.json.encode(["rank", as_read(case), as_read(reader)])
    return f"r{blake2b(data, digest_size=5).hexdigest()}"


def write_rank_sheet(
    path: Path, tables: Tables, readers: Sequence[str], n: int, seed: int = 0
) -> int:
    """A csv of at most n open items that all these readers answered, with four columns to fill.

    Rows name no reader; those of one item stand together in the order of their codes. The same run
    and seed give the same items, and fewer are a part of more. Returns how many items it has.
    """
    import polars as pl

    known = [one.name for one in tables.readers]
    for name in readers:
        if name not in known:
            raise BadInput(f'reader is "{name}"; the readers of this run are {", ".join(known)}.')
    readers = tuple(dict.fromkeys(readers))
    if len(readers) < 2 or n < 1:
        raise BadInput("A ranking needs two different readers or more, and one item or more.")
    rows = tables.answers.filter(
        (pl.col("form") == "open")
        & (pl.col("image") == "original")
        & pl.col("reader").is_in(list(readers))
        & pl.col("outcome").is_in(["answered", "unparsed", "refused"])
        & (pl.col("text").fill_null("").str.strip_chars() != "")
    )
    said = {(case, who): text for case, who, text in rows.select("case", "reader", "text").rows()}
    cases = [case for case in cases_in(tables.cases) if case.kind == "open"]
    chosen = sorted(
        (case for case in cases if all((case.case_id, who) in said for who in readers)),
        key=lambda case: _lot(seed, case.case_id),
    )[:n]
    if not chosen:
        raise BadInput(f"There is no open item that all of {', '.join(readers)} answered.")
    cells = []
    for case in chosen:
        shown = (
            case.case_id,
            case.question,
            "\n".join(case.images),
            case.caption or "",
            case.answer,
        )
        codes = sorted((code_of(case.case_id, who), said[case.case_id, who]) for who in readers)
        cells += [(*shown, code, reply, *([""] * len(COMPONENTS))) for code, reply in codes]
    write_csv(path, RANK_COLUMNS, cells)
    return len(chosen)


def read_ranks(paths: Sequence[Path], tables: Tables) -> list[Rank]:
    """The rankings in one or more csv files: a row for each item and reader.

    Columns are `case`, `reader` or `code`, and the four components: 1 is best, ties allowed, empty
    where a reply was not ranked. Only the order within an item matters.
    """
    readers = {as_read(one.name): one.name for one in tables.readers}
    cases = {as_read(case): case for case in tables.cases["case"].to_list()}
    found: list[Rank] = []
    seen: dict[tuple[str, str], str] = {}
    for path in paths:
        rows = list(read_csv(path, ("case", *COMPONENTS)))
        if rows and not {"reader", "code"} & set(rows[0][1]):
            raise BadInput(f"{path} has no column reader or code. Add one of them.")
        sizes = Counter(row["case"] for _, row in rows)
        for line, row in rows:
            where = f"{path.name} row {line}"
            case = cases.get(row["case"])
            if case is None:
                raise BadInput(
                    f'{where}: case is "{short(row["case"])}", which is not in this run. Give the '
                    "run that was ranked."
                )
            reader = _reader(where, row, case, readers)
            first = seen.setdefault((case, reader), where)
            if first != where:
                raise BadInput(f"{where}: the same case and reader as {first}; keep one row.")
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
        if row["reader"] not in readers:
            raise BadInput(
                f'{where}: reader is "{short(row["reader"])}"; the readers of this run are '
                f"{', '.join(readers)}."
            )
        return readers[row["reader"]]
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


def _lot(seed: int, case: str) -> bytes:
    """A number drawn for a case: the order of these says nothing of the cases."""
    return blake2b(msgspec.json.encode(["ranks", seed, case]), digest_size=16).digest()
