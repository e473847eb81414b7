"""DICOM -> an 8-bit image. Only pixels leave the file."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.case import BadInput
from overread.imaging import _dicom_file as tags
from overread.imaging import _formats as formats
from overread.imaging._budget import budgeted, check_time, hold
from overread.imaging._dicom_file import Elements, read_elements
from overread.imaging._grey import full_range_table, in_bands, shown_grey

_JPEG_BASELINE = "1.2.840.10008.1.2.4.50"
_RLE = "1.2.840.10008.1.2.5"
_RLE_AT_MOST, _MUCH, _MUCH_RLE = 64, 64 << 20, 1 << 16
_CODESTREAM = b"\xff\x4f\xff\x51"  # of JPEG 2000
_MOST_TILES = 1 << 12
# Bytes: of a number of the table of offsets for each of its own; of copies that the decoders of
# compressed frames make of a byte; of a sample on its way to the picture; of a pixel whose colours
# are converted.
_A_NUMBER, _COPIES_OF_CODED, _SHOWN, _FROM_YBR = 12, 8, 5, 30
_JPEG_FAMILY = frozenset(f"1.2.840.10008.1.2.4.{n}" for n in (50, 51, 57, 70, 80, 81))


def open_dicom(data: bytes, name: str) -> Image.Image:
    """Open a single-frame DICOM file as the standard's display pipeline shows it.

    Grey: modality LUT or rescale, then the VOI LUT or the first window, then MONOCHROME1 turned
    round (`shown_grey`). Colour: RGB, YBR and PALETTE COLOR, scaled from BitsStored to 8 bits.
    """
    elements = read_elements(data, name)
    frames = elements.number(tags.FRAMES) or 1
    if frames > 1:
        raise BadInput(
            f"{name}: a DICOM clip of {frames:.0f} frames, not a picture. "
            "Export the frame to be shown as one file."
        )
    ((stored, photometric),) = _decode(elements, name, [0], 1)
    return Image.fromarray(_display_pixels(stored, photometric, elements, name))


def decode_dicom(data: bytes, name: str, wanted: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """Frames of a DICOM clip, each as `open_dicom` shows a picture, but for one thing.

    Without a window or table, grey is scaled from the full range of its bits, not from each frame's
    own least to greatest: frames of one clip are there to be compared.
    """
    elements = read_elements(data, name)
    count = int(elements.number(tags.FRAMES) or 1)
    formats.refuse_beyond(name, wanted, count)
    numbers = sorted(set(wanted))
    columns, rows = elements.short(tags.COLUMNS, 0) or 0, elements.short(tags.ROWS, 0) or 0
    samples = 1 if elements.text(tags.PHOTOMETRIC).startswith("MONOCHROME") else 3
    hold(len(numbers) * columns * rows * samples, name)
    frames = _decode(elements, name, numbers, count)
    return {
        number: _display_pixels(stored, photometric, elements, name, whole_range=True)
        for number, (stored, photometric) in zip(numbers, frames, strict=True)
    }


def _display_pixels(
    stored: NDArray[Any], photometric: str, elements: Elements, name: str, whole_range: bool = False
) -> NDArray[np.uint8]:
    if photometric in ("MONOCHROME1", "MONOCHROME2") and stored.ndim == 2:
        inverted = photometric[-1] == "1"
        return shown_grey(stored, elements, inverted=inverted, whole_range=whole_range)
    if photometric == "PALETTE COLOR" and stored.ndim == 2:
        return _palette_colours(stored, elements, name)
    if photometric == "RGB" and stored.ndim == 3 and stored.shape[2] == 3:
        return _eight_bit_colours(stored, elements.short(tags.STORED) or 8)
    raise BadInput(
        f"{name}: DICOM colours stored as {photometric or 'nothing named'} are not read. "
        "Export it as RGB or MONOCHROME2."
    )


def _decode(
    elements: Elements, name: str, wanted: Sequence[int], frames: int
) -> Iterator[tuple[NDArray[Any], str]]:
    """The stored samples of each frame (rows x columns, or x 3), and their colour space by now."""
    from pydicom.encaps import encapsulate
    from pydicom.pixels.decoders.base import get_decoder
    from pydicom.uid import UID

    rows, columns = elements.short(tags.ROWS, 0) or 0, elements.short(tags.COLUMNS, 0) or 0
    samples, allocated = elements.short(tags.SAMPLES, 1), elements.short(tags.ALLOCATED, 0) or 0
    photometric = elements.text(tags.PHOTOMETRIC)
    formats.check_size(columns, rows, name)
    if samples not in (1, 3) or allocated not in (1, 8, 16, 32):
        raise BadInput(
            f"{name}: DICOM pixels of {samples} samples and {allocated} bits are not read. "
            "Export it as 8- or 16-bit grey or RGB."
        )
    syntax = UID(elements.syntax)
    try:
        decoder = get_decoder(syntax)
    except NotImplementedError:
        raise BadInput(
            f"{name}: its transfer syntax {syntax.name} is not read. "
            "Export it as Explicit VR Little Endian."
        ) from None
    if not decoder.is_available:
        _ask_for_plugins(name, syntax.name)
    if not elements.length:
        formats.refuse_damaged(name, "the DICOM pixel data are empty")
    sample = -(-allocated // 8)
    taken = sample * _COPIES_OF_CODED if syntax.is_encapsulated else 2 * sample
    in_colour = _FROM_YBR if "YBR" in photometric else 0
    hold(rows * columns * (samples * (taken + _SHOWN) + in_colour), name)
    if not syntax.is_encapsulated:
        share = 2 / 3 if photometric == "YBR_FULL_422" else 1
        if elements.length < frames * rows * columns * samples * allocated // 8 * share:
            formats.refuse_damaged(name, "the DICOM pixel data are too short")
    described: dict[str, Any] = {
        "rows": rows,
        "columns": columns,
        "samples_per_pixel": samples,
        "photometric_interpretation": photometric,
        "bits_allocated": allocated,
        "bits_stored": min(elements.short(tags.STORED, allocated) or allocated, allocated),
        "pixel_representation": elements.short(tags.REPRESENTATION, 0) or 0,
        "planar_configuration": elements.short(tags.PLANAR, 0) or 0,
        "number_of_frames": frames,
        "view_only": elements.little,  # nothing is written to what comes back
        "pixel_keyword": "PixelData",
        "pixel_vr": elements.pixel_vr or "OW",
    }
    start = elements.file.tell()
    for number in wanted:
        check_time(name)
        elements.file.seek(start)
        source: Any = elements.file
        if syntax.is_encapsulated:
            coded = _coded_frame(elements, number, frames, name)
            _check_coded(coded, str(syntax), (columns, rows), name)
            if samples == 3 and str(syntax) in _JPEG_FAMILY:
                as_coded = _as_coded(coded, photometric, str(syntax), name)
                described["photometric_interpretation"] = as_coded
            # As it stands in a file that has no other.
            source, described["number_of_frames"] = encapsulate([coded], has_bot=False), 1
        # Each frame by itself: within one call pydicom takes what it made of the first (RGB of
        # YBR) for how the others are stored. Not validated: what matters is checked above, and
        # pydicom would warn of what we accept.
        try:
            at = 0 if syntax.is_encapsulated else number
            stored, properties = decoder.as_array(source, index=at, validate=False, **described)
        except RuntimeError:
            if any("pylibjpeg" in missing for missing in decoder.missing_dependencies):
                _ask_for_plugins(name, syntax.name)
            raise
        yield stored, str(properties["photometric_interpretation"])


@budgeted
def _coded_frame(elements: Elements, number: int, frames: int, name: str) -> bytes:
    """The bytes of one compressed frame, out of all the fragments."""
    from pydicom.encaps import get_frame

    file, start = elements.file, elements.file.tell()
    table = file.read(8)[4:]  # of offsets, in front of the fragments; pydicom makes numbers of it
    file.seek(start)
    hold(_A_NUMBER * min(int.from_bytes(table, "little"), elements.length), name)
    coded: bytes = get_frame(file, number, number_of_frames=frames)
    hold(2 * len(coded), name)
    return coded


@budgeted
def _check_coded(coded: bytes, syntax: str, size: tuple[int, int], name: str) -> None:
    """Refuse a compressed frame that would be larger than the file's header says.

    The decoders go by what the frame declares.
    """
    if syntax == _RLE:
        if len(coded) * _RLE_AT_MOST > _MUCH:
            hold(2 * _unpacked(coded, name), name)
        return
    stream = coded[max(0, coded.find(_CODESTREAM)) :]
    if stream.startswith(_CODESTREAM):
        right, below, left, above, tile_width, tile_height = struct.unpack_from(">6L", stream, 8)
        width, height = right - left, below - above
        tiles = -(-right // max(1, tile_width)) * -(-below // max(1, tile_height))
        (components,) = struct.unpack_from(">H", stream, 40)
        if tiles > _MOST_TILES or components > 4:
            why = f"a JPEG 2000 of {tiles} tiles and {components} components"
            formats.refuse_damaged(name, why)
    elif coded.startswith(formats.JPEG):
        header = formats.read_jpeg_header(coded, name)
        width, height = header.width, header.height
        formats.hold_scans(header, coded, name)
    else:
        return
    if (width, height) != size:
        stated = f"{size[0]} x {size[1]}"
        formats.refuse_damaged(name, f"a frame of {width} x {height} pixels in a file of {stated}")


def _unpacked(coded: bytes, name: str) -> int:
    """How many bytes RLE makes of a frame: two may stand for 128."""
    at, count, steps = 64, 0, 0
    while at < len(coded):
        run = coded[at]
        count += run + 1 if run < 128 else (257 - run) % 129
        at += run + 2 if run < 128 else 2 - (run == 128)
        steps += 1
        if not steps % _MUCH_RLE:
            check_time(name)
    return count


def _ask_for_plugins(name: str, syntax: str) -> NoReturn:
    raise BadInput(
        f"{name}: its pixels are compressed as {syntax}, which needs plug-ins: "
        'pip install "overread[dicom]".'
    ) from None


def _as_coded(coded: bytes, photometric: str, syntax: str, name: str) -> str:
    """The colour space a JPEG stream itself declares, where the file contradicts it.

    pydicom decides the same way, but with a warning.
    """
    header = formats.read_jpeg_header(coded, name)
    if header.components in (b"RGB", b"rgb"):
        return "RGB"
    if header.jfif and "YBR" not in photometric:
        return "YBR_FULL_422" if syntax == _JPEG_BASELINE else "YBR_FULL"
    return photometric


def _eight_bit_colours(stored: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    if bits == 8 and stored.dtype == np.uint8:
        return np.array(stored, order="C")  # a copy: a frame that is kept must not keep its file
    full = (1 << bits) - 1
    if bits <= 16:
        table = full_range_table(full)
        return in_bands(stored, lambda band: table[np.clip(band, 0, full)])
    return in_bands(
        stored, lambda band: ((band.astype(np.uint64) * 255 + full // 2) // full).astype(np.uint8)
    )


def _palette_colours(stored: NDArray[Any], elements: Elements, name: str) -> NDArray[np.uint8]:
    """Look each pixel up in the three tables; 16-bit entries keep their high byte."""
    tables = []
    for channel in range(3):
        lut = elements.palette(channel)
        if lut is None:
            raise BadInput(
                f"{name}: its colour palette is missing or segmented, which is not read. "
                "Export it as RGB."
            )
        table = (np.array(lut.entries, dtype=np.uint32) >> max(0, lut.bits - 8)).astype(np.uint8)
        tables.append((lut.first, table))

    def looked_up(band: NDArray[Any]) -> NDArray[np.uint8]:
        at = band.astype(np.int64)
        found = [table[np.clip(at - first, 0, len(table) - 1)] for first, table in tables]
        return np.stack(found, axis=-1)

    return in_bands(stored, looked_up)
