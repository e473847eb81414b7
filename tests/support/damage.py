"""Ways a downloaded file can be wrong, and what every refusal of it must look like."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overread.case import BadInput


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def _put(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _lines(change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        _put(path, "\n".join(change(_text(path).rstrip("\n").split("\n"))).encode() + b"\n")

    return damage


def _third(change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        rows = list(csv.reader(io.StringIO(_text(path), newline="")))
        rewrite(path, [*rows[:2], change(rows[2]), *rows[3:]])

    return damage


def _cut(path: Path) -> None:
    path.write_bytes(gzip.compress(_text(path).encode(), mtime=0)[:-20])


# What is done to a csv file, and words the refusal has.
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (lambda path: _put(path, b""), "empty"),
    "header alone": (_lines(lambda lines: lines[:1]), "no rows"),
    "Latin-1": (lambda path: _put(path, _text(path).encode() + b"\xe9t\xe9\n"), "UTF-8"),
    "NUL": (lambda path: _put(path, _text(path).encode() + b"\0\n"), "NUL"),
    "web page": (lambda path: _put(path, b"<!DOCTYPE html>\n<html>Log in</html>\n"), "web page"),
    "damaged gzip": (_cut, "damaged gzip"),
    "cell too few": (_third(lambda cells: cells[:-1]), "row [0-9]+: .* cells"),
    "cell too many": (_third(lambda cells: [*cells, "9"]), "row [0-9]+: .* cells"),
    "quote never closed": (_lines(lambda lines: [lines[0], '"' + lines[1], *lines[2:]]), "quote"),
    "other columns": (_lines(lambda lines: ["these,are,others", *lines[1:]]), "no column"),
    "column twice": (
        _lines(lambda lines: [f"{lines[0]},{lines[0].split(',')[0]}", *(f"{x}," for x in lines[1:])]),
        "more than one column",
    ),
}  # fmt: skip


def edit(path: Path, row: int, column: str, value: str) -> None:
    """Change one cell; rows are counted as in an editor, the header is row 1."""
    rows = list(csv.reader(io.StringIO(_text(path), newline="")))
    rows[row - 1][rows[0].index(column)] = value
    rewrite(path, rows)


def repeat(path: Path, row: int) -> None:
    """Put a row a second time, right below itself."""
    rows = list(csv.reader(io.StringIO(_text(path), newline="")))
    rows.insert(row, rows[row - 1])
    rewrite(path, rows)


def rename(path: Path, column: str, name: str) -> None:
    """Call a column something else."""
    head, _, body = _text(path).partition("\n")
    cells = [name if cell == column else cell for cell in head.split(",")]
    assert cells != head.split(",")
    _put(path, f"{','.join(cells)}\n{body}".encode())


def rewrite(path: Path, rows: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    _put(path, text.getvalue().encode())


def refusal(call: Callable[[], Any], *words: str) -> str:
    """The one line a call is refused with; it must have these words (patterns) and a full stop."""
    with pytest.raises(BadInput) as refused:
        call()
    line = str(refused.value)
    assert "\n" not in line
    assert line.endswith(".")
    for word in words:
        assert re.search(word, line), f"{word!r} is not in {line!r}"
    return line
