"""TIFF and BigTIFF, down to the tags that hold pixels."""

from __future__ import annotations

import struct
from typing import NamedTuple

from overread.case import BadInput
from overread.imaging._budget import hold
from overread.imaging._jpeg import check_work, scans_in
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
_STRIPS, _STRIP_BYTES, _STRIP_ROWS, _COMPRESSION, _SAMPLES = 273, 279, 278, 259, 277
_TILES, _TILE_BYTES = 324, 325
_JPEGS = (6, 7)
# Far beyond what is written: a page has some twenty tags, a file a thumbnail or five, and a strip
# holds several rows.
_MOST_TAGS, _MOST_PAGES, _MOST_VALUES = 1 << 12, 1 << 10, 1 << 18


class _Entry(NamedTuple):
    """A tag as it is written, and where its values stand in the file."""

    raw: bytes
    kind: int
    length: int
    start: int


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
    if count > _MOST_TAGS or count * (head + layout.field) > len(data) - at:
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
        most = 1 if tag in _ONE_VALUE else _MOST_VALUES
        if not size or start + size > len(data) or length > most:
            refuse_damaged(name, f"TIFF tag {tag} makes no sense")
        entries[tag] = _Entry(raw, kind, length, start)
    return _Page(entries, layout.number(layout.offset, data, at))


def _value(data: bytes, page: _Page, tag: int, default: int, layout: _Layout) -> int:
    return next(iter(_values(data, page, tag, layout, 1)), default)


def _values(
    data: bytes, page: _Page, tag: int, layout: _Layout, most: int = _MOST_VALUES
) -> tuple[int, ...]:
    """The whole numbers of a tag; none where it is missing or holds others."""
    entry = page.entries.get(tag)
    code = _INTEGER.get(entry.kind) if entry else None
    if entry is None or code is None:
        return ()
    return struct.unpack_from(f"{layout.order}{min(most, entry.length)}{code}", data, entry.start)


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
            if (
                not _value(data, other, _SUBFILE, 0, layout) & _REDUCED_OR_MASK
                or len(seen) > _MOST_PAGES
            ):
                raise BadInput(f"{name}: a TIFF of several pages. Save the page to show by itself.")
            following = other.following
    except struct.error:
        refuse_damaged(name, "the TIFF ends within its header")

    def value(tag: int, default: int) -> int:
        return _value(data, page, tag, default, layout)

    width, height, bits = value(_WIDTH, 0), value(_HEIGHT, 0), value(_BITS, 1)
    check_size(width, height, name)
    # What libtiff decodes at once: a tile, or a strip of some rows.
    part = value(_TILE_WIDTH, width), value(_TILE_HEIGHT, min(height, value(_STRIP_ROWS, height)))
    check_size(*part, name)
    hold(part[0] * part[1] * max(4, value(_SAMPLES, 1) * -(-bits // 8)) + 2 * len(data), name)
    if value(_COMPRESSION, 1) in _JPEGS:
        starts = _values(data, page, _TILES, layout) or _values(data, page, _STRIPS, layout)
        long = _values(data, page, _TILE_BYTES, layout) or _values(data, page, _STRIP_BYTES, layout)
        if sum(long) > 2 * len(data):
            refuse_damaged(name, "its parts lie over each other")
        scans = sum(scans_in(data, s, s + n) for s, n in zip(starts, long, strict=False))
        check_work(scans, part[0] * part[1], name)
    orientation = value(_ORIENTATION, 1)
    return Plain(
        _with_one_page(data, page, layout),
        orientation if 1 <= orientation <= 8 else 1,
        bits,
        signed=value(_SAMPLE_FORMAT, 1) != 1,
        # Pillow turns white-is-zero round for up to 8 bits and leaves it for more.
        inverted=bits > 8 and value(_PHOTOMETRIC, 1) == 0,
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
