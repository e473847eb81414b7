"""The few elements of a DICOM file that its pixels need, read raw.

pydicom walks the file; the values are read here from their bytes. So no name, date or number of a
patient is ever decoded, and values that break the standard (a NumberOfFrames of "1A") do not end
in pydicom's warnings, which threads cannot silence safely.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from typing import Any, BinaryIO, NamedTuple

from overread.case import BadInput
from overread.imaging._budget import BARE, ClockedFile, check_time, hold, inflated
from overread.imaging._formats import refuse_damaged

# Part of the digest of every DICOM file: raise it whenever such files, and no others, give other
# pixels. Raising RENDERER instead would have every reply to every other picture asked again.
DICOM_RENDERER = 2

IMPLICIT, EXPLICIT, BIG_ENDIAN = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2"
DEFLATED = "1.2.840.10008.1.2.1.99"
_SYNTAX = 0x00020010

SAMPLES, PHOTOMETRIC, PLANAR, FRAMES = 0x00280002, 0x00280004, 0x00280006, 0x00280008
ROWS, COLUMNS, ALLOCATED, STORED = 0x00280010, 0x00280011, 0x00280100, 0x00280101
REPRESENTATION, PADDING, PADDING_LIMIT = 0x00280103, 0x00280120, 0x00280121
CENTER, WIDTH, VOI_FUNCTION = 0x00281050, 0x00281051, 0x00281056
INTERCEPT, SLOPE = 0x00281052, 0x00281053
PALETTE = ((0x00281101, 0x00281201), (0x00281102, 0x00281202), (0x00281103, 0x00281203))
MODALITY_LUT, VOI_LUT, LUT_DESCRIPTOR, LUT_DATA = 0x00283000, 0x00283010, 0x00283002, 0x00283006
PIXELS = 0x7FE00010
_LONG_VRS = ("OB", "OW", "UN", "OD", "OF", "OL", "OV", "SQ", "UC", "UR", "UT", "SV", "UV")
_UNDEFINED = 0xFFFFFFFF
_HEADER_PACKED, _HEADER_META, _HEADER_INFLATED = 1 << 16, 1 << 12, 1 << 20
_LONGEST = 1 << 20  # bytes of a value: the longest table has 128 kB
_WANTED = [
    *(SAMPLES, PHOTOMETRIC, PLANAR, FRAMES, ROWS, COLUMNS, ALLOCATED, STORED, REPRESENTATION),
    *(PADDING, PADDING_LIMIT, CENTER, WIDTH, INTERCEPT, SLOPE, VOI_FUNCTION),
    *(MODALITY_LUT, VOI_LUT),
    *(tag for pair in PALETTE for tag in pair),
]


class Lut(NamedTuple):
    """A lookup table of the standard: `first` is the value its first entry stands for."""

    first: int
    bits: int
    entries: tuple[int, ...]


class Elements(NamedTuple):
    """Raw values by tag, and how they are written.

    The pixels stay where they are: `file` stands at their first byte, and they are `length` long,
    or to the end of the file at most where they say no length (compressed ones do).
    """

    file: ClockedFile
    length: int
    raw: dict[int, Any]
    syntax: str
    little: bool
    implicit: bool
    pixel_vr: str | None

    def short(self, tag: int, default: int | None = None, *, signed: bool = False) -> int | None:
        """A US or SS value (the first, if there are several)."""
        value = self.raw.get(tag)
        if not isinstance(value, bytes) or len(value) < 2:
            return default
        (number,) = struct.unpack_from(("<" if self.little else ">") + "Hh"[signed], value)
        return int(number)

    def text(self, tag: int, default: str = "") -> str:
        """The first of the values of a string."""
        value = self.raw.get(tag)
        if not isinstance(value, bytes):
            return default
        return value.decode("ascii", "replace").split("\\")[0].strip(" \0") or default

    def number(self, tag: int) -> float | None:
        """The first value of a decimal or integer string; None if absent or not a number."""
        try:
            number = float(self.text(tag))
        except ValueError:
            return None
        return number if abs(number) < float("inf") else None

    def lut(self, sequence: int, *, signed: bool) -> Lut | None:
        """The first table of a Modality or VOI LUT sequence."""
        items = self.raw.get(sequence)
        if isinstance(items, bytes) and items:
            from pydicom.filereader import read_sequence

            items = read_sequence(
                io.BytesIO(items), self.implicit, self.little, len(items), "iso8859"
            )
        if not items:
            return None
        descriptor, data = (items[0].get_item(tag) for tag in (LUT_DESCRIPTOR, LUT_DATA))
        if descriptor is None or data is None:
            return None
        return self.table(descriptor.value, data.value, signed=signed)

    def palette(self, channel: int) -> Lut | None:
        """The red, green or blue table of PALETTE COLOR."""
        descriptor, data = (self.raw.get(tag) for tag in PALETTE[channel])
        if not isinstance(descriptor, bytes) or not isinstance(data, bytes):
            return None
        return self.table(descriptor, data, signed=False)

    def table(self, descriptor: bytes, data: bytes, *, signed: bool) -> Lut | None:
        """Descriptor (entries, first value, bits) and data, 8-bit entries packed or not."""
        order = "<" if self.little else ">"
        if len(descriptor) < 6:
            return None
        count, first, bits = struct.unpack_from(order + ("HhH" if signed else "HHH"), descriptor)
        count = count or 1 << 16
        packed = bits == 8 and len(data) < 2 * count
        count = min(count, len(data) // (1 if packed else 2))
        entries = struct.unpack_from(f"{order}{count}{'B' if packed else 'H'}", data)
        return Lut(first, bits, entries) if entries and 1 <= bits <= 16 else None


def looks_like_dicom(data: bytes) -> bool:
    """The DICM mark, or (older files have none) a first element of group 0002 or 0008."""
    return data[128:132] == b"DICM" or data[:2] in (b"\2\0", b"\x08\0", b"\0\x08")


def shown_as_dicom(content: bytes) -> bytes:
    """The digest of a DICOM file, by the digest of its content and how DICOM is shown."""
    return hashlib.sha256(f"dicom {DICOM_RENDERER}\0".encode() + content).digest()[:16]


def header_file(file: BinaryIO) -> tuple[BinaryIO, bool]:
    """The file for pydicom to read a header from, and whether it was deflated.

    Of a deflated file pydicom would inflate all, pixels and bombs: here it gets the beginning, as
    if it had never been packed. Raises what pydicom and zlib raise.
    """
    from pydicom.filereader import data_element_generator

    start = file.read(_HEADER_PACKED)
    file.seek(0)
    if DEFLATED.encode() not in start[:_HEADER_META] or start[128:132] != b"DICM":
        return file, False
    meta = io.BytesIO(start)
    meta.seek(132)
    for _ in data_element_generator(meta, False, True, lambda tag, _vr, _length: tag >> 16 != 2):
        pass
    at = meta.tell()
    plain = zlib.decompressobj(BARE).decompress(start[at:], _HEADER_INFLATED)
    named = start[:at].replace(DEFLATED.encode(), EXPLICIT.encode().ljust(len(DEFLATED), b"\0"))
    return io.BytesIO(named + plain), True


def read_elements(data: bytes, name: str) -> Elements:
    """Walk the file and keep what the pixels need."""
    from pydicom.filereader import data_element_generator

    marked = data[128:132] == b"DICM"
    file = ClockedFile(data, name)
    file.seek(132 if marked else 0)
    syntax = ""
    for element in data_element_generator(
        file, False, True, stop_when=lambda tag, _vr, _length: tag >> 16 != 2, defer_size=_LONGEST
    ):
        if element.tag == _SYNTAX:
            syntax = bytes(element.value or b"").decode("ascii", "replace").strip(" \0")
    if syntax == DEFLATED:  # 1 MB may inflate to 1 GB
        packed = file.read()
        hold(len(packed), name)
        try:
            file = inflated(packed, BARE, name)
        except (zlib.error, EOFError) as error:
            refuse_damaged(name, str(error))
    peek = file.read(6)
    file.seek(-len(peek), io.SEEK_CUR)
    # What is written decides, not what is declared: real files get this wrong.
    implicit = not (peek[4:6].isalpha() and peek[4:6].isupper())
    little = implicit or (peek[:2] != b"\0\x08" and syntax != BIG_ENDIAN)
    pixels: list[tuple[str | None, int]] = []

    def at_pixels(tag: int, vr: str | None, length: int) -> bool:
        if tag == PIXELS:
            pixels.append((vr, length))
        return tag == PIXELS

    try:
        raw = {
            int(element.tag): element.value
            for element in data_element_generator(
                file, implicit, little, at_pixels, specific_tags=_WANTED, defer_size=_LONGEST
            )
        }
    except (EOFError, struct.error):
        check_time(name)  # pydicom takes that line for the end of the file
        refuse_damaged(name, "the DICOM file ends within an element")
    if not pixels:
        if not marked:
            raise BadInput(
                f"{name}: unknown format; an image is a PNG, JPEG, TIFF, BMP or DICOM file. "
                "Convert it to PNG."
            )
        raise BadInput(
            f"{name}: a DICOM file without pixels (a waveform, report, plan or the like). "
            "Leave it out."
        )
    pixel_vr, length = pixels[0]
    file.seek(8 if implicit or pixel_vr not in _LONG_VRS else 12, io.SEEK_CUR)
    left = file.getbuffer().nbytes - file.tell()
    if length != _UNDEFINED and length > left:
        refuse_damaged(name, "the DICOM file ends within an element")
    if not syntax:
        syntax = IMPLICIT if implicit else EXPLICIT if little else BIG_ENDIAN
    return Elements(file, min(length, left), raw, syntax, little, implicit, pixel_vr)
