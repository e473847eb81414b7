"""A PNG sent in its file's own bytes, where these are already what would be sent."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from isal import isal_zlib
from isal.igzip_lib import IsalError

from overread.case import Operation, Resize, Within
from overread.imaging import _formats as formats
from overread.imaging._budget import budgeted, check_time, hold

_GREY, _RGB = 0, 2  # as the header of a PNG counts colours


@budgeted
def own_png(data: bytes, name: str, operations: Sequence[Operation]) -> bytes | None:
    """The file without its metadata, if that is a PNG of what the recipe shows; None otherwise.

    That it is needs no decoding. The opened file is of eight bits, grey or RGB, as it would be
    written: without alpha, palette, interlacing or a turn to be made, and every operation leaves a
    picture of its size as it is. What we send is then the very file that `open_image` decodes. It
    is whole: checksums, the length of its inflated rows and their filters are looked at. Where one
    of them is off the answer is None, and whoever decodes it says what is wrong with it. So is it
    for a file that is larger than its pixels.
    """
    if not data.startswith(formats.PNG) or data[128:132] == b"DICM" or len(data) < 33:
        return None
    width, height, *kind = struct.unpack_from(">LLBBBBB", data, 16)
    if kind not in ([8, _GREY, 0, 0, 0], [8, _RGB, 0, 0, 0]):
        return None
    if not all(_leaves(operation, width, height) for operation in operations):
        return None
    plain = formats.strip_png(data, name)
    if plain.orientation != 1:
        return None
    row = 1 + width * (3 if kind[1] == _RGB else 1)
    if len(plain.data) > height * row:
        return None
    hold(len(plain.data) + 2 * height * row, name)
    packed = _checked_pixels(plain.data)
    if packed is None:
        return None
    inflating = isal_zlib.decompressobj()
    try:
        rows = inflating.decompress(packed, height * row + 1)
    except IsalError:  # type: ignore[misc]  # its stub declares an instance
        return None
    check_time(name)
    whole = inflating.eof and not inflating.unused_data and len(rows) == height * row
    return plain.data if whole and max(rows[::row]) <= 4 else None


def _leaves(operation: Operation, width: int, height: int) -> bool:
    """Whether an operation leaves every picture of this size as it is."""
    match operation:
        case Resize():
            return (operation.width, operation.height) == (width, height)
        case Within(px):
            return max(width, height) <= px
        case _:
            return False


def _checked_pixels(data: bytes) -> bytes | None:
    """The deflated rows of a PNG of header, pixels and end alone, all with their checksums."""
    kinds, packed, at = [], [], len(formats.PNG)
    while at < len(data):
        (length,) = struct.unpack_from(">L", data, at)
        end = at + 8 + length
        if isal_zlib.crc32(memoryview(data)[at + 4 : end]) != int.from_bytes(data[end : end + 4]):
            return None
        kinds.append(data[at + 4 : at + 8])
        packed.append(data[at + 8 : end])
        at = end + 4
    header, *pixels, last = kinds
    if (header, last) != (b"IHDR", b"IEND") or len(packed[0]) != 13 or packed[-1]:
        return None
    return b"".join(packed[1:-1]) if set(pixels) == {b"IDAT"} else None
