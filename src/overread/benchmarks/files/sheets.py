"""Tables that other people made, csv (plain or gzipped) and xlsx; complaints name file and row.

A csv is read row by row (`rows_of`), or as a frame of text (`parse`): there by polars where lines
are rows and marks part cells, which is most of the official files; else by Python's csv module,
strictly, as rows are always read. Cells stand between commas, or between semicolons, as
spreadsheets write them where a comma is the decimal mark. Rows are counted as an editor counts
lines. Of an xlsx file the first sheet is read (`sheet_of`).
"""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from overread.case import BadInput
from overread.files import MOST_TABLE, inflate, is_gzip, read_bytes

if TYPE_CHECKING:
    import polars as pl


UTF8_MARK: Final = b"\xef\xbb\xbf"
# A line of nothing but commas would be a list of as many cells.
_MOST_COLUMNS: Final = 16_384
_LONGEST_LINE: Final = 1 << 23
# What `guarded` puts before a cell that a spreadsheet would take for a formula.
_GUARD: Final = re.compile(r"'(?=[\s\ufffd]*[=+\-@＝＋－＠])")
_MOST_FILLED: Final = 64_000_000  # bytes of a sheet that people filled


def quoted(value: Any, most: int = 40) -> str:
    """A value as a complaint quotes it: one line, so many characters."""
    line = " ".join(("" if value is None else str(value)).split())
    return line if len(line) <= most else line[:most] + "…"


def _check_header(path: Path, header: Sequence[str], needed: Sequence[str], remedy: str) -> None:
    """Refuse a table without one of the columns needed, or with two of one name."""
    missing = [column for column in needed if column not in header]
    if missing:
        marks = [mark for mark in "\t|" if len(header) == 1 and mark in header[0]]
        if marks:
            named = {"\t": "tabs", "|": "bars"}[marks[0]]
            raise BadInput(f"{path}: its cells stand between {named}. Save it as csv with commas.")
        has = quoted(", ".join(name for name in header if name), 120) or "none"
        raise BadInput(
            f"{path} has no column {', '.join(missing)}; its columns are {has}. {remedy}."
        )
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise BadInput(f"{path} has more than one column {', '.join(twice)}. Keep one.")


# ---------------------------------------------------------------- csv, row by row


def rows_of(
    path: Path, needed: Sequence[str], *, at_most: int = MOST_TABLE
) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row as (line it starts on, cells by column); the header is line 1.

    Empty cells stay empty strings: a reply may really be empty, or be the word `nan`. Blank lines
    are skipped.
    """
    data, header, mark = opened(path, read_bytes(path, at_most=at_most))
    _check_header(path, header, needed, "Add what is missing, empty if need be")
    for line, cells in _strictly(path, data, mark):
        if len(cells) != len(header):
            _refuse_cells(path, line, len(cells), len(header))
        yield line, dict(zip(header, cells, strict=True))


def filled_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a sheet that people filled: cells without guard and outer blanks; empty rows go."""

    for line, row in rows_of(path, needed, at_most=_MOST_FILLED):
        cells = {name: _unguarded(cell) for name, cell in row.items()}
        if any(cells.values()):
            yield line, cells


def as_filled(text: str) -> str:
    """What a cell written with this text is read as: names are compared in this form."""
    from overread.typeset import guarded

    return _unguarded(guarded(text))


def _unguarded(cell: str) -> str:
    lines = cell.replace("\r\n", "\n").replace("\r", "\n").strip()
    return _GUARD.sub("", lines, count=1).strip() if lines.startswith("'") else lines


def opened(path: Path, data: bytes) -> tuple[bytes, list[str], str]:
    """The text of a csv file, the names of its columns, and what stands between its cells."""
    data = (inflate(data, str(path)) if is_gzip(data) else data).removeprefix(UTF8_MARK)
    _check_text(path, data)
    ends = re.search(rb"[\r\n]", data)
    head = data[: ends.start() if ends else None].decode("utf-8")
    mark = mark_of(head)
    if head.count(mark) >= _MOST_COLUMNS:
        raise BadInput(
            f"{path} has over {_MOST_COLUMNS} columns. Check that this is the file meant."
        )
    try:
        header = [name.strip() for name in next(csv.reader([head], delimiter=mark), [])]
    except csv.Error as error:
        raise BadInput(
            f"{path.name} row 1: {error}. Look for a quote that is never closed."
        ) from None
    if not any(header):
        raise BadInput(f"{path} is empty. Give a csv file with a header.")
    return data, header, mark


def mark_of(head: str) -> str:
    """What stands between the cells of a file with this header: a comma, or a semicolon."""
    return ";" if ";" in head and "," not in head else ","


def _check_text(path: Path, data: bytes) -> None:
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


def _lines(path: Path, data: bytes) -> Iterator[str]:
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    for number, line in enumerate(iter(lambda: text.readline(_LONGEST_LINE), ""), start=1):
        if len(line) == _LONGEST_LINE:
            raise BadInput(
                f"{path.name} row {number}: it has over {_LONGEST_LINE} characters. Check the file."
            )
        yield line


def _refuse_cells(path: Path, line: int, found: int, wanted: int) -> NoReturn:
    raise BadInput(
        f"{path.name} row {line}: it has {found} cells and the header {wanted}. Fix the row; a "
        "text with commas or line breaks stands in double quotes."
    )


# ---------------------------------------------------------------- csv as a frame


def parse(
    path: Path, data: bytes, needed: Sequence[str], optional: Sequence[str]
) -> tuple[pl.DataFrame, list[int] | None]:
    """The columns named here as they are written, and the line of each row unless n is line n + 2.

    Those optional may be missing, all others are left aside.
    """
    data, header, mark = opened(path, data)
    _check_header(path, header, needed, "Check that this is the file meant")
    kept = [*needed, *(name for name in optional if name in header)]
    # Lines are rows and marks part cells: no quotes, blank lines or odd line ends.
    plain = b'"' not in data and data.count(b"\r") == data.count(b"\r\n")
    if header[-1] and plain and re.search(rb"\n[ \t]*\r?\n", data) is None:
        frame = _quickly(header, data.partition(b"\n")[2], mark)
        if frame is not None:
            return frame.select(kept), None
    return _by_the_book(path, header, kept, data, mark)


def _quickly(header: list[str], body: bytes, mark: str) -> pl.DataFrame | None:
    """Half a million plain rows in a second; None where not every row has as many cells."""
    import polars as pl

    names = [name or f"unnamed {number}" for number, name in enumerate(header)]
    schema = dict.fromkeys(names, pl.String)
    if not body:
        return pl.DataFrame(schema=schema)
    rows = body.count(b"\n") + (not body.endswith(b"\n"))
    # Polars fills a short row with nulls and says nothing; the marks of the whole file tell.
    if body.count(mark.encode()) != rows * (len(header) - 1):
        return None
    try:
        frame = pl.read_csv(io.BytesIO(body), has_header=False, schema=schema, separator=mark)
    except (pl.exceptions.PolarsError, OSError):
        return None
    return frame if frame.height == rows else None


def _by_the_book(
    path: Path, header: list[str], kept: list[str], data: bytes, mark: str
) -> tuple[pl.DataFrame, list[int]]:
    """Row by row, for files with quotes, and to say which row has too few or too many cells.

    Columns without a name at the end of the header may be missing from a row or be empty: NIH's
    list of boxes has three.
    """
    import polars as pl

    named = max(number for number, name in enumerate(header, start=1) if name)
    places = [header.index(name) for name in kept]
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, cells in _strictly(path, data, mark):
        if len(cells) == 1 and not cells[0].strip():
            continue
        if not named <= len(cells) <= len(header) or any(cells[named:]):
            _refuse_cells(path, line, len(cells), named)
        lines.append(line)
        rows.append([cells[place] for place in places])
    return pl.DataFrame(rows, schema=dict.fromkeys(kept, pl.String), orient="row"), lines


# ---------------------------------------------------------------- xlsx

# An xlsx is a zip: a few kilobytes of it may unpack to gigabytes. The official file is below 10 MB.
MOST_BYTES: Final = 64 << 20
_MOST_PARTS: Final = 10_000
# The official file has some 100,000; reading a million takes about ten seconds.
_MOST_TAGS: Final = 2_000_000
_XML: Final = (".xml", ".rels", ".vml")
# Excel's own last row; a sheet may name a later one, and would be filled up to there.
_MOST_ROWS: Final = 1_048_576
_MOST_CELLS: Final = 1024
# How Excel keeps characters that XML cannot hold; line breaks of old files among them. A carriage
# return is dropped, since a line feed stands beside it; codes that are not named here stay.
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_CHARACTERS: Final = {"000D": "", "0009": "\t", "000A": "\n", "005F": "_"}
_NO_VALUES: Final = frozenset(
    {"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "nan", "NaN"}
)


def sheet_of(path: Path, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Each row as (its number in the sheet, cells by column); the header is row 1.

    Formulas count by the value kept with them, and numbers are written as Python writes them. An
    empty cell and a value that is none ("#N/A") are empty texts. Rows without any text are skipped.
    """
    held = io.BytesIO(read_bytes(path, at_most=MOST_BYTES))
    _check_zip(path, held)
    from openpyxl import load_workbook

    try:
        with warnings.catch_warnings():
            # Of styles and extensions it does not know; cells are all that is read here.
            warnings.simplefilter("ignore")
            with closing(load_workbook(held, read_only=True, data_only=True)) as book:
                (_, first), *rows = list(_filled_rows(path, book)) or [(1, [])]
    except (BadInput, MemoryError):
        raise
    except Exception as error:  # zip and XML of other people: whatever is raised is one refusal
        why = (" ".join(str(error).split()) or type(error).__name__)[:120].rstrip(".")
        raise BadInput(f"{path} is a damaged xlsx file: {why}. Fetch it again.") from None
    header = [name.strip() for name in first]
    remedy = "Check that this is the file meant, and that the header stands in its first row"
    _check_header(path, header, needed, remedy)
    return [
        (number, {name: cell for name, cell in zip_longest(header, cells, fillvalue="") if name})
        for number, cells in rows
    ]


def _filled_rows(path: Path, book: Any) -> Iterator[tuple[int, list[str]]]:
    """Every row of the first sheet that has any text, with its number."""
    if not book.worksheets:
        raise BadInput(f"{path} has no sheet. Fetch it again.")
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what it says of its own size may be wrong
    rows = sheet.iter_rows(max_row=_MOST_ROWS, values_only=True)
    for number, cells in enumerate(rows, start=1):
        if len(cells) > _MOST_CELLS:
            raise BadInput(
                f"{path.name} row {number}: it has {len(cells)} cells; at most {_MOST_CELLS} are "
                "read. Delete the columns that are not needed."
            )
        texts = [_text(cell) for cell in cells]
        if any(text.strip() for text in texts):
            yield number, texts


def _check_zip(path: Path, held: io.BytesIO) -> None:
    """Refuse what is no zip, or too large once unpacked, before anything of it is kept."""
    try:
        with zipfile.ZipFile(held) as parts:
            listed = parts.infolist()
            size = sum(part.file_size for part in listed)
            if size > MOST_BYTES or len(listed) > _MOST_PARTS:
                raise BadInput(
                    f"{path} would unpack to {size} bytes in {len(listed)} parts; at most "
                    f"{MOST_BYTES} in {_MOST_PARTS} are read. Check the file."
                )
            tags = sum(_tags(parts, part) for part in listed if part.filename.endswith(_XML))
    except (zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, OSError, EOFError) as error:
        raise BadInput(f"{path} is no xlsx file: {error}. Fetch it again.") from None
    if tags > _MOST_TAGS:
        raise BadInput(f"{path} holds over {_MOST_TAGS} cells and other elements. Check the file.")


def _tags(parts: zipfile.ZipFile, part: zipfile.ZipInfo) -> int:
    """How many elements an XML part has, about: each is an object when it is read."""
    with parts.open(part) as file:
        return sum(piece.count(b"<") for piece in iter(lambda: file.read(1 << 20), b""))


def _text(cell: Any) -> str:
    if cell is None or cell != cell:  # NaN
        return ""
    if isinstance(cell, str):
        told = _ESCAPED.sub(lambda code: _CHARACTERS.get(code[1].upper(), code[0]), cell)
        return "" if cell in _NO_VALUES else told
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)
