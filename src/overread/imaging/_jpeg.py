"""JPEG, down to the segments that hold pixels."""

from __future__ import annotations

from typing import NamedTuple

from overread.case import BadInput
from overread.imaging._budget import hold
from overread.imaging._plain import Plain, check_size, exif_orientation, refuse_damaged

MAGIC = b"\xff\xd8\xff"
_SCAN, _END = 0xDA, 0xD9
_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
# Start of frame; 0xF7 is JPEG-LS, which DICOM wraps. C4, C8 and CC are tables, not frames.
_FRAME = (frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}) | {0xF7}
_JFIF, _EXIF, _ADOBE = 0xE0, 0xE1, 0xEE
_METADATA = frozenset({*range(0xE1, 0xF0), 0xFE}) - {_ADOBE}


# Pixels times scans: a progressive file has some ten scans, and a large one may have three hundred
# thousand, each of which goes over all pixels.
_MOST_WORK = 1_500_000_000


class Header(NamedTuple):
    """What stands before the first scan."""

    width: int = 0
    height: int = 0
    components: bytes = b""
    jfif: bool = False
    adobe: bool = False
    orientation: int = 1
    kept: tuple[bytes, ...] = ()


def read_header(data: bytes, name: str) -> Header:
    """Walk the segments up to the first scan; `kept` is the file without its metadata."""
    header, kept, at = Header(), [b"\xff\xd8"], 2
    while True:
        at = data.find(b"\xff", at)
        while 0 <= at < len(data) and data[at] == 0xFF:
            at += 1
        if not 0 < at < len(data):
            refuse_damaged(name, "the JPEG has no picture")
        marker, at = data[at], at + 1
        if marker == _SCAN:
            kept.append(data[at - 2 :])
            return header._replace(kept=tuple(kept))
        if marker == _END:
            refuse_damaged(name, "the JPEG has no picture")
        if marker in _BARE or marker == 0:
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        body = data[at + 2 : at + length]
        if length < 2 or len(body) != length - 2:
            refuse_damaged(name, "the JPEG ends within its header")
        if marker in _FRAME and len(body) >= 6:
            header = header._replace(
                height=int.from_bytes(body[1:3], "big"),
                width=int.from_bytes(body[3:5], "big"),
                components=body[6 : 6 + 3 * body[5] : 3],
            )
        elif marker == _JFIF and body.startswith(b"JFIF"):
            header = header._replace(jfif=True)
        elif marker == _ADOBE and body.startswith(b"Adobe"):
            header = header._replace(adobe=True)
        elif marker == _EXIF and body.startswith(b"Exif\0\0"):
            header = header._replace(orientation=exif_orientation(body[6:]))
        if marker not in _METADATA:
            kept.append(b"\xff" + data[at - 1 : at + length])
        at += length


def scans_in(data: bytes, start: int = 0, end: int | None = None) -> int:
    """How often a scan begins, at most: coded pixels hold no such mark, what else there is may."""
    return data.count(b"\xff\xda", start, len(data) if end is None else end)


def check_work(scans: int, pixels: int, name: str) -> None:
    """Refuse a file that would be gone over for minutes."""
    if scans > 1 and scans * pixels > _MOST_WORK:
        raise BadInput(
            f"{name}: a JPEG of {scans} scans over {pixels} pixels, which would take minutes to "
            "decode. Save it anew."
        )


def hold_scans(header: Header, data: bytes, name: str) -> None:
    """Where there are several scans a decoder keeps the coefficients of all pixels."""
    scans, pixels = scans_in(data), header.width * header.height
    check_work(scans, pixels, name)
    if scans > 1:
        hold(2 * pixels * max(1, len(header.components)), name)


def strip(data: bytes, name: str) -> Plain:
    """Keep the tables and the scans. Of a multi-picture file (MPO) the first picture is shown.

    Adobe's CMYK is stored complemented, and Pillow undoes that for every CMYK file; where Adobe's
    mark is missing the inks are as stored, so `inverted` asks for Pillow's step to be taken back.
    """
    header = read_header(data, name)
    check_size(header.width, header.height, name)
    kept = b"".join(header.kept)
    hold_scans(header, kept, name)
    inverted = len(header.components) == 4 and not header.adobe
    return Plain(kept, header.orientation, inverted=inverted)
