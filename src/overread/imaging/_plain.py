"""An image file stripped to what its pixels need, with its declared size checked.

Every container is walked here, before Pillow sees it, for three reasons. The declared size is
known before anything is decoded. Metadata (EXIF, XMP, ICC, text) never enters the process beyond
the one number we need, the orientation. And Pillow reports damaged metadata through `warnings`,
whose filters cannot be changed safely from threads: with no metadata there is nothing to warn of.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import NamedTuple, NoReturn

from overread.case import BadInput

# Pillow's own threshold for suspecting a decompression bomb: below it Pillow never warns.
MOST_PIXELS = 89_478_485


class Plain(NamedTuple):
    """A container without metadata, and what the pixels mean where Pillow does not say.

    `bits` and `signed` describe a grey sample as stored; `grey` says that all channels but alpha
    are one; `inverted` that 0 is white and Pillow leaves it so, or that CMYK inks are complemented.
    """

    data: bytes
    orientation: int = 1
    bits: int = 8
    signed: bool = False
    grey: bool = False
    inverted: bool = False


def check_size(width: int, height: int, name: str) -> None:
    """Refuse what cannot be a picture, before memory is set aside for it."""
    if width < 1 or height < 1:
        raise BadInput(f"{name}: declares {width} x {height} pixels. Fetch or export it again.")
    if width * height > MOST_PIXELS:
        raise BadInput(
            f"{name}: declares {width} x {height} pixels, more than the {MOST_PIXELS} allowed. "
            "Export it smaller."
        )


def refuse_damaged(name: str, why: str) -> NoReturn:
    """The one line for a file that is broken."""
    raise BadInput(f"{name}: damaged or cut short ({why}). Fetch it again or leave it out.")


def refuse_beyond(name: str, wanted: Collection[int], count: int) -> None:
    """The one line for a frame that is not there."""
    if not count:
        raise BadInput(f"{name}: the clip has no frames. Fetch it again or leave it out.")
    beyond = [number for number in wanted if not 0 <= number < count]
    if beyond:
        raise BadInput(
            f"{name}: frame {min(beyond)} is beyond the end: the clip has {count} frames, 0 to "
            f"{count - 1}. Mend the list of frames or fetch the clip again."
        )


def exif_orientation(exif: bytes) -> int:
    """Tag 0x0112 of an EXIF block, 1 (upright) where it is absent or makes no sense."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return 1
    try:
        (at,) = struct.unpack_from(order + "L", exif, 4)
        (entries,) = struct.unpack_from(order + "H", exif, at)
        for entry in range(entries):
            tag, kind, count, value = struct.unpack_from(order + "HHLH", exif, at + 2 + entry * 12)
            if tag == 0x0112:
                return value if (kind, count) == (3, 1) and 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1
