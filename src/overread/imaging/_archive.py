"""Images inside a zip archive, read in place: nothing is ever unpacked to a disk.

The index is read once and kept. A member is then found, checked and digested without the archive
being opened, and read with a file handle of its own: no thread waits for another.
"""

from __future__ import annotations

import functools
import os
import stat
import struct
import threading
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from overread.case import BadInput
from overread.imaging._budget import BARE, budgeted, hold, inflated, make_room
from overread.imaging._dicom_file import shown_as_dicom
from overread.imaging._formats import unreadable_refused
from overread.imaging.darkroom import mark_of

# Larger than any single picture we can show; a guard against pointing at an archive by mistake.
MOST_BYTES = 1 << 29

# Each holds its index: 41,000 members are some 10 MB.
_MOST_OPEN = 4
_STORED, _DEFLATED = 0, 8
_NOT_DICOM = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
_LOCAL_HEADER = b"PK\x03\x04"
# General purpose bits 0, 5 and 6: encrypted, patched data, strongly encrypted.
_SEALED = 0x61


class Place(msgspec.Struct, frozen=True, gc=False):
    """The file on the disk that holds a source's bytes, and how it was when it was looked at.

    `kept_as` tells the source from others in the same file. `digest` is empty where the bytes must
    be read to have it, and `path` for bytes held in memory.
    """

    path: str = ""
    size: int = 0
    mark: int = 0
    kept_as: str = ""
    digest: bytes = b""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A member as the archive's index has it; `why` it is not read, if it is not."""

    size: int
    crc: int
    packed: int
    offset: int
    method: int
    why: str = ""


class Archive(msgspec.Struct, frozen=True, gc=False):
    """A zip archive as it was when its index was read. Safe to read from many threads.

    `names` holds no folders and nothing below `__MACOSX/`, where macOS keeps its own notes.
    """

    path: str
    size: int
    mark: int
    names: Mapping[str, Entry]

    def entry(self, name: str) -> Entry:
        """The member of this name. Raises BadInput if there is none, or none that can be read."""
        found = self.names.get(name)
        if found is None and not name.isascii():
            found = self.names.get(unicodedata.normalize("NFC", name))
        if found is None:
            refuse_unsafe(name, self.path)
            raise BadInput(
                f"{name!r} is not in {self.path!r}. Fetch the whole archive, or mend the name."
            )
        if found.why:
            raise BadInput(f"{name!r} in {self.path!r} {found.why}")
        return found

    def place(self, name: str) -> Place:
        """Where a member stands. No byte of it is read: its digest is of name, size and CRC-32.

        What `read` gives has been checked against the same CRC.
        """
        entry = self.entry(name)
        said = f"zip member\0{name}\0{entry.size}\0{entry.crc}"
        told = sha256(said.encode("utf-8", "surrogatepass")).digest()[:16]
        # By its name, for nothing of it is read: what is not surely another format.
        known = told if name.lower().endswith(_NOT_DICOM) else shown_as_dicom(told)
        return Place(self.path, self.size, self.mark, digest=known)

    @budgeted
    def read(self, name: str) -> bytes:
        """The member's bytes: as many as the index says, with the CRC it says, or BadInput."""
        entry = self.entry(name)
        if max(entry.size, entry.packed) > MOST_BYTES:
            raise BadInput(
                f"{name!r} in {self.path!r}: {entry.size} bytes is too large for one file (at most "
                f"{MOST_BYTES}). Name another member."
            )
        hold(entry.packed, name)
        make_room(entry.size, name)
        data = b""
        with unreadable_refused(self.path), suppress(zlib.error, EOFError):
            packed = self._packed(name, entry)
            unpacks = entry.method == _DEFLATED
            data = inflated(packed, BARE, name, entry.size).getvalue() if unpacks else packed
        if len(data) != entry.size or zlib.crc32(data) != entry.crc:
            raise BadInput(
                f"{name!r} in {self.path!r} is damaged: not the {entry.size} bytes of its index. "
                "Fetch the archive again."
            )
        return data

    def _packed(self, name: str, entry: Entry) -> bytes:
        """A member as it lies in the archive; cut short where the archive is."""
        with open(self.path, "rb", buffering=0) as file:
            handle = file.fileno()
            found = os.fstat(handle)
            if (found.st_size, mark_of(found)) != (self.size, self.mark):
                raise BadInput(
                    f"{self.path!r} changed while {name!r} was read from it. Run the same command "
                    "again."
                )
            if entry.offset < 0 or entry.offset + entry.packed > self.size:
                return b""
            head = os.pread(handle, 30, entry.offset)
            if not head.startswith(_LOCAL_HEADER) or len(head) < 30:
                return b""
            # The index and the local header may differ in what stands after the name.
            start = 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:], "little")
            return os.pread(handle, entry.packed, entry.offset + start)


def is_archive(path: str | Path) -> bool:
    """Whether this is a zip archive: a regular file whose name ends in .zip."""
    return looked_at(path, ".zip") is not None


def looked_at(path: str | Path, suffix: str) -> os.stat_result | None:
    """The state of a regular file whose name ends so; None of anything else."""
    if str(path)[-len(suffix) :].lower() != suffix:
        return None
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def archive(path: str | Path, found: os.stat_result | None = None) -> Archive:
    """The archive with its index, which is read again only when the file has changed.

    `found` is its state, if the caller has just looked. Raises BadInput for what is no zip archive,
    and for one with a member whose name leads out of it: a sound one has none. Members that cannot
    be read are refused when they are asked for.
    """
    found = found or looked_at(path, ".zip")
    if found is None:
        raise BadInput(
            f"{str(path)!r} is not there, or no zip archive. Name a file ending in .zip."
        )
    with _opening:
        return _indexed(real_path(path), found.st_size, mark_of(found))


def real_path(path: str | Path) -> str:
    """Where a file really is; links are followed once, as those of a data root are."""
    return _resolved(os.path.abspath(path))


_resolved: Callable[[str], str] = functools.lru_cache(256)(os.path.realpath)
_opening = threading.Lock()


@functools.lru_cache(_MOST_OPEN)
def _indexed(path: str, size: int, mark: int) -> Archive:
    return Archive(path, size, mark, dict(_entries(path)))


def _entries(path: str) -> Iterator[tuple[str, Entry]]:
    seen: set[str] = set()
    try:
        for name, flags, method, crc, packed, size, mode, offset in members_of(path):
            refuse_unsafe(name, path)
            if name[-1] == "/" or name.startswith("__MACOSX/"):
                continue
            why = ""
            if name in seen:
                why = "stands in it twice. Make the archive anew."
            elif stat.S_ISLNK(mode):
                why = "is a link, which is not followed. Put the file itself into the archive."
            elif flags & _SEALED:
                why = "is encrypted. Make the archive anew without a password."
            elif method not in (_STORED, _DEFLATED):
                why = f"is packed by method {method}; stored and deflated are read. Repack it."
            seen.add(name)
            yield name, Entry(size, crc, packed, offset, method, why)
    except OSError as error:
        raise BadInput(
            f"{path!r} cannot be read ({error.strerror}). Mend its rights or fetch it again."
        ) from None
    except (Damaged, struct.error) as error:
        raise BadInput(
            f"{path!r} is no zip archive, or a damaged one ({error}). Fetch it again."
        ) from None


def refuse_unsafe(name: str, path: str) -> None:
    """Refuse a name that means, somewhere, a place outside of the archive."""
    if (
        not name
        or name[0] == "/"
        or "\\" in name
        or "\0" in name
        or name[1:2] == ":"
        or (".." in name and ".." in name.split("/"))
    ):
        raise BadInput(
            f"{name!r} in {path!r} is no safe name; members lie below the archive, with / between "
            "folders and without '..'. Make the archive anew."
        )


# --------------------- The index at the end of a zip archive (its central directory), read by hand
#
# `zipfile` takes three times as long over the 41,000 members of a large set, which is a good part
# of what planning a run of it may take, and makes an object of 600 bytes of each. Names and numbers
# are those `zipfile` finds; a test compares them.

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


def members_of(path: str) -> Iterator[tuple[str, int, int, int, int, int, int, int]]:
    """Every member in the index's order: name, flags, method, CRC, packed size, size, mode, offset.

    `mode` is that of the file system it came from. Raises Damaged and OSError.
    """
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
        yield name, flags, method, crc, packed, size, mode >> 16, before + offset
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
