"""Ways a clip's file can be broken. Each turns a good AVI of 60 frames into what its name says."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np

from support.clip_files import png
from support.echo_trees import beating, write_video


def _text(path: Path) -> None:
    path.write_text("this is no video\n" * 40)


def _picture(path: Path) -> None:
    path.write_bytes(png(np.zeros((64, 64), np.uint8)))


def _playlist(path: Path) -> None:
    path.write_text("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/secret.avi\n")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _gone(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _noise(path: Path) -> None:
    head = path.read_bytes()[:12]
    path.write_bytes(head + np.random.default_rng(0).bytes(5000))


def _no_frames(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"movi") + 4])


def _half(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _hole(path: Path) -> None:
    """A block of the disk that was never written, in the middle."""
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4096] = bytes(4096)
    path.write_bytes(data)


def _short(path: Path) -> None:
    write_video(path, beating(12))


def claim_size(path: Path) -> None:
    """The header says 60,000 x 60,000; the pictures within say what they are."""
    data = bytearray(path.read_bytes())
    for mark, at in ((b"avih", 8 + 32), (b"strf", 8 + 4)):
        place = data.index(mark) + at
        data[place : place + 8] = struct.pack("<II", 60_000, 60_000)
    path.write_bytes(data)


def _huge_frame(path: Path) -> None:
    """The header is right; the pictures within say 60,000 x 60,000."""
    data = path.read_bytes()
    old = data[data.index(b"\xff\xc0") :][5:9]
    path.write_bytes(data.replace(b"\x08" + old, b"\x08" + struct.pack(">HH", 60_000, 60_000)))


SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "text": (_text, "it is no AVI, MP4 or MKV file"),
    "picture": (_picture, "it is no AVI, MP4 or MKV file"),
    "playlist": (_playlist, "it is no AVI, MP4 or MKV file"),
    "empty": (_empty, "the file is empty (0 bytes)"),
    "gone": (_gone, "the file is not there"),
    "folder": (_folder, "is not a file"),
    "noise": (_noise, "there is no video in the file"),
    "no frames": (_no_frames, "the video has no frames"),
    "half": (_half, "the video is cut short or damaged: "),
    "hole": (_hole, "the video is cut short or damaged: "),
    "short": (_short, "beyond the end: the clip has 12 frames, 0 to 11"),
    "huge frame": (_huge_frame, "the video cannot be decoded"),
}
"""By what is wrong: how to make it so, and what must be said of the clip."""


def spoil(path: Path, how: str) -> None:
    SPOILT[how][0](path)


def damage_a_frame(path: Path, number: int, container: str) -> None:
    """Every packet stays where it is; the bytes of one are zeros, which only decoding finds."""
    data = bytearray(path.read_bytes())
    with av.open(str(path), format=container) as opened:
        packets = [p for p in opened.demux(opened.streams.video[0]) if p.size]
        at, size = packets[number].pos, packets[number].size
    data[at : at + size] = bytes(size)
    path.write_bytes(data)


def write_uneven(path: Path, frames: int) -> Path:
    """An MP4 whose frames are shown for ever longer times."""
    from fractions import Fraction

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=50)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for number, picture in enumerate(beating(frames)):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = 10 * number + number * number, Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
