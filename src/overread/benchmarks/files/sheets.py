"""CSV files that other people made, plain or gzipped; every complaint names file and row.

Row by row (`rows_of`), or as a frame of text (`parse`): there by polars where lines are rows and
marks part cells, which is most of the official files; else by Python's csv module, strictly, as
rows are always read. Cells stand between commas, or between semicolons, as spreadsheets write them
where a comma is the decimal mark. Rows are counted as an editor counts lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from overread.case import BadInput
from overread.files import MOST_TABLE, inflate, is_gzip, read_bytes

if TYPE_CHECKING:
    import polars as pl


_MARK: Final = b"\xef\xbb\xbf"
# A line of nothing but commas would be a list of as many cells.
_MOST_COLUMNS: Final = 16_384
_LONGEST_LINE: Final = 1 << 23
# What `guarded` puts before a cell that a spreadsheet would take for a formula.
_GUARD: Final = re.compile(r"'(?=[\s\ufffd]*[=+\-@＝＋－＠])")
_MOST_FILLED: Final = 64_000_000  # bytes of a sheet that people filled


class Text(NamedTuple):
    """Columns as they are written, and the line of each row unless row n is line n + 2."""

    frame: pl.DataFrame
    lines: list[int] | None


def inflated(path: Path, data: bytes) -> bytes:
    """What a table holds, plain or gzipped."""
    return inflate(data, str(path)) if is_gzip(data) else data


def rows_of(
    path: Path, needed: Sequence[str], *, at_most: int = MOST_TABLE
) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row as (line it starts on, cells by column); the header is line 1.

    Empty cells stay empty strings: a reply may really be empty, or be the word `nan`. Blank lines
    are skipped.
    """
    data = inflated(path, read_bytes(path, at_most=at_most)).removeprefix(_MARK)
    header = header_of(path, data)
    if not any(header):
        raise BadInput(f"{path} is empty. Give a csv file with a header.")
    missing = [column for column in needed if column not in header]
    if missing:
        names = ", ".join(missing)
        raise BadInput(f"{path} has no column {names}. Add what is missing, empty if need be.")
    _check_once(path, header)
    for line, cells in _strictly(path, data, mark_of(_head(data))):
        if len(cells) != len(header):
            _cells(path, line, len(cells), len(header))
        yield line, dict(zip(header, cells, strict=True))


def filled_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a sheet that people filled: cells without guard and outer blanks; empty rows go."""

    for line, row in rows_of(path, needed, at_most=_MOST_FILLED):
        cells = {name: _unguarded(cell) for name, cell in row.items()}
        if any(cells.values()):
            yield line, cells


def as_filled(text: str) -> str:
    """What a cell written with this text is read as: names are compared in this form."""
    from overread.judging.sheet import guarded  # it imports numpy

    return _unguarded(guarded(text))


def _unguarded(cell: str) -> str:
    lines = cell.replace("\r\n", "\n").replace("\r", "\n").strip()
    return _GUARD.sub("", lines, count=1).strip() if lines.startswith("'") else lines


def _strictly(path: Path, data: bytes, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header that are not blank, each with the line it starts on.

    Strict: a stray quote must not quietly make one row of two.
    """
    reader = csv.reader(_lines(path, data), strict=True, delimiter=mark)
    line = 1
    try:
        next(reader)
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(
            f"{path.name} row {line}: {error}. Look for a quote that is never closed."
        ) from None


def parse(path: Path, data: bytes, needed: Sequence[str], optional: Sequence[str]) -> Text:
    """The columns named here; those optional may be missing, all others are left aside."""
    data = inflated(path, data).removeprefix(_MARK)
    header, mark = header_of(path, data), mark_of(_head(data))
    _check_header(path, header, needed)
    kept = [*needed, *(name for name in optional if name in header)]
    if header[-1] and _is_plain(data):
        frame = _quickly(path, header, data.partition(b"\n")[2], mark).select(kept)
        return Text(frame, None)
    return _by_the_book(path, header, kept, data, mark)


def header_of(path: Path, data: bytes) -> list[str]:
    """The names of the columns of a csv file that is text."""
    data = inflated(path, data).removeprefix(_MARK)
    _check_text(path, data)
    head = _head(data)
    mark = mark_of(head)
    if head.count(mark) >= _MOST_COLUMNS:
        raise BadInput(
            f"{path} has over {_MOST_COLUMNS} columns. Check that this is the file meant."
        )
    try:
        return [name.strip() for name in next(csv.reader([head], delimiter=mark), [])]
    except csv.Error as error:
        raise BadInput(
            f"{path.name} row 1: {error}. Look for a quote that is never closed."
        ) from None


def mark_of(head: str) -> str:
    """What stands between the cells of a file with this header: a comma, or a semicolon."""
    return ";" if ";" in head and "," not in head else ","


def _head(data: bytes) -> str:
    ends = re.search(rb"[\r\n]", data)
    return data[: ends.start() if ends else None].decode("utf-8")


def _check_text(path: Path, data: bytes) -> None:
    if not data.strip():
        raise BadInput(f"{path} is empty. Give a csv file with a header.")
    if data[:200].lstrip().startswith(b"<"):
        raise BadInput(f"{path} is a web page and no csv file. Log in there and fetch it again.")
    where, what = data.find(b"\0"), "it holds a NUL byte, which is no text"
    try:
        if not data.isascii():
            data.decode("utf-8")
        if where < 0:
            return
    except UnicodeDecodeError as error:
        where, what = error.start, f"byte 0x{data[error.start]:02x} is not UTF-8"
    row = data.count(b"\n", 0, where) + 1
    raise BadInput(f"{path.name} row {row}: {what}. Save it as csv in UTF-8, or fetch it again.")


def _check_header(path: Path, header: list[str], needed: Sequence[str]) -> None:
    missing = [column for column in needed if column not in header]
    if missing:
        marks = [mark for mark in "\t|" if len(header) == 1 and mark in header[0]]
        if marks:
            named = {"\t": "tabs", "|": "bars"}[marks[0]]
            raise BadInput(f"{path}: its cells stand between {named}. Save it as csv with commas.")
        has = ", ".join(name for name in header if name)
        shown = has if len(has) <= 120 else has[:120] + "…"
        raise BadInput(
            f"{path} has no column {', '.join(missing)}; its columns are {shown}. "
            "Check that this is the file meant."
        )
    _check_once(path, header)


def _check_once(path: Path, header: list[str]) -> None:
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise BadInput(f"{path} has more than one column {', '.join(twice)}. Keep one.")


def _is_plain(data: bytes) -> bool:
    """Whether lines are rows and marks part cells: no quotes, blank lines or odd line ends."""
    return (
        b'"' not in data
        and re.search(rb"\n[ \t]*\r?\n", data) is None
        and data.count(b"\r") == data.count(b"\r\n")
    )


def _quickly(path: Path, header: list[str], body: bytes, mark: str) -> pl.DataFrame:
    """Half a million plain rows in a second."""
    import polars as pl

    names = [name or f"unnamed {number}" for number, name in enumerate(header)]
    schema = dict.fromkeys(names, pl.String)
    if not body:
        return pl.DataFrame(schema=schema)
    rows = body.count(b"\n") + (not body.endswith(b"\n"))
    # Polars fills a short row with nulls and says nothing; the marks of the whole file tell.
    if body.count(mark.encode()) != rows * (len(header) - 1):
        _uneven(path, header, body, mark)
    try:
        frame = pl.read_csv(io.BytesIO(body), has_header=False, schema=schema, separator=mark)
    except (pl.exceptions.PolarsError, OSError):
        _uneven(path, header, body, mark)
    if frame.height != rows:
        raise BadInput(f"{path}: {rows} lines, but {frame.height} rows. Fetch the file again.")
    return frame


def _uneven(path: Path, header: list[str], body: bytes, mark: str) -> NoReturn:
    for line, text in enumerate(body.splitlines(), start=2):
        marks = text.count(mark.encode())
        if marks != len(header) - 1:
            _cells(path, line, marks + 1, len(header))
    raise BadInput(f"{path} cannot be read as csv. Fetch it again.")


def _cells(path: Path, line: int, found: int, wanted: int) -> NoReturn:
    raise BadInput(
        f"{path.name} row {line}: it has {found} cells and the header {wanted}. Fix the row; a "
        "text with commas or line breaks stands in double quotes."
    )


def _by_the_book(path: Path, header: list[str], kept: list[str], data: bytes, mark: str) -> Text:
    """Row by row, for files with quotes.

    Columns without a name at the end of the header may be missing from a row or be empty: NIH's
    list of boxes has three.
    """
    import polars as pl

    named = max(number for number, name in enumerate(header, start=1) if name)
    places = [header.index(name) for name in kept]
    columns: list[list[str]] = [[] for _ in kept]
    lines: list[int] = []
    for line, cells in _strictly(path, data, mark):
        if len(cells) == 1 and not cells[0].strip():
            continue
        if not named <= len(cells) <= len(header) or any(cells[named:]):
            _cells(path, line, len(cells), named)
        lines.append(line)
        for column, place in zip(columns, places, strict=True):
            column.append(cells[place])
    found = dict(zip(kept, columns, strict=True))
    return Text(pl.DataFrame(found, schema=dict.fromkeys(kept, pl.String)), lines)


def _lines(path: Path, data: bytes) -> Iterator[str]:
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    for number, line in enumerate(iter(lambda: text.readline(_LONGEST_LINE), ""), start=1):
        if len(line) == _LONGEST_LINE:
            raise BadInput(
                f"{path.name} row {number}: it has over {_LONGEST_LINE} characters. Check the file."
            )
        yield line
