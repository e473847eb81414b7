"""Frames of a video by their number, decoded in order from the start.

By number, never by time: the n-th frame is the n-th that the decoder gives. Seeking would have to
trust time stamps, which real files get wrong.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from overread.case import BadInput
from overread.imaging._budget import check_time, hold, time_is_over
from overread.imaging._formats import check_size, refuse_beyond, refuse_damaged
from overread.imaging.darkroom import MOST_PIXELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Chroma planes of eight bits, where grey is 128.
_PLANAR = frozenset(f"yuv{j}{n}p" for j in ("", "j") for n in ("420", "422", "444", "440", "411"))
_FULL_RANGE = 2  # AVCOL_RANGE_JPEG
# round(255 (y - 16) / 219) within 0 .. 255
_STRETCH = ((np.clip(np.arange(256) - 16, 0, 219) * 510 + 219) // 438).astype(np.uint8)
# Bytes of a pixel: of up to sixteen frames that a decoder keeps, and of the copies of one.
_A_PIXEL = 64
_ROUNDED = 256
_ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")


def container_of(data: bytes) -> str | None:
    """The demuxer for these first bytes, or None.

    Named, not guessed: FFmpeg's guesses include playlists, which open other files and hosts.
    """
    if data[128:132] == b"DICM":  # whose preamble may be anything
        return None
    if data[:4] == b"RIFF" and data[8:12] == b"AVI ":
        return "avi"
    if data[:4] == b"\x1a\x45\xdf\xa3":
        return "matroska"
    return "mp4" if data[4:8] in _ATOMS else None


def decode_video(data: bytes, name: str, wanted: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """The frames asked for: rows x columns of grey where a frame is grey, else x 3 of RGB."""
    import av
    from av.video.reformatter import VideoReformatter

    found: dict[int, NDArray[np.uint8]] = {}
    last, count = max(wanted), 0
    asked = frozenset(wanted)
    reformatter = VideoReformatter()  # one for all: a frame's own is made anew for every frame
    try:
        with av.open(Feed(io.BytesIO(data)), "r", format=container_of(data)) as container:
            if not container.streams.video:
                raise BadInput(f"{name}: there is no video in it. Name a video file.")
            stream = container.streams.video[0]
            limit_video(stream, name)
            hold(len(asked) * stream.width * stream.height * 3, name)
            for frame in container.decode(stream):
                check_time(name)
                if count in asked:
                    if frame.is_corrupt:
                        refuse_damaged(name, f"frame {count} cannot be decoded whole")
                    check_size(frame.width, frame.height, name)
                    found[count] = _pixels(frame, reformatter)
                count += 1
                if count > last:
                    break
    except (av.FFmpegError, OSError) as error:
        check_time(name)
        said = " ".join(str(getattr(error, "strerror", None) or error).split())[:120].rstrip(".")
        refuse_damaged(name, f"after {count} frames: {said}" if count else said)
    refuse_beyond(name, wanted, count)
    return found


class Feed:
    """A file for FFmpeg that ends when the time does: through FFmpeg no exception comes out."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        return b"" if time_is_over() else self._file.read(size)


def limit_video(stream: Any, name: str) -> None:
    """Refuse a video whose frames no decoder could hold, and have it keep to the size it declares.

    Clips are decoded side by side: each in one thread.
    """
    width, height = stream.width or 0, stream.height or 0
    check_size(width, height, name)
    hold(width * height * _A_PIXEL, name)
    stream.codec_context.thread_count = 1
    # A frame may declare another size than the file does; coded sizes are rounded up.
    most = (width + _ROUNDED) * (height + _ROUNDED)
    stream.codec_context.options = {"max_pixels": str(min(most, 2 * MOST_PIXELS))}


def _pixels(frame: Any, reformatter: Any) -> NDArray[np.uint8]:
    """What is grey stays grey; a chroma within 1 of neutral everywhere is an encoder's rounding."""
    kind = frame.format.name
    if kind.startswith("gray"):
        grey: NDArray[np.uint8] = frame.to_ndarray(format="gray")
        return grey
    planes = frame.planes if kind in _PLANAR else ()
    if planes and all(
        (chroma.min() >= 127) and chroma.max() <= 129 for chroma in map(_plane, planes[1:])
    ):
        # The first plane in 0 to 255, in whole numbers; FFmpeg's conversion takes ten times as
        # long. Broadcast levels, 16 to 235, are stretched; frames that say so, and yuvj formats,
        # hold all 256.
        luma = _plane(planes[0])
        full = kind.startswith("yuvj") or frame.color_range == _FULL_RANGE
        return luma.copy() if full else _STRETCH[luma]
    colour: NDArray[np.uint8] = reformatter.reformat(frame, format="rgb24").to_ndarray()
    red = colour[..., 0]
    if kind not in _PLANAR and all((red == colour[..., other]).all() for other in (1, 2)):
        return np.ascontiguousarray(red)
    return colour


def _plane(plane: Any) -> NDArray[np.uint8]:
    rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
    return rows[:, : plane.width]


# ------- Frames -> a video file: the one a reader receives, and a lossless one for clips made here

# One frame a second: servers that sample by time take at least one a second, so that none is
# lost, and where they tell the model the second, it is the number of the frame.
_RATE = 1


def movie(frames: Sequence[NDArray[np.uint8]]) -> bytes:
    """An MP4 (H.264, 4:2:0) of exactly these frames: opened again and counted."""
    height, width = (side + side % 2 for side in frames[0].shape[:2])
    even = []
    for frame in frames:  # odd ones get their last row and column again
        more = [(0, height - frame.shape[0]), (0, width - frame.shape[1]), (0, 0)][: frame.ndim]
        even.append(np.ascontiguousarray(np.pad(frame, more, mode="edge")))
    options = {"crf": "8", "preset": "veryfast", "bf": "0"}
    data = _encoded("mp4", "libx264", "yuv420p", even, _RATE, options)
    count = len(movie_frames(data))
    if count != len(frames):
        raise BadInput(
            f"a video of {len(frames)} frames came out with {count}. Show them as images instead."
        )
    return data


def movie_frames(data: bytes) -> list[NDArray[np.uint8]]:
    """Every frame of a video as a reader would decode it."""
    import av

    with av.open(io.BytesIO(data), "r", format="mp4") as container:
        return [
            np.asarray(f.to_ndarray(format="rgb24"), np.uint8) for f in container.decode(video=0)
        ]


def lossless_clip(frames: Sequence[NDArray[np.uint8]], rate: int = 25) -> bytes:
    """A Matroska file (FFV1) that decodes to exactly these frames, all grey or all RGB."""
    grey = frames[0].ndim == 2
    return _encoded("matroska", "ffv1", "gray" if grey else "bgr0", frames, rate, {})


def _encoded(
    container: str,
    codec: str,
    pixels: str,
    frames: Sequence[NDArray[np.uint8]],
    rate: int,
    options: dict[str, str],
) -> bytes:
    import av

    file = io.BytesIO()
    # Bit-exact: no version or time in the file.
    with av.open(file, "w", format=container, options={"fflags": "+bitexact"}) as out:
        stream: Any = out.add_stream(codec, rate=rate)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = pixels
        stream.codec_context.thread_count = 1  # the same bytes on any number of cores
        stream.options = options
        for frame in frames:
            kind = "gray" if frame.ndim == 2 else "rgb24"
            out.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format=kind)))
        out.mux(stream.encode())
    return file.getvalue()
