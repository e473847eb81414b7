"""The first sheet of an xlsx file as rows of text; every complaint is one line that names it."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime, time
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from overread.case import BadInput
from overread.files import read_bytes

# An xlsx is a zip: a few kilobytes of it may unpack to gigabytes. The official file is below 10 MB.
MOST_BYTES: Final = 64 << 20
_MOST_PARTS: Final = 10_000
# The official file has some 100,000; reading a million takes about ten seconds.
_MOST_TAGS: Final = 2_000_000
_XML: Final = (".xml", ".rels", ".vml")
_UNPACKING: Final = (EOFError, OSError, zlib.error)
# Excel's own last row; a sheet may name a later one, and would be filled up to there.
_MOST_ROWS: Final = 1_048_576
_MOST_COLUMNS: Final = 1024
# How Excel keeps characters that XML cannot hold; line breaks of old files among them.
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


def sheet_of(path: Path, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Each row as (its number in the sheet, cells by column); the header is row 1.

    Formulas count by the value kept with them, and numbers are written as Python writes them. An
    empty cell and a value that is none ("#N/A") are empty texts. Rows without any text are skipped.
    """
    (_, first), *rows = _rows(path) or [(1, [])]
    header = [name.strip() for name in first]
    missing = [column for column in needed if column not in header]
    if missing:
        has = ", ".join(name for name in header if name)
        shown = has if len(has) <= 120 else has[:120] + "…"
        raise BadInput(
            f"{path} has no column {', '.join(missing)}; its columns are {shown or 'none'}. Check "
            "that this is the file meant, and that the header stands in its first row."
        )
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise BadInput(f"{path} has more than one column {', '.join(twice)}. Keep one.")
    return [
        (number, {name: cell for name, cell in zip_longest(header, cells, fillvalue="") if name})
        for number, cells in rows
    ]


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Every row that has any text, with its number."""
    held = io.BytesIO(read_bytes(path, at_most=MOST_BYTES))
    _check(path, held)
    from openpyxl import load_workbook

    try:
        with warnings.catch_warnings():
            # Of styles and extensions it does not know; cells are all that is read here.
            warnings.simplefilter("ignore")
            with closing(load_workbook(held, read_only=True, data_only=True)) as book:
                return list(_cells(path, book))
    except (BadInput, MemoryError):
        raise
    except Exception as error:  # zip and XML of other people: whatever is raised is one refusal
        why = (" ".join(str(error).split()) or type(error).__name__)[:120].rstrip(".")
        raise BadInput(f"{path} is a damaged xlsx file: {why}. Fetch it again.") from None


def _cells(path: Path, book: Any) -> Iterator[tuple[int, list[str]]]:
    if not book.worksheets:
        raise BadInput(f"{path} has no sheet. Fetch it again.")
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what it says of its own size may be wrong
    rows = sheet.iter_rows(max_row=_MOST_ROWS, values_only=True)
    for number, cells in enumerate(rows, start=1):
        if len(cells) > _MOST_COLUMNS:
            raise BadInput(
                f"{path.name} row {number}: it has {len(cells)} cells; at most {_MOST_COLUMNS} are "
                "read. Delete the columns that are not needed."
            )
        texts = [_text(cell) for cell in cells]
        if any(text.strip() for text in texts):
            yield number, texts


def _check(path: Path, held: io.BytesIO) -> None:
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
    except (
        zipfile.BadZipFile,
        ValueError,
        NotImplementedError,
        RuntimeError,
        *_UNPACKING,
    ) as error:
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
        return "" if cell in _NO_VALUES else _ESCAPED.sub(_unescaped, cell)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime | date | time):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    return str(cell)


_NO_VALUES: Final = frozenset(
    {"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "nan", "NaN"}
)


def _unescaped(found: re.Match[str]) -> str:
    """A carriage return is dropped, since a line feed stands beside it; other codes stay."""
    code = int(found[1], 16)
    if code == 0x0D:
        return ""
    return chr(code) if code in (0x09, 0x0A, 0x5F) else found[0]
