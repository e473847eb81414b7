"""What a clip's file says of itself: how many frames there really are, how large, how fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Footage", "Unplayable", "probe_video"]


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
    import av

    if not path.is_file():
        raise Unplayable("the file is not there")
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise Unplayable("there is no video in the file")
            stream = container.streams.video[0]
            claims = {stated or 0, stream.frames} - {0}
            first = next(container.decode(stream), None)
            if first is None:
                raise Unplayable("the video has no frames")
            size = first.width, first.height
            fps = float(stream.average_rate) if stream.average_rate else None
        frames = _packets(path)
        if claims != {frames}:
            frames = _decoded(path)
        if claims and frames < min(claims):
            raise Unplayable(
                f"the video is cut short or damaged: {frames} of its {min(claims)} frames decode"
            )
    except (av.FFmpegError, OSError, ValueError) as error:
        raise Unplayable(f"the video cannot be decoded ({_said(error)})") from None
    return Footage(frames, *size, fps)


def _packets(path: Path) -> int:
    import av

    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return sum(1 for packet in container.demux(stream) if packet.size)


def _decoded(path: Path) -> int:
    """How many frames come out before the end, or before the first that cannot be decoded."""
    import av

    count = 0
    with av.open(str(path)) as container:
        try:
            for _ in container.decode(container.streams.video[0]):
                count += 1
        except av.FFmpegError:
            pass
    return count


def _said(error: Any) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__
