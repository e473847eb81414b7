"""Images inside a parquet file of the Hugging Face layout: a column `image` of bytes and path."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from overread.case import BadInput
from overread.imaging._archive import MOST_BYTES, Damaged, Place, real_path
from overread.imaging._budget import budgeted, check_time, hold
from overread.imaging._formats import one_line
from overread.imaging.darkroom import mark_of

if TYPE_CHECKING:
    import polars as pl

# Rows are read in blocks of about so many bytes: neighbours are asked for one after another.
_BLOCK_BYTES = 16_000_000
_MOST_ROWS = 256


class Rows(msgspec.Struct, frozen=True, gc=False):
    """A parquet file of images as it was when it was opened."""

    path: str
    size: int
    mark: int
    count: int
    block: int
    pages: tuple[Page, ...]

    def number(self, name: str) -> int:
        """The row a source's name means. Raises BadInput if there is none."""
        if not (name.isascii() and name.isdigit() and len(name) < 16 and str(int(name)) == name):
            raise BadInput(
                f"{name!r}: an image in {self.path!r} is named by its row, 0 and up. Mend the name."
            )
        if int(name) >= self.count:
            raise BadInput(
                f"there is no row {name} in {self.path!r}, which has {self.count}. Fetch the whole "
                "file, or mend the number."
            )
        return int(name)

    def place(self, name: str) -> Place:
        """Where a row stands. Raises BadInput if there is none."""
        return Place(self.path, self.size, self.mark, f"{self.path}#{self.number(name)}")

    @budgeted
    def read(self, name: str) -> bytes:
        """The bytes of the image in this row."""
        number = self.number(name)
        hold(self._cost(number), f"row {name} of {self.path!r}")
        with _reading:
            images = _block(self, number // self.block)
        data = images[number % self.block]
        if data is None:
            raise BadInput(
                f"row {name} of {self.path!r} holds no image bytes. Fetch a file with its images "
                "inside."
            )
        if len(data) > MOST_BYTES:
            raise BadInput(
                f"row {name} of {self.path!r}: {len(data)} bytes is too large for one picture (at "
                f"most {MOST_BYTES}). Name another row."
            )
        return data

    def _cost(self, number: int) -> int:
        """Bytes that reading the block of a row takes, with all copies that are there at once."""
        first = number // self.block * self.block
        end = first + self.block
        read = [page for page in self.pages if page.first < end and page.end > first]
        inflated = sum(page.size + page.shared for page in read)
        valued = self.block * max((page.shared for page in read), default=0)
        return sum({page.beside for page in read}) + 3 * (inflated + valued)


def rows(path: str, found: os.stat_result) -> Rows:
    """The parquet file, opened once for as long as its state is the one that was `found`."""
    with _reading:
        return _opened(real_path(path), found.st_size, mark_of(found))


_reading = threading.Lock()


@functools.lru_cache(16)
@budgeted
def _opened(path: str, size: int, mark: int) -> Rows:
    import polars as pl

    with _damage_refused(path):
        pages = tuple(pages_of(path, path))
        count = int(_images(path).select(pl.len()).collect().item())
    # The largest image that may be: any of the dictionary's, or the average of a page.
    large = max(
        (max(page.shared, page.size // max(1, page.end - page.first)) for page in pages), default=0
    )
    block = max(1, min(_MOST_ROWS, _BLOCK_BYTES // max(1, large)))
    return Rows(path, size, mark, count, block, pages)


@functools.lru_cache(3)
def _block(file: Rows, number: int) -> list[bytes | None]:
    found = os.stat(file.path)
    if (found.st_size, mark_of(found)) != (file.size, file.mark):
        raise BadInput(f"{file.path!r} changed while it was read. Run the same command again.")
    with _damage_refused(file.path):
        taken = _images(file.path).slice(number * file.block, file.block).collect()
    return taken["image"].to_list()


def _images(path: str) -> pl.LazyFrame:
    import polars as pl

    frame = pl.scan_parquet(path, glob=False)
    kind = frame.collect_schema().get("image")
    column = pl.col("image")
    if kind == pl.Binary:
        return frame.select(column)
    if isinstance(kind, pl.Struct) and pl.Field("bytes", pl.Binary) in kind.fields:
        return frame.select(column.struct.field("bytes").alias("image"))
    raise BadInput(
        f"{path!r} has no column `image` that holds bytes. Give a parquet file with its images "
        "inside."
    )


@contextmanager
def _damage_refused(path: str) -> Iterator[None]:
    try:
        yield
    except BadInput:
        raise
    except Exception as error:  # hostile bytes: whatever the parser raises is one refusal
        why = one_line(error)
        raise BadInput(f"{path!r} cannot be read as parquet ({why}). Fetch it again.") from None


# ---------------------- How large the pages of a parquet file's images are, before any is inflated
#
# polars inflates the pages that hold the rows asked for, whatever their size: 70 kB may stand for
# a gigabyte. The sizes stand in the file's footer and in front of each page, in Thrift's compact
# protocol, of which the little that is needed is read here.

_MARK = b"PAR1"
_MOST_FOOTER = 1 << 23
_IN_MEMORY = 40  # bytes that a byte of the footer becomes, as numbers and dictionaries
_FIRST_LOOK = 1 << 12  # bytes: most heads of pages are shorter
_DEEPEST, _LONGEST_NAME = 16, 256
_DICTIONARY = 2
_FIXED = {3: 1, 7: 8, 13: 16}


class Page(NamedTuple):
    """Rows `first` to `end` in one page: its bytes inflated, and those that are read with it.

    `beside` are the bytes of its column of the row group as they lie in the file; `shared` those
    of the dictionary, any value of which every row may have.
    """

    first: int
    end: int
    size: int
    beside: int
    shared: int


def pages_of(path: str, name: str) -> list[Page]:
    """Every page of the column `image` and what lies below it, in the order of the rows.

    Raises Damaged and OSError.
    """
    pages: list[Page] = []
    with open(path, "rb", buffering=0) as file:
        handle = file.fileno()
        size = os.fstat(handle).st_size
        tail = os.pread(handle, 8, max(0, size - 8))
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MARK or not 0 < length <= min(_MOST_FOOTER, size - 8):
            raise Damaged("its end is missing, or its index too large")
        hold(length * _IN_MEMORY, name)
        first = 0
        try:
            footer, _ = _struct(os.pread(handle, length, size - 8 - length), 0)
            for group in footer[4]:
                for column in group[1]:
                    found = column[3]
                    if found[3][0] == b"image":
                        pages += _pages(handle, found, first, name)
                first += group[3]
        except (IndexError, KeyError, TypeError, ValueError):
            raise Damaged("its index makes no sense") from None
    return pages


def _pages(handle: int, column: dict[int, Any], first: int, name: str) -> list[Page]:
    """The pages of one column of one row group."""
    at = min(column[9], column.get(11) or column[9])
    beside, end = column[7], at + column[7]
    found: list[Page] = []
    shared = 0
    while at < end:
        check_time(name)
        head, length = _head(handle, at, end - at)
        size = head[2]
        if size < 0 or head[3] < 0:
            raise ValueError
        if head[1] == _DICTIONARY:
            shared += size
        else:
            rows = head[5][1] if 5 in head else head[8][1]
            found.append(Page(first, first + rows, size, beside, shared))
            first += rows
        at += length + head[3]
    return found


def _head(handle: int, at: int, most: int) -> tuple[dict[int, Any], int]:
    """What stands in front of a page, and how long that is; it may quote whole values."""
    look = _FIRST_LOOK
    while True:
        try:
            return _struct(os.pread(handle, min(look, most), at), 0)
        except IndexError:
            if look >= min(most, _MOST_FOOTER):
                raise
            look *= 8


def _struct(data: bytes, at: int, deep: int = 0) -> tuple[dict[int, Any], int]:
    """A structure by the numbers of its fields, and where it ends. IndexError where data ends."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        number, at = (number + (head >> 4), at) if head >> 4 else _whole(data, at)
        fields[number], at = _value(data, at, head & 15, deep)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, deep: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind in (4, 5, 6):
        return _whole(data, at)
    if kind in _FIXED:
        return None, at + _FIXED[kind]
    if kind == 8:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise IndexError
        return data[at : at + length] if length <= _LONGEST_NAME else b"", at + length
    if deep > _DEEPEST:
        raise ValueError
    if kind in (9, 10):
        return _list(data, at, deep + 1)
    if kind == 11:
        count, at = _varint(data, at)
        if count > len(data):
            raise IndexError
        kinds, at = (data[at], at + 1) if count else (0, at)
        for _ in range(count):
            _, at = _value(data, at, kinds >> 4, deep + 1)
            _, at = _value(data, at, kinds & 15, deep + 1)
        return None, at
    if kind == 12:
        return _struct(data, at, deep + 1)
    raise ValueError


def _list(data: bytes, at: int, deep: int) -> tuple[list[Any], int]:
    head, at = data[at], at + 1
    count, at = (head >> 4, at) if head >> 4 < 15 else _varint(data, at)
    if count > len(data):  # a value takes a byte at least
        raise IndexError
    values = []
    for _ in range(count):
        if head & 15 in (1, 2):
            value, at = data[at] == 1, at + 1
        else:
            value, at = _value(data, at, head & 15, deep)
        values.append(value)
    return values, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        value |= (data[at + place] & 127) << 7 * place
        if data[at + place] < 128:
            return value, at + place + 1
    raise ValueError


def _whole(data: bytes, at: int) -> tuple[int, int]:
    """Signed numbers alternate: 0, -1, 1, -2."""
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at
