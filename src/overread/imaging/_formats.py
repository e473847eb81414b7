"""An image file stripped to what its pixels need, with its declared size checked.

Every container is walked here, before Pillow sees it, for three reasons. The declared size is
known before anything is decoded. Metadata (EXIF, XMP, ICC, text) never enters the process beyond
the one number we need, the orientation. And Pillow reports damaged metadata through `warnings`,
whose filters cannot be changed safely from threads: with no metadata there is nothing to warn of.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple, NoReturn

from overread.case import BadInput
from overread.imaging._budget import hold
from overread.imaging.darkroom import MOST_CHUNKS, MOST_PIXELS, PNG, exif_orientation


class Plain(NamedTuple):
    """A container without metadata, and what the pixels mean where Pillow does not say.

    `bits` and `signed` describe a grey sample as stored; `grey` says that all channels but alpha
    are one; `inverted` that 0 is white and Pillow leaves it so, or that CMYK inks are complemented.
    `common` is mode and size of a JPEG of the usual kinds: its decoder needs to know no more.
    """

    data: bytes
    orientation: int = 1
    bits: int = 8
    signed: bool = False
    grey: bool = False
    inverted: bool = False
    common: tuple[str, tuple[int, int]] | None = None


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


def one_line(error: BaseException, most: int = 200) -> str:
    """What a decoder said, on one line."""
    return (" ".join(str(error).split()) or type(error).__name__)[:most].rstrip(".")


@contextmanager
def damage_refused(name: str, kind: str = "") -> Iterator[None]:
    """Decoders meet hostile bytes: whatever they raise is one refusal.

    Those of a `kind` that say little themselves are quoted by what they raise alone.
    """
    try:
        yield
    except (BadInput, ImportError):
        raise
    except Exception as error:
        said = f"no {kind} that can be read: {type(error).__name__}" if kind else one_line(error)
        refuse_damaged(name, said)


@contextmanager
def unreadable_refused(name: str) -> Iterator[None]:
    """What the system says of a file that cannot be read, in one line."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"{name}: cannot be read ({error.strerror}). Mend its rights or fetch it again."
        ) from None


def refuse_empty(data: bytes, name: str, what: str = "file") -> None:
    """The one line for a file without a byte."""
    if not data:
        raise BadInput(f"{name}: the {what} is empty (0 bytes). Fetch it again.")


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


# -------------------------------------------------------- PNG, down to the chunks that hold pixels

_GREY, _PALETTE, _GREY_ALPHA = 0, 3, 4


def strip_png(data: bytes, name: str) -> Plain:
    """Keep header, palette, the palette's transparency and the pixels.

    A single colour declared transparent in a grey or RGB image (tRNS without a palette) is
    ignored: the stored pixels are what is shown. An animated PNG is refused.
    """
    if data[12:16] != b"IHDR" or len(data) < 33:
        refuse_damaged(name, "no PNG header")
    width, height, bits, colour = struct.unpack_from(">LLBB", data, 16)
    check_size(width, height, name)
    kept, orientation, at = io.BytesIO(), 1, len(PNG)
    kept.write(PNG)
    for _ in range(MOST_CHUNKS):
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
    raise BadInput(f"{name}: a PNG of over {MOST_CHUNKS} chunks. Save it anew.")


# ------------------------------------------------------- WebP, down to the chunks that hold pixels

_ANIMATED, _ALPHA = 0x02, 0x10
_START = b"\x9d\x01\x2a"
# Bytes: of canvases and copies for a pixel, and of a lossless picture's tables, which take three
# bytes each in the file and six thousand in memory.
_A_PIXEL, _A_TABLE, _MOST_TABLES = 8, 6000, 1 << 16


def strip_webp(data: bytes, name: str) -> Plain:
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
            width, height = _webp_size(kind, body, name)
            check_size(width, height, name)
            hold(width * height * _A_PIXEL + min(_MOST_TABLES, length // 3) * _A_TABLE, name)
        if kind in (b"VP8X", b"VP8 ", b"VP8L", b"ALPH"):
            kept.append(data[at : at + 8] + body + b"\0" * (length % 2))
        elif kind == b"EXIF":
            orientation = exif_orientation(body.removeprefix(b"Exif\0\0"))
        at += 8 + length + length % 2
    whole = b"WEBP" + b"".join(kept)
    return Plain(b"RIFF" + len(whole).to_bytes(4, "little") + whole, orientation)


def _webp_size(kind: bytes, body: bytes, name: str) -> tuple[int, int]:
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


# ----------------------------------------------------- JPEG, down to the segments that hold pixels

JPEG = b"\xff\xd8\xff"
_SCAN, _END = 0xDA, 0xD9
# Without a length and a body.
_BARE = frozenset({0x00, 0x01, *range(0xD0, 0xD8), _SCAN, _END})
# Start of frame; 0xF7 is JPEG-LS, which DICOM wraps. C4, C8 and CC are tables, not frames.
_FRAME = (frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}) | {0xF7}
_SEQUENTIAL, _USUAL = frozenset({0xC0, 0xC1}), frozenset({0xC0, 0xC1, 0xC2})
_MODES = {1: "L", 3: "RGB"}
_JFIF, _EXIF, _ADOBE = 0xE0, 0xE1, 0xEE
_METADATA = frozenset({*range(0xE1, 0xF0), 0xFE}) - {_ADOBE}
_TOLD = _FRAME | {_JFIF, _EXIF, _ADOBE}


# Pixels times scans: a progressive file has some ten scans, and a large one may have three hundred
# thousand, each of which goes over all pixels.
_MOST_WORK = 1_500_000_000
_BAND = 1 << 20  # bytes of a file that are looked through at a time


class JpegHeader(NamedTuple):
    """What stands before the first scan.

    `frames` are kind and bits of every frame that is declared, `scanned` the components of the
    first scan, and `kept` where all but metadata stands in the file, as begins and ends.
    """

    width: int
    height: int
    components: bytes
    jfif: bool
    adobe: bool
    orientation: int
    frames: tuple[tuple[int, int], ...]
    scanned: int
    kept: tuple[tuple[int, int], ...]

    @property
    def one_scan(self) -> bool:
        """Whether its decoder takes no more than the first scan, and keeps no coefficients."""
        all_at_once = self.scanned == len(self.components) > 0
        return all_at_once and all(kind in _SEQUENTIAL for kind, _ in self.frames)

    @property
    def common(self) -> tuple[str, tuple[int, int]] | None:
        """Mode and size of one frame of eight bits, grey or in three colours; None of others."""
        mode = _MODES.get(len(self.components))
        if mode is None or len(self.frames) != 1:
            return None
        kind, bits = self.frames[0]
        return (mode, (self.width, self.height)) if kind in _USUAL and bits == 8 else None


def read_jpeg_header(data: bytes, name: str) -> JpegHeader:
    """Walk the segments up to the first scan."""
    size, at = len(data), 2
    width, height, components, jfif, adobe, orientation = 0, 0, b"", False, False, 1
    frames: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    begin, end = 0, 2  # of what is kept and not in the list yet
    while True:
        at = data.find(b"\xff", at)
        while 0 <= at < size and data[at] == 0xFF:
            at += 1
        if not 0 < at < size:
            refuse_damaged(name, "the JPEG has no picture")
        marker, at = data[at], at + 1
        if marker in _BARE:
            if marker == _SCAN:
                break
            if marker == _END:
                refuse_damaged(name, "the JPEG has no picture")
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        if length < 2 or at + length > size:
            refuse_damaged(name, "the JPEG ends within its header")
        if marker in _TOLD:
            body = data[at + 2 : at + length]
            if marker in _FRAME and len(body) >= 6:
                height = int.from_bytes(body[1:3], "big")
                width = int.from_bytes(body[3:5], "big")
                components = body[6 : 6 + 3 * body[5] : 3]
                frames.append((marker, body[0]))
            elif marker == _JFIF and body.startswith(b"JFIF"):
                jfif = True
            elif marker == _ADOBE and body.startswith(b"Adobe"):
                adobe = True
            elif marker == _EXIF and body.startswith(b"Exif\0\0"):
                orientation = exif_orientation(body[6:])
        if marker not in _METADATA:
            if at - 2 != end:
                kept.append((begin, end))
                begin = at - 2
            end = at + length
        at += length
    if at - 2 != end:
        kept.append((begin, end))
        begin = at - 2
    kept.append((begin, size))
    scanned = data[at + 2] if at + 2 < size else 0
    return JpegHeader(
        *(width, height, components, jfif, adobe, orientation),
        *(tuple(frames), scanned, tuple(kept)),
    )


def scans_in(data: bytes, start: int = 0, end: int | None = None) -> int:
    """How often a scan begins, at most: coded pixels hold no such mark, what else there is may.

    Not by `bytes.count`, which takes ten times as long: coded pixels are full of its first byte.
    """
    import numpy as np

    looked_at = np.frombuffer(data, np.uint8)[start:end]
    bands = (looked_at[at : at + _BAND + 1] for at in range(0, len(looked_at), _BAND))
    return sum(int(np.count_nonzero((b[:-1] == 0xFF) & (b[1:] == _SCAN))) for b in bands)


def check_work(scans: int, pixels: int, name: str) -> None:
    """Refuse a file that would be gone over for minutes."""
    if scans > 1 and scans * pixels > _MOST_WORK:
        raise BadInput(
            f"{name}: a JPEG of {scans} scans over {pixels} pixels, which would take minutes to "
            "decode. Save it anew."
        )


def hold_scans(header: JpegHeader, data: bytes, name: str) -> None:
    """Where there are several scans a decoder keeps the coefficients of all pixels."""
    scans, pixels = scans_in(data), header.width * header.height
    check_work(scans, pixels, name)
    if scans > 1:
        hold(2 * pixels * max(1, len(header.components)), name)


def strip_jpeg(data: bytes, name: str) -> Plain:
    """Keep the tables and the scans. Of a multi-picture file (MPO) the first picture is shown.

    Adobe's CMYK is stored complemented, and Pillow undoes that for every CMYK file; where Adobe's
    mark is missing the inks are as stored, so `inverted` asks for Pillow's step to be taken back.
    """
    header = read_jpeg_header(data, name)
    check_size(header.width, header.height, name)
    whole = header.kept == ((0, len(data)),)  # nothing to leave out: no copy
    kept = data if whole else b"".join([memoryview(data)[a:b] for a, b in header.kept])
    if not header.one_scan:
        hold_scans(header, kept, name)
    inverted = len(header.components) == 4 and not header.adobe
    return Plain(kept, header.orientation, inverted=inverted, common=header.common)


# --------------------------------------------- TIFF and BigTIFF, down to the tags that hold pixels

TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
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


class _Tiff:
    """The pages of a TIFF, which writes numbers in four ways: byte order, and classic or Big."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name
        self.order = "<" if data[:2] == b"II" else ">"
        big = b"+" in data[2:4]
        self.count, self.entry, self.offset = ("Q", "HHQ", "Q") if big else ("H", "HHL", "L")
        self.field = self.first_at = 8 if big else 4

    def number(self, code: str, at: int) -> int:
        (value,) = struct.unpack_from(self.order + code, self.data, at)
        return int(value)

    def page(self, at: int) -> tuple[dict[int, _Entry], int]:
        """The tags of a page that are of use, and where the next page begins."""
        entries: dict[int, _Entry] = {}
        count = self.number(self.count, at)
        at += struct.calcsize(self.order + self.count)
        head = struct.calcsize(self.order + self.entry)
        if count > _MOST_TAGS or count * (head + self.field) > len(self.data) - at:
            refuse_damaged(self.name, "a TIFF page list runs past the end")
        for _ in range(count):
            tag, kind, length = struct.unpack_from(self.order + self.entry, self.data, at)
            raw = self.data[at : at + head + self.field]
            at += head + self.field
            if tag not in _DRAWS and tag not in (_SUBFILE, _ORIENTATION):
                continue
            size = _BYTES.get(kind, 0) * length
            start = at - self.field
            if size > self.field:
                start = self.number(self.offset, start)
            most = 1 if tag in _ONE_VALUE else _MOST_VALUES
            if not size or start + size > len(self.data) or length > most:
                refuse_damaged(self.name, f"TIFF tag {tag} makes no sense")
            entries[tag] = _Entry(raw, kind, length, start)
        return entries, self.number(self.offset, at)

    def values(self, entry: _Entry | None, most: int = _MOST_VALUES) -> tuple[int, ...]:
        """The whole numbers of a tag; none where it is missing or holds others."""
        code = _INTEGER.get(entry.kind) if entry else None
        if entry is None or code is None:
            return ()
        numbers = f"{self.order}{min(most, entry.length)}{code}"
        return struct.unpack_from(numbers, self.data, entry.start)

    def with_one_page(self, page: dict[int, _Entry]) -> bytes:
        drawing = sorted(tag for tag in page if tag in _DRAWS)
        body = self.data + b"\0" * (-len(self.data) % 8)
        return b"".join(
            (
                body[: self.first_at],
                struct.pack(self.order + self.offset, len(body)),
                body[self.first_at + self.field :],
                struct.pack(self.order + self.count, len(drawing)),
                *(page[tag].raw for tag in drawing),
                struct.pack(self.order + self.offset, 0),
            )
        )


def strip_tiff(data: bytes, name: str) -> Plain:
    """Keep one page's drawing tags: a fresh page list is added at the end and pointed to.

    A second page is refused, since which one is meant is not ours to guess; thumbnails and masks
    (marked as such in their page) are no pages.
    """
    tiff = _Tiff(data, name)
    try:
        at = tiff.number(tiff.offset, tiff.first_at)
        page, following = tiff.page(at)
        seen = {at}
        while following and following not in seen:
            seen.add(following)
            other, following = tiff.page(following)
            (kind,) = tiff.values(other.get(_SUBFILE), 1) or (0,)
            if not kind & _REDUCED_OR_MASK or len(seen) > _MOST_PAGES:
                raise BadInput(f"{name}: a TIFF of several pages. Save the page to show by itself.")
    except struct.error:
        refuse_damaged(name, "the TIFF ends within its header")

    def value(tag: int, default: int) -> int:
        return next(iter(tiff.values(page.get(tag), 1)), default)

    width, height, bits = value(_WIDTH, 0), value(_HEIGHT, 0), value(_BITS, 1)
    check_size(width, height, name)
    # What libtiff decodes at once: a tile, or a strip of some rows.
    part = value(_TILE_WIDTH, width), value(_TILE_HEIGHT, min(height, value(_STRIP_ROWS, height)))
    check_size(*part, name)
    hold(part[0] * part[1] * max(4, value(_SAMPLES, 1) * -(-bits // 8)) + 2 * len(data), name)
    if value(_COMPRESSION, 1) in _JPEGS:
        starts = tiff.values(page.get(_TILES)) or tiff.values(page.get(_STRIPS))
        long = tiff.values(page.get(_TILE_BYTES)) or tiff.values(page.get(_STRIP_BYTES))
        if sum(long) > 2 * len(data):
            refuse_damaged(name, "its parts lie over each other")
        scans = sum(scans_in(data, s, s + n) for s, n in zip(starts, long, strict=False))
        check_work(scans, part[0] * part[1], name)
    orientation = value(_ORIENTATION, 1)
    return Plain(
        tiff.with_one_page(page),
        orientation if 1 <= orientation <= 8 else 1,
        bits,
        signed=value(_SAMPLE_FORMAT, 1) != 1,
        # Pillow turns white-is-zero round for up to 8 bits and leaves it for more.
        inverted=bits > 8 and value(_PHOTOMETRIC, 1) == 0,
    )
