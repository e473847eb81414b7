"""WebP, down to the chunks that hold pixels."""

from __future__ import annotations

from overread.case import BadInput
from overread.imaging._budget import hold
from overread.imaging._plain import Plain, check_size, exif_orientation, refuse_damaged

_ANIMATED, _ALPHA = 0x02, 0x10
_START = b"\x9d\x01\x2a"
# Bytes: of canvases and copies for a pixel, and of a lossless picture's tables, which take three
# bytes each in the file and six thousand in memory.
_A_PIXEL, _A_TABLE, _MOST_TABLES = 8, 6000, 1 << 16


def is_webp(data: bytes) -> bool:
    """Whether these are the first bytes of a WebP file."""
    return data[:4] == b"RIFF" and data[8:15] == b"WEBPVP8"


def strip(data: bytes, name: str) -> Plain:
    """Keep the pixels and their alpha. An animation is refused."""
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > len(data):
        refuse_damaged(name, "the WebP ends early")
    kept, orientation, at = [], 1, 12
    while at + 8 <= end:
        kind, length = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body = data[at + 8 : at + 8 + length]
        if at + 8 + length > end:
            refuse_damaged(name, "the WebP ends within a chunk")
        if kind == b"VP8X":
            if length < 10:
                refuse_damaged(name, "no WebP header")
            if body[0] & _ANIMATED:
                raise BadInput(
                    f"{name}: an animated WebP. Export the frame to be shown as one file."
                )
            body = bytes([body[0] & _ALPHA]) + body[1:]
        if kind in (b"VP8X", b"VP8 ", b"VP8L"):
            width, height = _size(kind, body, name)
            check_size(width, height, name)
            hold(width * height * _A_PIXEL + min(_MOST_TABLES, length // 3) * _A_TABLE, name)
        if kind in (b"VP8X", b"VP8 ", b"VP8L", b"ALPH"):
            kept.append(data[at : at + 8] + body + b"\0" * (length % 2))
        elif kind == b"EXIF":
            orientation = exif_orientation(body.removeprefix(b"Exif\0\0"))
        at += 8 + length + length % 2
    whole = b"WEBP" + b"".join(kept)
    return Plain(b"RIFF" + len(whole).to_bytes(4, "little") + whole, orientation)


def _size(kind: bytes, body: bytes, name: str) -> tuple[int, int]:
    """Width and height as the chunk declares them; the decoder sets memory aside at once."""
    if kind == b"VP8X":
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if kind == b"VP8L" and len(body) >= 5:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(body) >= 10 and body[3:6] == _START:
        width, height = (int.from_bytes(body[place : place + 2], "little") for place in (6, 8))
        return width & 0x3FFF, height & 0x3FFF
    refuse_damaged(name, "no WebP header")
