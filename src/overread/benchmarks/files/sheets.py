"""Reading CSV files other people made: as a stream, with every complaint naming file and row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from overread.benchmarks.files.csv_text import mark_of
from overread.case import BadInput
from overread.files import MOST_TABLE, open_file, read_bytes

__all__ = ["rows_of"]

# A line of nothing but commas would be a list of as many cells.
_LONGEST_LINE: Final = 1 << 23


def rows_of(
    path: Path, needed: Sequence[str], *, at_most: int = MOST_TABLE
) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row of a CSV file as (line it starts on, cells by column); the header is line 1.

    UTF-8 with or without a byte-order mark, any line ends, commas or semicolons between cells.
    Empty cells stay empty strings: a reply may really be empty, or be the word `nan`. Blank lines
    are skipped.
    """
    lines = _lines(path, at_most)
    head = next(lines, "")
    # Strict: a stray quote must not quietly make one row of two.
    reader = csv.reader(chain([head], lines), strict=True, delimiter=mark_of(head))
    header = [name.strip() for name in _next(reader, path, 1) or ()]
    if not any(header):
        raise BadInput(f"{path} is empty. Give a CSV file with a header.")
    missing = [column for column in needed if column not in header]
    if missing:
        names = ", ".join(missing)
        raise BadInput(f"{path} has no column {names}. Add what is missing, empty if need be.")
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise BadInput(f"{path} has more than one column {', '.join(twice)}. Keep one.")
    while True:
        line = reader.line_num + 1
        cells = _next(reader, path, line)
        if cells is None:
            return
        if not cells:
            continue
        if len(cells) != len(header):
            raise BadInput(
                f"{path.name} row {line}: it has {len(cells)} cells and the header {len(header)}. "
                "Fix the row; a text with commas or line breaks stands in double quotes."
            )
        yield line, dict(zip(header, cells, strict=True))


def _next(reader: Iterator[list[str]], path: Path, line: int) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        raise BadInput(
            f"{path.name} row {line}: {error}. Look for a quote that is never closed."
        ) from None


def _lines(path: Path, at_most: int) -> Iterator[str]:
    with open_file(path, at_most=at_most) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            for number, line in enumerate(iter(lambda: text.readline(_LONGEST_LINE), ""), start=1):
                if "\0" in line:
                    raise BadInput(
                        f"{path.name} row {number}: it holds a NUL byte, so this is not a CSV "
                        "file. Save it as CSV in UTF-8."
                    )
                if len(line) == _LONGEST_LINE:
                    raise BadInput(
                        f"{path.name} row {number}: it has over {_LONGEST_LINE} characters. Check "
                        "the file."
                    )
                yield line
        except UnicodeDecodeError:
            raise BadInput(_not_utf8(path)) from None
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}.") from None


def _not_utf8(path: Path) -> str:
    """Which row is at fault: the stream only knows the block, so the bytes are read again."""
    data, where = read_bytes(path), 0
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as found:
        where = found.start
    row = data.count(b"\n", 0, where) + 1
    return f"{path.name} row {row}: byte 0x{data[where]:02x} is not UTF-8. Save it as CSV in UTF-8."
