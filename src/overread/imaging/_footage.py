"""What a clip's file says of itself: how many frames there really are, how large, how fast.

Videos are counted by their packets, or by decoding them; of a DICOM file the header is read, and no
element that names a patient: who a clip belongs to is for the csv beside it to say. Of masks, too,
only headers are read, so that opening a set stays quick.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.case import BadInput, Source
from overread.imaging._budget import budgeted, check_time
from overread.imaging._formats import MOST_PIXELS


class Footage(msgspec.Struct, frozen=True):
    """A clip as its file has it."""

    frames: int
    width: int
    height: int
    fps: float | None = None


class Unplayable(Exception):
    """Why a clip cannot be shown, in words that follow its name."""


class _PacketWalk(msgspec.Struct):
    """A file walked packet by packet: its first frame, what it states, and what is there."""

    first: Any
    fps: float | None
    stated: int
    packets: int


def probe_video(path: Path, stated: int | None = None) -> Footage:
    """Open a video, decode its first frame and count the rest.

    `stated` is the count a list gives. Where list, header and packets agree nothing more is read;
    else every frame is decoded, and what comes out is the count. Fewer than both list and header
    promise is a damaged file.
    """
    if not path.is_file():
        raise Unplayable("the file is not there")
    if not path.stat().st_size:
        raise Unplayable("the file is empty (0 bytes)")
    try:
        return budgeted(_probed_video)(path, stated)
    except BadInput as error:
        raise Unplayable(bare_message(error, path.name)) from None


def _probed_video(path: Path, stated: int | None) -> Footage:
    try:
        walk = _walked_packets(path)
        if walk.first is None:
            raise Unplayable("the video has no frames")
        claims = {stated or 0, walk.stated} - {0}
        frames = walk.packets if claims == {walk.packets} else _decoded_frames(path)
    except (BadInput, Unplayable):
        raise
    except Exception as error:  # FFmpeg and PyAV meet hostile bytes: whatever they raise
        raise Unplayable(f"the video cannot be decoded ({_decoder_words(error)})") from None
    if claims and frames < min(claims):
        raise Unplayable(
            f"the video is cut short or damaged: {frames} of its {min(claims)} frames decode"
        )
    return Footage(frames, walk.first.width, walk.first.height, walk.fps)


def bare_message(error: BadInput, name: str = "") -> str:
    """An error's line without the name it begins with and the full stop at its end."""
    return str(error).removeprefix(f"{name}: ").rstrip(".")


def check_picture(width: int, height: int) -> None:
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
                check_picture(stream.width or 0, stream.height or 0)
                limit_video(stream, path.name)
                yield container, stream
        finally:
            check_time(path.name)


def _walked_packets(path: Path) -> _PacketWalk:
    """Every packet is counted, and those up to the first frame are decoded.

    Packets that an edit list leaves out are decoded by nobody; the header counts them.
    """
    with _opened_video(path) as (container, stream):
        fps = float(stream.average_rate) if stream.average_rate else None
        walk = _PacketWalk(None, fps, stream.frames, 0)
        for packet in container.demux(stream):
            if walk.first is None:
                walk.first = next(iter(packet.decode()), None)
            if packet.size and packet.is_discard:
                walk.stated -= 1
            elif packet.size:
                walk.packets += 1
    return walk


def _decoded_frames(path: Path) -> int:
    """How many frames come out before the end, or before the first that cannot be decoded."""
    import av

    count = 0
    with _opened_video(path) as (container, stream):
        try:
            for _ in container.decode(stream):
                count += 1
        except av.FFmpegError:
            pass
    return count


def _decoder_words(error: Any) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__


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

    from overread.imaging._dicom_file import header_file

    if not path.is_file():
        raise Unplayable("the file is not there")
    if not path.stat().st_size:
        raise Unplayable("the file is empty (0 bytes)")
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")
            opened, deflated = header_file(file)
            header = pydicom.dcmread(
                opened, stop_before_pixels=True, specific_tags=list(_HEADER_TAGS), force=True
            )
            frames = int(_header_number(header, "NumberOfFrames") or 1)
            height, width = (int(_header_number(header, name) or 0) for name in ("Rows", "Columns"))
            rate = cine_rate(header)
            least = 0 if deflated else _least_bytes(header, frames * height * width)
    except Exception as error:  # pydicom raises whatever a damaged header makes it stumble over
        raise Unplayable(f"the DICOM header cannot be read ({_header_fault(error)})") from None
    if not width or not height:
        raise Unplayable("the DICOM file has no picture in it")
    check_picture(width, height)
    if frames < 1:
        raise Unplayable("the clip has no frames")
    size = path.stat().st_size
    if size < least:
        raise Unplayable(f"the file is cut short: {frames} frames need {least} bytes, not {size}")
    return Footage(frames, width, height, rate)


def cine_rate(header: Any) -> float | None:
    """Frames per second: FrameTime or FrameTimeVector (ms), else CineRate, else the display rate.

    FrameTime is how the clip was acquired; the other two are how it is meant to be played.
    """
    time = _header_number(header, "FrameTime")
    if time is not None and time > 0:
        return 1000 / time
    steps = [float(step) for step in _header_values(header, "FrameTimeVector")[1:]]
    if steps and sum(steps) > 0:
        return 1000 * len(steps) / sum(steps)
    for name in ("CineRate", "RecommendedDisplayFrameRate"):
        rate = _header_number(header, name)
        if rate is not None and rate > 0:
            return rate
    return None


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


def _header_number(header: Any, name: str) -> float | None:
    values = _header_values(header, name)
    if not values or str(values[0]).strip() == "":
        return None
    number = float(values[0])
    return number if math.isfinite(number) else None


def _header_fault(error: Exception) -> str:
    return " ".join(str(error).split())[:80] or type(error).__name__


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
