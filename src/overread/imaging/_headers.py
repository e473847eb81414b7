"""What a file says of itself, without a picture being shown: size, view, sex and age of a film; how
many frames of a clip there really are, how large, how fast.

Videos are counted by their packets, or by decoding them. Of DICOM files the header is read, and no
name or date of a patient is ever decoded. Of masks, too, only headers are read, so that opening a
set stays quick.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from overread.case import BadInput, Source
from overread.files import open_file, whole
from overread.imaging._budget import budgeted, check_time
from overread.imaging._dicom_file import header_file
from overread.imaging.darkroom import MOST_PIXELS

# ---------------------------------------------------------------- films

YEARS_OF: Final = {"Y": 1.0, "M": 1 / 12, "W": 7 / 365.25, "D": 1 / 365.25}
"""Years of a unit of age, as DICOM names units."""
_SEX, _AGE, _VIEW = 0x00100040, 0x00101010, 0x00185101
_ROWS, _COLUMNS = 0x00280010, 0x00280011
_OLDEST_AGE: Final = 120
_ORIENTATION: Final = 0x0112
# The turns by which width and height change places; showing applies them.
_ON_ITS_SIDE: Final = (5, 6, 7, 8)


class DicomFacts(NamedTuple):
    """What is not said, or not sensibly, is None."""

    width: int | None = None
    height: int | None = None
    view: str | None = None
    sex: str | None = None
    age: float | None = None


def dicom_facts(path: Path, name: str) -> DicomFacts:
    """Read the header up to the pixels; `name` is what an error calls the file."""
    import pydicom
    from pydicom.errors import InvalidDicomError

    tags = [_SEX, _AGE, _VIEW, _ROWS, _COLUMNS]
    try:
        with path.open("rb") as file:
            found = pydicom.dcmread(
                header_file(file)[0], stop_before_pixels=True, specific_tags=tags
            )
            raw = {tag: found.get_item(tag) for tag in tags if tag in found}
    except InvalidDicomError:
        raise BadInput(f"{name} is no DICOM file. Fetch it again.") from None
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # pydicom meets hostile bytes: whatever it raises is one refusal
        raise BadInput(f"{name} is a damaged DICOM file: {error}. Fetch it again.") from None
    little = found.original_encoding[1] is not False
    words = {}
    for tag in (_SEX, _AGE, _VIEW):
        value = raw[tag].value if tag in raw else ""
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value or "")
        words[tag] = text.strip(" \0").upper()
    sex = words[_SEX]
    return DicomFacts(
        width=_side(raw.get(_COLUMNS), little),
        height=_side(raw.get(_ROWS), little),
        view=words[_VIEW] or None,
        sex=sex if sex in ("M", "F") else None,
        age=_age_of_word(words[_AGE]),
    )


def _side(element: object, little: bool) -> int | None:
    value = getattr(element, "value", None)
    if isinstance(value, bytes):
        return int.from_bytes(value[:2], "little" if little else "big") or None
    return value if isinstance(value, int) and value > 0 else None


def _age_of_word(word: str) -> float | None:
    """`058Y`, or as RSNA has it a bare number of years; nonsense (there is a 412) is None."""
    unit = word[-1:] if word[-1:] in YEARS_OF else "Y"
    digits = word.removesuffix(unit)
    number = whole(digits) if digits.isascii() and digits.isdecimal() else None
    if number is None:
        return None
    age = number * YEARS_OF[unit]
    return age if age <= _OLDEST_AGE else None


def film_size(path: Path, name: str) -> tuple[int, int]:
    """Width and height; `name` is what an error calls the file. No pixel is decoded."""
    with open_file(path, named=name) as file:
        start = file.read(132)
    if start[128:] == b"DICM":
        facts = dicom_facts(path, name)
        if facts.width is None or facts.height is None:
            raise BadInput(f"{name} is a DICOM file without pixels. Leave it out.")
        return facts.width, facts.height
    from PIL import Image

    try:
        with Image.open(path) as image:
            width, height = image.size
            turned = image.getexif().get(_ORIENTATION) in _ON_ITS_SIDE
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise BadInput(
            f"{name}: its size cannot be read; an image is a PNG, JPEG, TIFF, BMP or DICOM file. "
            "Fetch or convert it."
        ) from None
    return (height, width) if turned else (width, height)


# ---------------------------------------------------------------- clips


class Footage(msgspec.Struct, frozen=True):
    """A clip as its file has it."""

    frames: int
    width: int
    height: int
    fps: float | None = None


class Unplayable(Exception):
    """Why a clip cannot be shown, in words that follow its name."""


def probe_video(path: Path, stated: int | None = None) -> Footage:
    """Open a video, decode its first frame and count the rest.

    `stated` is the count a list gives. Where list, header and packets agree nothing more is read;
    else every frame is decoded, and what comes out is the count. Fewer than both list and header
    promise is a damaged file.
    """
    _check_there(path)
    try:
        return _probed_video(path, stated)
    except Unplayable:
        raise
    except BadInput as error:
        raise Unplayable(bare_message(error, path.name)) from None
    except Exception as error:  # FFmpeg and PyAV meet hostile bytes: whatever they raise
        said = " ".join(str(getattr(error, "strerror", None) or error).split())
        why = said or type(error).__name__
        raise Unplayable(f"the video cannot be decoded ({why})") from None


def _check_there(path: Path) -> None:
    if not path.is_file():
        raise Unplayable("the file is not there")
    if not path.stat().st_size:
        raise Unplayable("the file is empty (0 bytes)")


@budgeted
def _probed_video(path: Path, stated: int | None) -> Footage:
    """Every packet is counted, and those up to the first frame are decoded.

    Packets that an edit list leaves out are decoded by nobody; the header counts them.
    """
    first, packets = None, 0
    with _opened_video(path) as (container, stream):
        fps = float(stream.average_rate) if stream.average_rate else None
        declared = stream.frames
        for packet in container.demux(stream):
            if first is None:
                first = next(iter(packet.decode()), None)
            if packet.size and packet.is_discard:
                declared -= 1
            elif packet.size:
                packets += 1
    if first is None:
        raise Unplayable("the video has no frames")
    claims = {stated or 0, declared} - {0}
    frames = packets if claims == {packets} else _decoded_frames(path)
    if claims and frames < min(claims):
        raise Unplayable(
            f"the video is cut short or damaged: {frames} of its {min(claims)} frames decode"
        )
    return Footage(frames, first.width, first.height, fps)


def bare_message(error: BadInput, name: str = "") -> str:
    """An error's line without the name it begins with and the full stop at its end."""
    return str(error).removeprefix(f"{name}: ").rstrip(".")


def _check_picture(width: int, height: int) -> None:
    """Refuse a size that no frame has, before memory is set aside for it."""
    if not 0 < width * height <= MOST_PIXELS:
        raise Unplayable(
            f"it declares frames of {width} x {height} pixels, of which at most {MOST_PIXELS} "
            "can be shown"
        )


@contextmanager
def _opened_video(path: Path) -> Iterator[tuple[Any, Any]]:
    """The container and its video, opened as the frames will be when they are shown.

    Only the three kinds of file that can be shown: FFmpeg's own guess takes a still picture or a
    text for a video, and follows playlists to other files and hosts.
    """
    import av

    from overread.imaging._video import Feed, container_of, limit_video

    with path.open("rb") as file:
        kind = container_of(file.read(132))
        file.seek(0)
        if kind is None:
            raise Unplayable("it is no AVI, MP4 or MKV file")
        try:
            with av.open(Feed(file), "r", format=kind) as container:
                if not container.streams.video:
                    raise Unplayable("there is no video in the file")
                stream = container.streams.video[0]
                _check_picture(stream.width or 0, stream.height or 0)
                limit_video(stream, path.name)
                yield container, stream
        finally:
            check_time(path.name)


def _decoded_frames(path: Path) -> int:
    """How many frames come out before the end, or before the first that cannot be decoded."""
    import av

    count = 0
    with _opened_video(path) as (container, stream), suppress(av.FFmpegError):
        for _ in container.decode(stream):
            count += 1
    return count


# -------------------------- multi-frame DICOM: the frames, the size and the cine rate of its header

_HEADER_TAGS: Final = (
    *("NumberOfFrames", "Rows", "Columns", "SamplesPerPixel", "BitsAllocated"),
    *("PhotometricInterpretation", "FrameTime", "FrameTimeVector", "CineRate"),
    "RecommendedDisplayFrameRate",
)


def is_dicom(path: Path) -> bool:
    """By the mark after the preamble, or by the name where a file lacks it."""
    try:
        with path.open("rb") as file:
            marked = file.read(132)[128:] == b"DICM"
    except OSError:
        marked = False
    return marked or path.suffix.lower() in (".dcm", ".dicom")


def probe_dicom(path: Path) -> Footage:
    """The clip of a DICOM file, from its header; the pixels are not decoded."""
    import pydicom

    _check_there(path)
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")
            opened, deflated = header_file(file)
            header = pydicom.dcmread(
                opened, stop_before_pixels=True, specific_tags=list(_HEADER_TAGS), force=True
            )
            frames = int(_header_number(header, "NumberOfFrames") or 1)
            height, width = (int(_header_number(header, name)) for name in ("Rows", "Columns"))
            rate = _cine_rate(header)
            least = 0 if deflated else _least_bytes(header, frames * height * width)
    except Exception as error:  # pydicom raises whatever a damaged header makes it stumble over
        why = " ".join(str(error).split())[:80] or type(error).__name__
        raise Unplayable(f"the DICOM header cannot be read ({why})") from None
    if not width or not height:
        raise Unplayable("the DICOM file has no picture in it")
    _check_picture(width, height)
    if frames < 1:
        raise Unplayable("the clip has no frames")
    size = path.stat().st_size
    if size < least:
        raise Unplayable(f"the file is cut short: {frames} frames need {least} bytes, not {size}")
    return Footage(frames, width, height, rate)


def _cine_rate(header: Any) -> float | None:
    """Frames per second: FrameTime or FrameTimeVector (ms), else CineRate, else the display rate.

    FrameTime is how the clip was acquired; the other two are how it is meant to be played.
    """
    time = _header_number(header, "FrameTime")
    if time > 0:
        return 1000 / time
    steps = [float(step) for step in _header_values(header, "FrameTimeVector")[1:]]
    if steps and sum(steps) > 0:
        return 1000 * len(steps) / sum(steps)
    rates = (_header_number(header, name) for name in ("CineRate", "RecommendedDisplayFrameRate"))
    return next((rate for rate in rates if rate > 0), None)


def _least_bytes(header: Any, pixels: int) -> int:
    """What uncompressed frames take at least; compressed ones may take anything."""
    syntax = getattr(getattr(header, "file_meta", None), "TransferSyntaxUID", None)
    if syntax is None or syntax.is_compressed:
        return 0
    samples = int(_header_number(header, "SamplesPerPixel") or 1)
    bits = int(_header_number(header, "BitsAllocated") or 8)
    subsampled = header.get("PhotometricInterpretation") == "YBR_FULL_422"
    return pixels * (2 if subsampled else samples) * bits // 8


def _header_values(header: Any, name: str) -> list[Any]:
    value = header.get(name)
    if value is None:
        return []
    return [value] if isinstance(value, str | int | float) else list(value)


def _header_number(header: Any, name: str) -> float:
    """The first of an element's numbers; 0 where it is not said, or not finite."""
    first = next(iter(_header_values(header, name)), "")
    number = float(first) if str(first).strip() else 0.0
    return number if math.isfinite(number) else 0.0


# ------------------------------------------- whether masks go with a clip: as many frames, as large


def check_masks(root: Path, mask: str, clip: Footage) -> None:
    """Refuse masks of another number of frames, or of another size, than the clip's.

    EchoNet's output shows the clip beside the clip with its mask, so it is twice as wide, and
    twice as high where the plot below is kept.
    """
    from overread.imaging._clips import mask_shape

    width, height = clip.width, clip.height
    sizes = {(width, height)}
    try:
        shape = mask_shape(Source(str(root), mask))
        if shape is None:
            path = root / mask
            video = probe_dicom(path) if is_dicom(path) else probe_video(path)
            shape = video.frames, video.width, video.height
            sizes |= {(2 * width, height), (2 * width, 2 * height)}
    except BadInput as error:
        raise Unplayable(f"its masks, {mask}: {bare_message(error, mask)}") from None
    except Unplayable as why:
        raise Unplayable(f"its masks, {mask}: {why}") from None
    if shape[0] != clip.frames:
        raise Unplayable(f"its masks, {mask}, are of {shape[0]} frames and it has {clip.frames}")
    if shape[1:] not in sizes:
        raise Unplayable(
            f"its masks, {mask}, are {shape[1]} x {shape[2]} and its frames {width} x {height}"
        )


def probe_nifti(path: Path) -> Footage:
    """Frames and size from the header; the array's axes are x, y, t."""
    from overread.imaging._nifti import nifti_shape

    if not path.is_file():
        raise Unplayable("the file is not there")
    try:
        return Footage(*nifti_shape(path, path.name))
    except BadInput as error:
        raise Unplayable(bare_message(error, path.name)) from None
