"""How large the pages of a parquet file's images are, before any is inflated.

polars inflates the pages that hold the rows asked for, whatever their size: 70 kB may stand for
a gigabyte. The sizes stand in the file's footer and in front of each page, in Thrift's compact
protocol, of which the little that is needed is read here.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from overread.imaging._budget import check_time, hold

__all__ = ["Damaged", "Page", "pages_of"]

_MARK = b"PAR1"
_MOST_FOOTER = 1 << 23
_IN_MEMORY = 40  # bytes that a byte of the footer becomes, as numbers and dictionaries
_FIRST_LOOK = 1 << 12  # bytes: most heads of pages are shorter
_DEEPEST, _LONGEST_NAME = 16, 256
_DICTIONARY = 2
_FIXED = {3: 1, 7: 8, 13: 16}


class Damaged(Exception):
    """Why the pages cannot be found."""


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
        if head >> 4:
            number += head >> 4
        else:
            number, at = _whole(data, at)
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
    count = head >> 4
    if count == 15:
        count, at = _varint(data, at)
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
    value = shift = 0
    while shift < 70:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7
    raise ValueError


def _whole(data: bytes, at: int) -> tuple[int, int]:
    """Signed numbers alternate: 0, -1, 1, -2."""
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at
