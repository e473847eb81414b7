"""PNG, down to the chunks that hold pixels."""

from __future__ import annotations

import io
import struct

from overread.case import BadInput
from overread.imaging._plain import Plain, check_size, exif_orientation, refuse_damaged

MAGIC = b"\x89PNG\r\n\x1a\n"
_GREY, _PALETTE, _GREY_ALPHA = 0, 3, 4
# Of 8 kB each, as most are written, as many as fit a gigabyte. Pillow walks them one by one.
_MOST_CHUNKS = 1 << 17


def strip(data: bytes, name: str) -> Plain:
    """Keep header, palette, the palette's transparency and the pixels.

    A single colour declared transparent in a grey or RGB image (tRNS without a palette) is
    ignored: the stored pixels are what is shown. An animated PNG is refused.
    """
    if data[12:16] != b"IHDR" or len(data) < 33:
        refuse_damaged(name, "no PNG header")
    width, height, bits, colour = struct.unpack_from(">LLBB", data, 16)
    check_size(width, height, name)
    kept, orientation, at = io.BytesIO(), 1, len(MAGIC)
    kept.write(MAGIC)
    for _ in range(_MOST_CHUNKS):
        if at + 12 > len(data):
            refuse_damaged(name, "the PNG has no end")
        (length,) = struct.unpack_from(">L", data, at)
        kind, end = data[at + 4 : at + 8], at + 12 + length
        if end > len(data):
            refuse_damaged(name, "the PNG ends within a chunk")
        if kind in (b"IHDR", b"PLTE", b"IDAT", b"IEND") or (kind == b"tRNS" and colour == _PALETTE):
            kept.write(data[at:end])
        elif kind == b"eXIf":
            orientation = exif_orientation(data[at + 8 : end - 4])
        elif kind == b"acTL":
            raise BadInput(f"{name}: an animated PNG. Export the frame to be shown as one file.")
        if kind == b"IEND":
            return Plain(kept.getvalue(), orientation, bits, grey=colour in (_GREY, _GREY_ALPHA))
        at = end
    raise BadInput(f"{name}: a PNG of over {_MOST_CHUNKS} chunks. Save it anew.")
