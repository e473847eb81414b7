"""Frames -> a video file: the one a reader receives, and a lossless one for clips made here."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from overread.case import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

# One frame a second: servers that sample by time take at least one a second, so that none is
# lost, and where they tell the model the second, it is the number of the frame.
_RATE = 1


def movie(frames: Sequence[NDArray[np.uint8]]) -> bytes:
    """An MP4 (H.264, 4:2:0) of exactly these frames: opened again and counted."""
    height, width = (side + side % 2 for side in frames[0].shape[:2])
    even = [_even(frame, height, width) for frame in frames]
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


def _even(frame: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """In a video of this size: smaller frames get their last row and column again."""
    more = [(0, height - frame.shape[0]), (0, width - frame.shape[1]), (0, 0)][: frame.ndim]
    return np.ascontiguousarray(np.pad(frame, more, mode="edge"))
