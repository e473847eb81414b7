"""TIFF and BigTIFF, down to the tags that hold pixels."""

from __future__ import annotations

import struct
from typing import NamedTuple

from overread.case import BadInput
from overread.imaging._plain import Plain, check_size, refuse_damaged

MAGICS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SUBFILE, _WIDTH, _HEIGHT, _BITS, _PHOTOMETRIC = 254, 256, 257, 258, 262
_ORIENTATION, _TILE_WIDTH, _TILE_HEIGHT, _SAMPLE_FORMAT = 274, 322, 323, 339
# What a decoder needs; orientation is applied by us, everything else describes, it does not draw.
_ONE_VALUE = frozenset({256, 257, 259, 262, 266, 277, 278, 284, 317, 322, 323})
_DRAWS = _ONE_VALUE | {258, 273, 279, 292, 293, 320, 324, 325, 332, 338, 339, 347, 529, 530, 532}
_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_BYTES |= {16: 8, 17: 8, 18: 8}
_INTEGER = {1: "B", 3: "H", 4: "L", 13: "L", 16: "Q", 18: "Q"}
_REDUCED_OR_MASK = 0b101


class _Entry(NamedTuple):
    raw: bytes
    kind: int
    values: bytes


class _Page(NamedTuple):
    entries: dict[int, _Entry]
    following: int


class _Layout:
    """The four ways a TIFF writes numbers: byte order, and classic or Big."""

    def __init__(self, data: bytes) -> None:
        self.order = "<" if data[:2] == b"II" else ">"
        self.big = b"+" in data[2:4]
        self.count, self.entry, self.offset = ("Q", "HHQ", "Q") if self.big else ("H", "HHL", "L")
        self.field = 8 if self.big else 4
        self.first_at = 8 if self.big else 4

    def number(self, code: str, data: bytes, at: int) -> int:
        (value,) = struct.unpack_from(self.order + code, data, at)
        return int(value)


def _read_page(data: bytes, at: int, layout: _Layout, name: str) -> _Page:
    entries: dict[int, _Entry] = {}
    count = layout.number(layout.count, data, at)
    at += struct.calcsize(layout.order + layout.count)
    head = struct.calcsize(layout.order + layout.entry)
    if count * (head + layout.field) > len(data) - at:
        refuse_damaged(name, "a TIFF page list runs past the end")
    for _ in range(count):
        tag, kind, length = struct.unpack_from(layout.order + layout.entry, data, at)
        raw = data[at : at + head + layout.field]
        at += head + layout.field
        if tag not in _DRAWS and tag not in (_SUBFILE, _ORIENTATION):
            continue
        size = _BYTES.get(kind, 0) * length
        start = at - layout.field
        if size > layout.field:
            start = layout.number(layout.offset, data, start)
        if not size or start + size > len(data) or (tag in _ONE_VALUE and length != 1):
            refuse_damaged(name, f"TIFF tag {tag} makes no sense")
        entries[tag] = _Entry(raw, kind, data[start : start + size])
    return _Page(entries, layout.number(layout.offset, data, at))


def _value(page: _Page, tag: int, default: int, layout: _Layout) -> int:
    entry = page.entries.get(tag)
    code = _INTEGER.get(entry.kind) if entry else None
    return layout.number(code, entry.values, 0) if entry and code else default


def strip(data: bytes, name: str) -> Plain:
    """Keep one page's drawing tags: a fresh page list is added at the end and pointed to.

    A second page is refused, since which one is meant is not ours to guess; thumbnails and masks
    (marked as such in their page) are no pages.
    """
    layout = _Layout(data)
    try:
        at = layout.number(layout.offset, data, layout.first_at)
        page = _read_page(data, at, layout, name)
        seen, following = {at}, page.following
        while following and following not in seen:
            seen.add(following)
            other = _read_page(data, following, layout, name)
            if not _value(other, _SUBFILE, 0, layout) & _REDUCED_OR_MASK:
                raise BadInput(f"{name}: a TIFF of several pages. Save the page to show by itself.")
            following = other.following
    except struct.error:
        refuse_damaged(name, "the TIFF ends within its header")
    check_size(_value(page, _WIDTH, 0, layout), _value(page, _HEIGHT, 0, layout), name)
    check_size(_value(page, _TILE_WIDTH, 1, layout), _value(page, _TILE_HEIGHT, 1, layout), name)
    bits = _value(page, _BITS, 1, layout)
    orientation = _value(page, _ORIENTATION, 1, layout)
    return Plain(
        _with_one_page(data, page, layout),
        orientation if 1 <= orientation <= 8 else 1,
        bits,
        signed=_value(page, _SAMPLE_FORMAT, 1, layout) != 1,
        # Pillow turns white-is-zero round for up to 8 bits and leaves it for more.
        inverted=bits > 8 and _value(page, _PHOTOMETRIC, 1, layout) == 0,
    )


def _with_one_page(data: bytes, page: _Page, layout: _Layout) -> bytes:
    drawing = sorted(tag for tag in page.entries if tag in _DRAWS)
    body = data + b"\0" * (-len(data) % 8)
    return b"".join(
        (
            body[: layout.first_at],
            struct.pack(layout.order + layout.offset, len(body)),
            body[layout.first_at + layout.field :],
            struct.pack(layout.order + layout.count, len(drawing)),
            *(page.entries[tag].raw for tag in drawing),
            struct.pack(layout.order + layout.offset, 0),
        )
    )
