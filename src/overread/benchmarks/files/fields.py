"""A row that complains: what somebody else's file says of one thing, read field by field.

A row of a csv, parquet or xlsx file and an object of JSON are all `Fields`. A getter gives a value
of the kind asked for, or refuses the row in one form: `manifest.csv row 17: box_w is "-3"; a box
needs a width above 0. Fix the row.`
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from overread.benchmarks.files.sheets import UTF8_MARK, mark_of, quoted, rows_of, sheet_of
from overread.case import BadInput, Box
from overread.files import decimal, open_file, read_bytes

T = TypeVar("T")

# What decoding JSON may raise: a recursion error is a text of nothing but opening brackets.
JSON_ERRORS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
_FIX_ROW: Final = "Fix the row."
_FLAGS: Final = {"yes": 1, "present": 1, "no": 0, "absent": 0}
_FARTHEST: Final = 100_000
_LONGEST_HEADER: Final = 1 << 20
_PEEK: Final = 1 << 16
_LONGEST_OBJECT: Final = 1 << 24


class Fields(msgspec.Struct, frozen=True):
    """The cells of a row by column, or the fields of an object, and where it stands."""

    # "manifest.csv row 17", "items.jsonl line 3", "test.json item 9".
    where: str
    cells: Mapping[str, Any]
    # What to do about a fault.
    remedy: str = _FIX_ROW
    # Another row about the same thing, which says what this one leaves empty.
    beside: Fields | None = None

    def wrong(self, name: str, need: str) -> NoReturn:
        """Refuse the row for one of its values."""
        if self.beside is not None and not self.cells.get(name) and self.beside.cells.get(name):
            self.beside.wrong(name, need)
        value = quoted(self.cells.get(name))
        raise BadInput(f'{self.where}: {name} is "{value}"; {need}. {self.remedy}')

    def raw(self, name: str) -> Any:
        """The value as it is; None where there is none here nor beside."""
        value = self.cells.get(name)
        if (value is None or value == "") and self.beside is not None:
            return self.beside.raw(name)
        return value

    # ------------------------------------------------------------ texts

    def text(self, name: str) -> str:
        """A field as text, blanks kept: JSON may have a number or a truth value, null is empty."""
        value = self.raw(name)
        if value is None:
            return ""
        if not isinstance(value, str | int | float):
            self.wrong(name, "it is a text")
        return str(value)

    def fact(self, name: str) -> str | None:
        """A field as text without outer blanks; None where it is empty or missing."""
        value = self.cells.get(name)
        if isinstance(value, str) and value:
            return value.strip() or None
        if not value and self.beside is None and (value is None or value == ""):
            return None
        return self.text(name).strip() or None

    def facts(self, names: Sequence[str]) -> dict[str, str | None]:
        """Each of these fields as `fact` has it: a set has dozens of fields a row."""
        found: dict[str, str | None] = {}
        for name in names:
            value = self.cells.get(name) if self.beside is None else self.fact(name)
            if isinstance(value, str):
                found[name] = value.strip() or None
            else:
                found[name] = None if value is None else self.fact(name)
        return found

    def required(self, name: str, need: str = "every row needs one") -> str:
        """A field as text without outer blanks that may not be empty."""
        return self.fact(name) or self.wrong(name, need)

    def lenient(self, name: str) -> str:
        """A field as text; empty for null and for whatever is no text or number."""
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        return str(value)

    def choice(self, name: str, words: Sequence[T], need: str) -> T | None:
        """One of these words, None where the field is empty."""
        text = self.fact(name)
        if text is None:
            return None
        return next((word for word in words if str(word) == text), None) or self.wrong(name, need)

    def texts(self, name: str, need: str = "it is a list of names") -> tuple[str, ...]:
        """A list of texts: JSON's own, JSON in a cell, or a cell by semicolons; blanks go."""
        given = self.raw(name)
        if isinstance(given, str):
            cell = given.strip()
            given = self.decoded(name) if cell.startswith("[") else cell.split(";")
        if given is None:
            return ()
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            self.wrong(name, need)
        return tuple(text.strip() for text in given if text.strip())

    def decoded(self, name: str, need: str = "it is no JSON") -> Any:
        """A value of JSON, which a csv has as the text of a cell; None where it is empty."""
        value = self.raw(name)
        if not isinstance(value, str):
            return value
        try:
            return msgspec.json.decode(value) if value.strip() else None
        except JSON_ERRORS:
            self.wrong(name, need)

    # ------------------------------------------------------------ numbers

    def number(
        self, name: str, need: str = "it is a number", *, low: float = -inf, high: float = inf
    ) -> float:
        """A finite number, both bounds included."""
        value = decimal(self.text(name))
        if value is None or not low <= value <= high:
            self.wrong(name, need)
        return value

    def whole(self, name: str, need: str = "", *, low: float = -inf, high: float = inf) -> int:
        """A whole number, both bounds included; `need` says what lies within them."""
        value = self.number(name)
        if value != int(value):
            self.wrong(name, "it is a whole number")
        if not low <= value <= high:
            self.wrong(name, need)
        return int(value)

    def flag(self, name: str) -> int:
        """0 or 1, also as no and yes or absent and present."""
        word = (self.fact(name) or "").lower()
        return _FLAGS[word] if word in _FLAGS else self.whole(name, "it is 0 or 1", low=0, high=1)

    def if_given(self, name: str, read: Callable[[str], T]) -> T | None:
        """What a getter reads of a field, None where the field is empty."""
        return None if self.fact(name) is None else read(name)

    # ------------------------------------------------------------ boxes

    def box(self, columns: Sequence[str]) -> Box | None:
        """A box of four columns: left, top, width and height in pixels; all of them, or none."""
        given = [column for column in columns if self.fact(column) is not None]
        if not given:
            return None
        if len(given) < len(columns):
            empty = next(column for column in columns if column not in given)
            self.wrong(empty, f"a box needs all of {', '.join(columns)}, or none")
        need = f"boxes are in pixels of the working resolution, below {_FARTHEST}"
        x, y, w, h = (
            self.whole(column, need, low=-_FARTHEST, high=_FARTHEST) for column in columns
        )
        if w <= 0:
            self.wrong(columns[2], "a box needs a width above 0")
        if h <= 0:
            self.wrong(columns[3], "a box needs a height above 0")
        return Box(x, y, w, h)

    def boxes(self, name: str) -> tuple[Box, ...]:
        """`x y w h` of each box, joined by semicolons."""
        boxes: list[Box] = []
        given = self.fact(name)
        if given is None:
            return ()
        for words in given.split(";"):
            if not words.strip():
                continue
            sides = words.split()
            if len(sides) != 4 or not all(side.isascii() and side.isdecimal() for side in sides):
                self.wrong(name, 'a box is "x y w h" in pixels, joined by ";"')
            x, y, w, h = map(int, sides)
            if not w or not h or max(x, y, w, h) > _FARTHEST:
                self.wrong(name, f"sides are above 0, and all below {_FARTHEST}")
            boxes.append(Box(x, y, w, h))
        return tuple(boxes)


def refuse_twice(taken: dict[str, str], name: str, where: str, remedy: str) -> None:
    """Refuse a second row of one name; `taken` says where each stands."""
    first = taken.setdefault(name, where)
    if first != where:
        raise BadInput(f'{where}: the case "{name}" stands in {first} already. {remedy}')


# ---------------------------------------------------------------- rows of a file


def read_fields(path: Path, needed: Sequence[str] = ()) -> Iterator[Fields]:
    """Each row or object of a csv, xlsx, parquet, JSON or JSON lines file, in its order.

    `needed` are the columns of a table that must be there. A file without a suffix is a csv.
    """
    suffix, called = path.suffix.lower(), "row"
    found: Iterable[tuple[int, Mapping[str, Any]]]
    if suffix in ("", ".csv"):
        found = rows_of(path, needed)
    elif suffix == ".xlsx":
        found = sheet_of(path, needed)
    elif suffix == ".parquet":
        found = enumerate(_parquet_rows(path))
    else:
        found, called = (lines_of(path), "line") if suffix == ".jsonl" else (list_of(path), "item")
    remedy = _FIX_ROW if called == "row" else "Fix it."
    for place, cells in found:
        yield Fields(f"{path.name} {called} {place}", cells, remedy)


def data_of(path: Path) -> bytes:
    """The bytes of a file, without the mark that some editors put first."""
    return read_bytes(path).removeprefix(UTF8_MARK)


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line of JSON lines as (its number, its object); blank lines are skipped."""
    for number, line in enumerate(io.BytesIO(data_of(path)), start=1):
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=dict[str, Any])
        except JSON_ERRORS as error:
            why = quoted(error, 400).rstrip(".")
            raise BadInput(
                f"{path.name} line {number} is no JSON object: {why}. Fix the line."
            ) from None


def list_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a JSON list as (its place from 1, the object)."""
    try:
        found = msgspec.json.decode(data_of(path), type=list[Any])
    except JSON_ERRORS as error:
        why = quoted(error, 400).rstrip(".")
        raise BadInput(
            f"{path.name} is no JSON list of objects: {why}. Fetch or write it again."
        ) from None
    for place, given in enumerate(found, start=1):
        if not isinstance(given, dict):
            raise BadInput(f"{path.name} item {place} is no JSON object. Fix it.")
        yield place, given


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a parquet file without the pictures in them, which nobody needs yet."""
    import polars as pl

    try:
        schema = pl.read_parquet_schema(path)
        kept = [name for name, kind in schema.items() if "Binary" not in str(kind)]
        frame = pl.read_parquet(path, columns=kept)
    except (OSError, pl.exceptions.PolarsError) as error:
        why = quoted(error, 120)
        raise BadInput(f"{path} cannot be read as parquet: {why}. Fetch it again.") from None
    yield from frame.iter_rows(named=True)


def fields_of(path: Path) -> frozenset[str]:
    """The columns of a table, or the fields of its first object; nothing of an unreadable file."""
    try:
        found = path.stat()
    except OSError:
        return frozenset()
    return _known_fields(path, found.st_size, found.st_mtime_ns)


# Every layout looks at the same files.
@lru_cache(4096)
def _known_fields(path: Path, size: int, mtime_ns: int) -> frozenset[str]:
    suffix, found = path.suffix.lower(), list[str]()
    if suffix == ".parquet":
        import polars as pl

        with suppress(BadInput, OSError, pl.exceptions.PolarsError):
            open_file(path).close()
            found = list(pl.read_parquet_schema(path))
    elif suffix == ".csv":
        with suppress(BadInput, OSError, UnicodeError, csv.Error), open_file(path) as file:
            head = io.TextIOWrapper(file, "utf-8-sig", newline="").readline(_LONGEST_HEADER)
            found = next(csv.reader([head], delimiter=mark_of(head)), found)
    elif suffix in (".json", ".jsonl"):
        found = list(first_object(path))
    return frozenset(name.strip() for name in found)


def first_object(path: Path) -> dict[str, Any]:
    """The first object of a JSON list or of JSON lines; empty where there is none to be read.

    Only the head of the file is looked at, unless that object is longer.
    """
    import json

    try:
        with open_file(path) as file:
            head = file.read(_PEEK)
            text = _opened(head)
            try:
                found, _ = json.JSONDecoder().raw_decode(text)
            except ValueError:
                found, _ = json.JSONDecoder().raw_decode(_opened(head + file.read(_LONGEST_OBJECT)))
    except (BadInput, OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _opened(data: bytes) -> str:
    """The text from the first object on."""
    text = data.removeprefix(UTF8_MARK).decode("utf-8", "replace").lstrip()
    return text[1:].lstrip() if text.startswith("[") else text
