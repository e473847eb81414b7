"""What a clip's file says of itself: how many frames there really are, how large, how fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from overread.case import BadInput

__all__ = ["Footage", "Unplayable", "bare", "check_picture", "probe_video"]


class Footage(msgspec.Struct, frozen=True):
    """A clip as its file has it."""

    frames: int
    width: int
    height: int
    fps: float | None = None


class Unplayable(Exception):
    """Why a clip cannot be shown, in words that follow its name."""


class _Walk(msgspec.Struct):
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
    from overread.imaging import budgeted

    if not path.is_file():
        raise Unplayable("the file is not there")
    if not path.stat().st_size:
        raise Unplayable("the file is empty (0 bytes)")
    try:
        return budgeted(_probed)(path, stated)
    except BadInput as error:
        raise Unplayable(bare(error, path.name)) from None


def _probed(path: Path, stated: int | None) -> Footage:
    try:
        walk = _walked(path)
        if walk.first is None:
            raise Unplayable("the video has no frames")
        claims = {stated or 0, walk.stated} - {0}
        frames = walk.packets if claims == {walk.packets} else _decoded(path)
    except (BadInput, Unplayable):
        raise
    except Exception as error:  # FFmpeg and PyAV meet hostile bytes: whatever they raise
        raise Unplayable(f"the video cannot be decoded ({_said(error)})") from None
    if claims and frames < min(claims):
        raise Unplayable(
            f"the video is cut short or damaged: {frames} of its {min(claims)} frames decode"
        )
    return Footage(frames, walk.first.width, walk.first.height, walk.fps)


def bare(error: BadInput, name: str = "") -> str:
    """An error's line without the name it begins with and the full stop at its end."""
    return str(error).removeprefix(f"{name}: ").rstrip(".")


def check_picture(width: int, height: int) -> None:
    """Refuse a size that no frame has, before memory is set aside for it."""
    from overread.imaging import MOST_PIXELS

    if not 0 < width * height <= MOST_PIXELS:
        raise Unplayable(
            f"it declares frames of {width} x {height} pixels, of which at most {MOST_PIXELS} "
            "can be shown"
        )


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The container and its video, opened as the frames will be when they are shown.

    Only the three kinds of file that can be shown: FFmpeg's own guess takes a still picture or a
    text for a video, and follows playlists to other files and hosts.
    """
    import av

    from overread.imaging import Feed, check_time, container_of, limit_video

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


def _walked(path: Path) -> _Walk:
    """Every packet is counted, and those up to the first frame are decoded.

    Packets that an edit list leaves out are decoded by nobody; the header counts them.
    """
    with _opened(path) as (container, stream):
        fps = float(stream.average_rate) if stream.average_rate else None
        walk = _Walk(None, fps, stream.frames, 0)
        for packet in container.demux(stream):
            if walk.first is None:
                walk.first = next(iter(packet.decode()), None)
            if packet.size and packet.is_discard:
                walk.stated -= 1
            elif packet.size:
                walk.packets += 1
    return walk


def _decoded(path: Path) -> int:
    """How many frames come out before the end, or before the first that cannot be decoded."""
    import av

    count = 0
    with _opened(path) as (container, stream):
        try:
            for _ in container.decode(stream):
                count += 1
        except av.FFmpegError:
            pass
    return count


def _said(error: Any) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__
