"""What a paper takes of a report: tables, figures and measures as files, and a list of them.

How a table is written, `typeset` knows; here are the files and what each of them is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from overread.case import BadInput, Figure, Measure, Table
from overread.files import MOST_TOML, open_file, read_bytes
from overread.report.reported import Exhibit, Reported
from overread.typeset import csv_text, latex_table, paragraphs, table_csv

CONTENTS: Final = "contents.csv"
SUFFIXES: Final = ("svg", "pdf", "png")
"""Vector twice, and pixels at 300 dpi."""

_MEASURES: Final = "measures.csv"
_SIGNATURE: Final = "signature"
_ALL: Final = "all"
_LONGEST: Final = 80
_FILE: Final = re.compile(r"[a-z0-9_-]{1,120}\.(csv|tex|svg|pdf|png|json)")

_E = TypeVar("_E", bound=Exhibit)


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was written: a row of `contents.csv`."""

    file: str
    kind: str
    title: str
    notes: str = ""
    signature: str = ""


_HEADER: Final = Exported.__struct_fields__


def write_csv_files(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """One file for each table and each figure's numbers, and `measures.csv` with every record.

    The last column of each is the signature: no number without its edition.
    """
    written = [_write_measures(folder / _MEASURES, runs)]
    for stem, table in _named(runs, Table):
        written.append(write_table(folder / f"{stem}.csv", table))
    for stem, figure in _named(runs, Figure):
        columns = list(dict.fromkeys(column for row in figure.rows for column in row))
        behind = ([*map(row.get, columns), figure.signature] for row in figure.rows)
        _write_rows(folder / f"{stem}.csv", (*columns, _SIGNATURE), behind)
        written.append(_exported(f"{stem}.csv", "numbers behind a figure", figure))
    return written


def write_latex_files(
    folder: Path, runs: Sequence[Reported], columns: Sequence[str] = ()
) -> list[Exported]:
    """One file for each table of the runs, as wide as a column of a paper.

    `columns` are headings wanted, of the tables that have any of them; `("all",)` wants every one.
    """
    named = list(_named(runs, Table))
    check_columns(columns, (table for _, table in named))
    written = [write_table(folder / f"{stem}.tex", table, columns) for stem, table in named]
    return written + list(_write_paragraphs(folder, runs))


def _write_paragraphs(folder: Path, runs: Sequence[Reported]) -> Iterator[Exported]:
    """`BENCHMARK-methods.tex`: what was asked, shown and counted, and what to doubt, in prose."""
    met: list[str] = []
    for run in runs:
        record = run.record
        met.append(record.benchmark)
        count = met.count(record.benchmark)
        stem = f"{record.benchmark}{f'-{count}' if count > 1 else ''}-methods"
        if not run.methods:
            continue
        parts = (("Methods", run.methods), ("Limitations", run.limitations))
        text = paragraphs(dict(parts), record.signature)
        (folder / f"{stem}.tex").write_text(text, encoding="ascii")
        title = "Methods and limitations"
        yield Exported(
            file=f"{stem}.tex", kind="paragraphs", title=title, signature=record.signature
        )


def check_columns(columns: Sequence[str], tables: Iterable[Table]) -> None:
    """Refuse a heading that no table has."""
    known = dict.fromkeys(heading for table in tables for heading in table.columns)
    folded = {heading.casefold() for heading in known} | {_ALL}
    for column in columns:
        if column.casefold() not in folded:
            raise BadInput(
                f'--columns: no table has a column "{column}". Columns are: {", ".join(known)}; '
                f"or {_ALL}."
            )


def write_table(path: Path, table: Table, columns: Sequence[str] = ()) -> Exported:
    """One table as the suffix says: .csv or .tex."""
    if path.suffix == ".csv":
        path.write_text(table_csv(table), encoding="utf-8", newline="")
    else:
        wanted = {column.casefold() for column in columns}
        every = _ALL in wanted
        chosen = [name for name in table.columns if every or name.casefold() in wanted]
        path.write_text(latex_table(table, path.stem.replace("_", "-"), chosen), encoding="ascii")
    return _exported(path.name, "table", table)


def write_figure_files(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """Every figure of the runs as SVG, PDF and PNG, with what its marks mean below it.

    `notes` say in words what it shows.
    """
    written = []
    for stem, figure in _named(runs, Figure):
        drawing = figure.with_legend()
        for suffix in SUFFIXES:
            drawing.save(folder / f"{stem}.{suffix}")
            written.append(_exported(f"{stem}.{suffix}", "figure", figure))
    return written


def _exported(file: str, kind: str, of: Exhibit) -> Exported:
    notes = " ".join((of.alt, *of.notes) if isinstance(of, Figure) else of.notes)
    return Exported(file=file, kind=kind, title=of.title, notes=notes, signature=of.signature)


def _named(runs: Sequence[Reported], kind: type[_E]) -> Iterator[tuple[str, _E]]:
    """Every table or figure of the runs with the stem of its files; published figures last."""
    taken: set[str] = set()
    for lead, run in zip(leads(runs), runs, strict=True):
        called: list[tuple[str, Exhibit]] = [(one.name, one) for one in run.exhibits]
        called += [(f"published-{table.name}", table) for table in run.published]
        called += [(run.settings.name, run.settings)] if run.settings is not None else []
        for name, exhibit in called:
            stem = free_name(f"{lead}-{name}", taken)
            if isinstance(exhibit, kind):
                yield stem, exhibit


def leads(runs: Sequence[Reported]) -> Iterator[str]:
    """How the files of each run begin: `BENCHMARK`, of a second run of it `BENCHMARK-2`."""
    met: list[str] = []
    for run in runs:
        met.append(run.record.benchmark)
        count = met.count(met[-1])
        yield met[-1] if count == 1 else f"{met[-1]}-{count}"


def free_name(words: str, taken: set[str]) -> str:
    """A plain name nobody has yet: small letters, digits, - and _, since disks differ."""
    plain = re.sub(r"[^a-z0-9_]+", "-", words.lower()).strip("-")[:_LONGEST] or "exhibit"
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}-{number}"
    taken.add(name)
    return name


def _write_measures(path: Path, runs: Sequence[Reported]) -> Exported:
    """Records of all runs, flat: one column for each group key, empty where it has none."""
    keys = sorted({key for run in runs for record in run.measures for key in record.by})
    plain = [name for name in Measure.__struct_fields__ if name != "by"]
    about = ("benchmark", "edition", "dataset")
    columns = ("run", *about, *plain[:2], *(f"by_{key}" for key in keys), *plain[2:], _SIGNATURE)

    def rows() -> Iterator[Sequence[Any]]:
        for number, run in enumerate(runs, 1):
            of_run = {name: getattr(run.record, name) for name in (*about, _SIGNATURE)}
            for record in run.measures:
                groups = {f"by_{key}": word for key, word in record.by.items()}
                cells = {"run": number} | of_run | groups | msgspec.structs.asdict(record)
                yield [cells.get(column) for column in columns]

    _write_rows(path, columns, rows())
    signatures = " ".join(run.record.signature for run in runs)
    title = "Every measure of the runs"
    return Exported(file=path.name, kind="measures", title=title, signature=signatures)


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(csv_text(columns, rows))


# ---------------------------------------------------------------- the list of files


def write_contents(folder: Path, written: Sequence[Exported]) -> None:
    """`contents.csv`: what every file of a folder is, and what its numbers stand on."""
    _write_rows(folder / CONTENTS, _HEADER, map(msgspec.structs.astuple, written))


def is_ours(folder: Path) -> bool:
    """Whether a folder holds an earlier export."""
    try:
        with open_file(folder / CONTENTS) as file:
            return file.readline(1000).decode().rstrip("\r\n") == ",".join(_HEADER)
    except (BadInput, UnicodeDecodeError):
        return False


def earlier(folder: Path) -> list[Path]:
    """The files of an earlier export that are still there; no name leads out of the folder."""
    if not is_ours(folder):
        return []
    text = read_bytes(folder / CONTENTS, at_most=MOST_TOML).decode("utf-8", "replace")
    try:
        names = [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error:
        return []
    return [folder / name for name in names if _FILE.fullmatch(name) and (folder / name).is_file()]
