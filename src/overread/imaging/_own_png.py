"""A PNG sent in its file's own bytes, where these are already what would be sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overread.case import Operation, Resize, Within
from overread.imaging._budget import budgeted, check_time, hold
from overread.imaging.darkroom import fits, is_whole, plain_png

if TYPE_CHECKING:
    from overread.imaging.darkroom import Size


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
    asked = sizes(operations)
    if asked is None or data[128:132] == b"DICM":
        return None
    hold(len(data), name)
    plain = plain_png(data)
    if plain is None:
        return None
    sent, packed, width, height, row = plain
    if not all(fits(size, width, height) for size in asked):
        return None
    hold(2 * height * row, name)
    whole = is_whole(packed, height, row)
    check_time(name)
    return bytes(sent) if whole else None


def sizes(operations: Sequence[Operation]) -> tuple[Size, ...] | None:
    """The sizes that are asked for, as `fits` takes them; None where more than a size is."""
    found: list[Size] = []
    for operation in operations:
        match operation:
            case Resize():
                found.append((operation.width, operation.height))
            case Within(px):
                found.append((px,))
            case _:
                return None
    return tuple(found)
