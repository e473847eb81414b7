"""Small PNG files looked at by a program of its own: their names in keys, what is sent of them.

Most steps of it let go of the interpreter's lock and take it again, so that threads of a process
that asks hinder each other more than they help. `engine/darkroom.py` starts this module
(`beside.py`) and says what orders and answers are.

It imports nothing that it can do without, neither msgspec nor typing: it is there in a fiftieth of
a second. So what others need to know of a PNG's chunks stands here, too.
"""

from __future__ import annotations

import marshal
import os
import stat
import struct
import sys
from hashlib import blake2b, sha256

from isal import isal_zlib
from isal.igzip_lib import IsalError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    # A width and a height that the picture must have, or a side that none of its two may exceed.
    Size: TypeAlias = tuple[int, int] | tuple[int]
    # A path below the real folder that it must not leave, and the sizes of what may be sent as it
    # stands; None where only the name is asked for.
    Order: TypeAlias = tuple[str, str, tuple[Size, ...] | None]

SMALL = 1 << 20  # bytes of a file; what takes longer is better shared among threads
# Three bytes each in memory, twice: no more than a decoder of the other process may take at first.
_MOST_PIXELS = 8 << 20

# ---------------------------------------------------------------- orders and answers

LENGTH = struct.Struct(">L")  # before a message
# What a source of these bytes is called, and the bytes that may be sent; which file it was (size
# and mark); how long its path is, where a link led to it, and how many bytes are sent of it.
HEAD = struct.Struct(">16s16sQQLL")
NOTHING = HEAD.pack(b"", b"", 0, 0, 0, 0)


def serve(orders: int, answers: int) -> None:
    """Answer messages of orders, file by file, until nobody can give any more.

    A message says how many bytes of pictures may be sent from it on, those that somebody waits for
    not counted; below 0 it is as many as before.
    """
    room = 0
    held = b""
    # Pictures lie in it until they go out together: memory that is let go and taken anew for each
    # costs more than reading it.
    shelf = memoryview(bytearray(SMALL + _TOGETHER))
    while data := os.read(orders, 1 << 16):
        held += data
        while len(held) >= 4 and len(held) >= (end := 4 + LENGTH.unpack_from(held)[0]):
            told, awaited, files = marshal.loads(held[4:end])  # noqa: S302 - of who started us
            held = held[end:]
            room = room if told < 0 else told
            ready: list[bytes | memoryview] = []
            laid = 0
            for base, path, sizing in files:
                found = looked_at(base, path, sizing, SMALL if awaited else room, shelf[laid:])
                ready += found
                own = len(found[-1]) if len(found) > 1 else 0
                laid += own
                room -= 0 if awaited else own
                if laid >= _TOGETHER or len(ready) > _MOST_PARTS:
                    _write(answers, ready)
                    ready, laid = [], 0
            _write(answers, ready)


# Bytes of answers that go out together: whoever takes each alone is woken a thousand times more.
_TOGETHER = 1 << 18
_MOST_PARTS = 512  # half as many as the system takes at once


def _write(pipe: int, parts: Sequence[bytes | memoryview]) -> None:
    left = sum(map(len, parts)) - os.writev(pipe, parts)
    while left:  # a signal came between
        left -= os.write(pipe, b"".join(parts)[-left:])


def looked_at(
    base: str,
    path: str,
    sizing: Sequence[Size] | None,
    room: int = SMALL,
    shelf: memoryview | None = None,
) -> tuple[bytes | memoryview, ...]:
    """The answer to an order: its head, the path that a link led to, and the bytes to be sent.

    They lie in the shelf that is given. The head alone is `NOTHING` where the file cannot be read,
    or is no small PNG: whoever makes a picture of it says why.
    """
    try:
        found, data, led = _read(base, path, shelf or memoryview(bytearray(SMALL)))
    except (OSError, ValueError):
        return (NOTHING,)
    if data[:8] != PNG or bytes(data[128:132]) == b"DICM":
        return (NOTHING,)
    own: bytes | memoryview = b""
    if sizing is not None and len(data) <= room:
        own = _own_bytes(data, sizing) or b""
    name = sha256(data).digest()[:16]
    digest = blake2b(own, digest_size=16).digest() if own else b""
    head = HEAD.pack(name, digest, len(data), mark_of(found), len(led), len(own))
    return head, led, own


def _read(base: str, path: str, shelf: memoryview) -> tuple[os.stat_result, memoryview, bytes]:
    """A file as it stood when it was opened, its bytes, and where it is if a link led to it."""
    led = b""
    try:
        file = os.open(path, _AS_IT_IS)
    except OSError:
        if not os.path.islink(path):
            raise
        path = os.path.realpath(path)
        if not path.startswith(base.rstrip(os.sep) + os.sep):
            raise
        led = os.fsencode(path)
        file = os.open(path, _AS_IT_IS)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > SMALL:
            raise ValueError(path)
        data = shelf[: found.st_size]
        if not data or os.readv(file, [data]) != found.st_size:
            raise ValueError(path)
    finally:
        os.close(file)
    return found, data, led


# Neither through a link nor, where a pipe stands, for ever.
_AS_IT_IS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def mark_of(found: os.stat_result) -> int:
    """By what, beside its size, a file is known to be the same, as one number.

    The time of the last change of its inode cannot be set: it tells a file that was written anew
    with the size and time it had. Another inode is another file under the name.
    """
    said = f"{found.st_mtime_ns}\0{found.st_ctime_ns}\0{found.st_ino}"
    return int.from_bytes(sha256(said.encode()).digest()[:7])


def _own_bytes(data: memoryview, sizing: Sequence[Size]) -> bytes | memoryview | None:
    plain = plain_png(data)
    if plain is None:
        return None
    sent, packed, width, height, row = plain
    if width * height > _MOST_PIXELS or not all(fits(size, width, height) for size in sizing):
        return None
    return sent if is_whole(packed, height, row) else None


# ---------------------------------------------------------------- PNG

PNG = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 89_478_485  # Pillow's own threshold for suspecting a decompression bomb
# Of 8 kB each, as most are written, as many as fit a gigabyte. Pillow walks them one by one.
MOST_CHUNKS = 1 << 17
_HEADER = struct.Struct(">LLBBBBB")
_CHUNK = struct.Struct(">L4s")
_SAMPLES = {(8, 0, 0, 0, 0): 1, (8, 2, 0, 0, 0): 3}  # bits, colour (grey or RGB) and plain methods
_FILTERS = b"\0\1\2\3\4"


def fits(size: Size, width: int, height: int) -> bool:
    """Whether bringing a picture to that size leaves it as it is."""
    return size == (width, height) if len(size) == 2 else max(width, height) <= size[0]


def plain_png(
    data: bytes | memoryview,
) -> tuple[bytes | memoryview, bytes | memoryview, int, int, int] | None:
    """The bytes without metadata, the deflated rows in them, width, height and bytes of a row.

    None of what is not of eight bits, grey or RGB, upright and without alpha, palette, interlacing
    or animation, or not whole: every chunk of what is left agrees with its checksum. Nor of a file
    that is larger than its pixels: written anew it is smaller.
    """
    if data[:8] != PNG or len(data) < 33 or data[12:16] != b"IHDR":
        return None
    width, height, *kind = _HEADER.unpack_from(data, 16)
    samples = _SAMPLES.get(tuple(kind))
    if samples is None or not 0 < width * height <= MOST_PIXELS:
        return None
    view, kept, packed, at = memoryview(data), [], [], len(PNG)
    for number in range(MOST_CHUNKS):
        if at + 12 > len(data):
            return None
        length, name = _CHUNK.unpack_from(data, at)
        end = at + 12 + length
        if end > len(data) or name in (b"acTL", b"PLTE"):
            return None
        if name == b"eXIf" and exif_orientation(bytes(view[at + 8 : end - 4])) != 1:
            return None
        if name in (b"IHDR", b"IDAT", b"IEND"):
            if isal_zlib.crc32(view[at + 4 : end - 4]) != LENGTH.unpack_from(data, end - 4)[0]:
                return None
            if (name, length) != (b"IHDR", 13) if number == 0 else name == b"IHDR":
                return None
            kept.append(view[at:end])
            if name == b"IDAT":
                packed.append(view[at + 8 : end - 4])
            elif name == b"IEND":
                if length or not packed:
                    return None
                whole = number + 1 == len(kept) and end == len(data)
                sent = data if whole else b"".join((PNG, *kept))
                if len(sent) > height * (1 + width * samples):
                    return None
                rows = packed[0] if len(packed) == 1 else b"".join(packed)
                return sent, rows, width, height, 1 + width * samples
        at = end
    return None


def is_whole(packed: bytes | memoryview, height: int, row: int) -> bool:
    """Whether that inflates to just so many rows, each with a filter that there is."""
    inflating = isal_zlib.decompressobj()
    try:
        rows = inflating.decompress(packed, height * row + 1)
    except IsalError:  # type: ignore[misc]  # its stub declares an instance
        return False
    whole = inflating.eof and not inflating.unused_data and len(rows) == height * row
    return whole and not rows[::row].translate(None, _FILTERS)


def exif_orientation(exif: bytes) -> int:
    """Tag 0x0112 of an EXIF block, 1 (upright) where it is absent or makes no sense."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return 1
    try:
        (at,) = struct.unpack_from(order + "L", exif, 4)
        (entries,) = struct.unpack_from(order + "H", exif, at)
        for entry in range(entries):
            tag, kind, count, value = struct.unpack_from(order + "HHLH", exif, at + 2 + entry * 12)
            if tag == 0x0112:
                return int(value) if (kind, count) == (3, 1) and 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1


def main() -> None:
    try:
        serve(sys.stdin.fileno(), int(sys.argv[2]))
    except BrokenPipeError:
        sys.exit()  # whoever asked is gone
