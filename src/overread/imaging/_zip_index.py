"""The index at the end of a zip archive (its central directory), read by hand.

`zipfile` takes three times as long over the 41,000 members of a large set, which is a good part of
what planning a run of it may take, and makes an object of 600 bytes of each. Names and numbers are
those `zipfile` finds; a test compares them.
"""

from __future__ import annotations

import os
import struct
import unicodedata
from collections.abc import Iterator

import msgspec

__all__ = ["Damaged", "Member", "members_of"]

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
# Versions, time and disk are passed over.
_MEMBER = struct.Struct("<L4x2H4x3L3H4x2L")
_MEMBER_MARK = 0x02014B50
_MOST_COMMENT = 1 << 16
_MOST_INDEX = 1 << 27  # bytes: of a million members
_IN_EXTRA = 0xFFFFFFFF  # the number is too large for its field
_UTF_8 = 0x800


class Damaged(Exception):
    """Why the index cannot be read."""


class Member(msgspec.Struct, frozen=True, gc=False):
    """A member as the index has it. `mode` is that of the file system it came from."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    offset: int


def members_of(path: str) -> Iterator[Member]:
    """Every entry of the index in its order. Raises Damaged and OSError."""
    with open(path, "rb", buffering=0) as file:
        listed, count, before = _directory(file.fileno())
    at = found = 0
    unpack, width, whole = _MEMBER.unpack_from, _MEMBER.size, len(listed)
    while at + width <= whole:
        fields = unpack(listed, at)
        mark, flags, method, crc, packed, size, named, more, said, mode, offset = fields
        start = at + width
        at = start + named + more + said
        if mark != _MEMBER_MARK or at > whole:
            break
        if size == _IN_EXTRA or packed == _IN_EXTRA or offset == _IN_EXTRA:
            extra = listed[start + named : start + named + more]
            size, packed, offset = _large(extra, size, packed, offset)
        found += 1
        name = _name(listed[start : start + named], flags)
        yield Member(name, flags, method, crc, packed, size, mode >> 16, before + offset)
    # A count of 16 bits that began anew is what older programs write.
    if at != whole or (found - count) % (1 << 16):
        raise Damaged(f"its index breaks off after {found} members")


def _directory(handle: int) -> tuple[bytes, int, int]:
    """The index, how many members it should have, and how many bytes precede the archive."""
    size = os.fstat(handle).st_size
    tail_at = max(0, size - _END.size - _MOST_COMMENT)
    tail = os.pread(handle, size - tail_at, tail_at)
    at = tail.rfind(b"PK\x05\x06", 0, max(0, len(tail) - _END.size + 4))
    if at < 0:
        raise Damaged("its end is missing")
    _, disk, first_disk, _, count, length, start, _ = _END.unpack_from(tail, at)
    end = tail_at + at
    locator_at = end - _LOCATOR.size
    if locator_at >= _END_64.size:
        mark, _, _, disks = _LOCATOR.unpack(os.pread(handle, _LOCATOR.size, locator_at))
        if mark == b"PK\x06\x07":
            end = locator_at - _END_64.size
            large = _END_64.unpack(os.pread(handle, _END_64.size, end))
            if large[0] != b"PK\x06\x06" or disks > 1:
                raise Damaged("its end is damaged")
            _, _, _, _, disk, first_disk, _, count, length, start = large
    if disk or first_disk:
        raise Damaged("it is one part of several")
    before = end - length - start
    if before < 0:
        raise Damaged("its index is missing")
    if length > _MOST_INDEX:
        raise Damaged(f"its index of {length} bytes is too large")
    listed = os.pread(handle, length, end - length)
    if len(listed) != length:
        raise Damaged("its index breaks off")
    return listed, count, before


def _large(extra: bytes, *numbers: int) -> list[int]:
    """Numbers of which those that did not fit their fields stand in the extra field 1."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            held = extra[at + 4 : at + 4 + length]
            wide = iter(struct.unpack(f"<{len(held) // 8}Q", held[: len(held) // 8 * 8]))
            try:
                return [next(wide) if number == _IN_EXTRA else number for number in numbers]
            except StopIteration:
                break
        at += 4 + length
    raise Damaged("a size in its index is missing")


def _name(raw: bytes, flags: int) -> str:
    """The name as it was meant, in composed letters.

    macOS writes UTF-8 without the bit that says so, in decomposed letters; the files that name
    members have composed ones.
    """
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        if flags & _UTF_8:
            raise Damaged("a name in its index is not UTF-8") from None
        name = raw.decode("cp437")
    return name if name.isascii() else unicodedata.normalize("NFC", name)
