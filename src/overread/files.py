"""The one door through which files of other people are opened, and their numbers read.

Whatever a user names may be a FIFO that nobody writes to, a device that never ends, a gzip of four
gigabytes or a table of 5,000-digit numbers. Here each is one line in a moment: only regular files
are opened, nothing longer than said is read or inflated, and a number has a length.
Pictures and clips have a budget of their own, in `imaging`.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from overread.case import BadInput

# The largest official table has 400 MB; what is read whole is held in memory once or twice.
MOST_TABLE: Final = 1 << 29
# The largest study or policy anybody wrote has a few kB.
MOST_TOML: Final = 1 << 20
_MARK: Final = b"\xef\xbb\xbf"
_GZIPPED: Final = b"\x1f\x8b"
_STEP: Final = 1 << 20
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
# No number of any table has as many characters; Python takes quadratic time to read longer ones.
_LONGEST_NUMBER: Final = 64
# Time and memory of a dotted key grow with the square of its parts.
_MANY_DOTS: Final = re.compile(r"(?:[^\s.=\[\]{},]+[ \t]*\.[ \t]*){33}")


def open_file(
    path: Path | str, *, named: str | None = None, at_most: int | None = None
) -> BufferedReader:
    """Open a regular file to read; a FIFO, device, socket or folder is refused without waiting.

    `named` is what the line calls it (an option, say), its path where left out. A file of more
    than `at_most` bytes is refused before anything of it is read.
    """
    called = named or str(path)
    try:
        # Opening a FIFO waits for its writer unless told not to.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{called}: there is no such file. Give its path.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            f"{called} cannot be read: {why}. Mend its rights, or name another."
        ) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "of an unknown kind")
        raise BadInput(f"{called} is {kind} and no file. Name a file.")
    if at_most is not None and found.st_size > at_most:
        os.close(descriptor)
        raise BadInput(
            f"{called} has {size_words(found.st_size)}; at most {size_words(at_most)} are read. "
            "Check that this is the file meant."
        )
    return open(descriptor, "rb")


def read_bytes(path: Path | str, *, named: str | None = None, at_most: int = MOST_TABLE) -> bytes:
    """All of a regular file of at most so many bytes, or one line why not."""
    with open_file(path, named=named, at_most=at_most) as file:
        try:
            data = file.read(at_most + 1)
        except OSError as error:
            raise BadInput(f"{named or path} cannot be read: {error.strerror}.") from None
    if len(data) > at_most:  # it grew, or is one of the system's files, whose size is said to be 0
        raise BadInput(
            f"{named or path} has over {size_words(at_most)}, and no more are read. "
            "Check that this is the file meant."
        )
    return data


def read_text(path: Path | str, *, named: str | None = None, at_most: int = MOST_TABLE) -> str:
    """The text of a file in UTF-8, without the mark that some editors put first."""
    data = read_bytes(path, named=named, at_most=at_most).removeprefix(_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{named or path} row {row}: byte 0x{data[error.start]:02x} is not UTF-8. "
            "Save it as UTF-8, or fetch it again."
        ) from None


def read_toml(path: Path | str) -> dict[str, Any]:
    """A TOML file as plain values; what is no TOML, or would eat the machine, is one line."""
    return parse_toml(read_text(path, at_most=MOST_TOML), str(path))


def parse_toml(text: str, called: str) -> dict[str, Any]:
    """TOML text as plain values, or one line that names `called`."""
    if _MANY_DOTS.search(text):
        raise BadInput(f"{called}: a key has over 32 parts between dots. Mend the TOML.")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # no TOML, or a number of 5,000 digits
        raise BadInput(f"{called} is not TOML: {error}. Mend it.") from None
    except RecursionError:
        raise BadInput(f"{called} is nested too deeply. Mend the TOML.") from None


def is_gzip(data: bytes) -> bool:
    """By the first bytes and not by the name: browsers unpack on the way and leave the `.gz`."""
    return data.startswith(_GZIPPED)


def inflate(data: bytes, called: str, *, at_most: int = MOST_TABLE) -> bytes:
    """What a gzip file holds; one that would hold more than `at_most` bytes is refused on the way.

    Files of several members, as some tools write them, are read whole.
    """
    pieces: list[bytes] = []
    total, rest = 0, data
    try:
        while rest:
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                piece = member.decompress(rest, _STEP)
                rest = member.unconsumed_tail
                total += len(piece)
                if total > at_most:
                    raise BadInput(
                        f"{called}: a gzip that holds over {size_words(at_most)}, and no more are "
                        "read. Check that this is the file meant."
                    )
                pieces.append(piece)
                if not piece and not rest and not member.eof:
                    raise BadInput(
                        f"{called} is a damaged gzip file: it is cut short. Fetch it again."
                    )
            rest = member.unused_data.lstrip(b"\0")  # some writers pad with zeros
    except zlib.error as error:
        raise BadInput(f"{called} is a damaged gzip file: {error}. Fetch it again.") from None
    return b"".join(pieces)


def whole(text: str) -> int | None:
    """The whole number that a cell holds, or None; also of one too long to count anything."""
    text = text.strip()
    if len(text) > _LONGEST_NUMBER:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def decimal(text: str) -> float | None:
    """The finite number that a cell holds, or None."""
    text = text.strip()
    if len(text) > _LONGEST_NUMBER:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def size_words(size: int) -> str:
    """A number of bytes as people say it."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
