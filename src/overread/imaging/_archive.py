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
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from overread.case import BadInput
from overread.imaging._budget import BARE, budgeted, hold, inflated, make_room
from overread.imaging._dicom_file import shown_as_dicom
from overread.imaging._zip_index import Damaged, Member, members_of

# Larger than any single picture we can show; a guard against pointing at an archive by mistake.
MOST_BYTES = 1 << 29

# Each holds its index: 41,000 members are some 10 MB.
_MOST_OPEN = 4
_STORED, _DEFLATED = 0, 8
_NOT_DICOM = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
_LOCAL_HEADER = b"PK\x03\x04"
# General purpose bits 0, 5 and 6: encrypted, patched data, strongly encrypted.
_SEALED = 0x61


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

    def digest(self, name: str) -> bytes:
        """16 bytes for a member by its name, size and CRC-32: no byte of it is read.

        What `read` gives has been checked against the same CRC.
        """
        entry = self.entry(name)
        said = f"zip member\0{name}\0{entry.size}\0{entry.crc}"
        told = sha256(said.encode("utf-8", "surrogatepass")).digest()[:16]
        # By its name, for nothing of it is read: what is not surely another format.
        return told if name.lower().endswith(_NOT_DICOM) else shown_as_dicom(told)

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
        try:
            data = self._packed(name, entry)
            if entry.method == _DEFLATED:
                data = inflated(data, BARE, name, entry.size).getvalue()
        except OSError as error:
            raise BadInput(
                f"{self.path}: cannot be read ({error.strerror}). Mend its rights or fetch it "
                "again."
            ) from None
        except (zlib.error, EOFError):
            data = b""
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


def mark_of(found: os.stat_result) -> int:
    """By what, beside its size, a file is known to be the same, as one number.

    The time of the last change of its inode cannot be set: it tells a file that was written anew
    with the size and time it had. Another inode is another file under the name.
    """
    said = f"{found.st_mtime_ns}\0{found.st_ctime_ns}\0{found.st_ino}"
    return int.from_bytes(sha256(said.encode()).digest()[:7])


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
    real = real_path(path)
    with _opening:
        return _indexed(real, found.st_size, mark_of(found))


def real_path(path: str | Path) -> str:
    """Where a file really is; links are followed once, as those of a data root are."""
    return _resolved(os.path.abspath(path))


@functools.lru_cache(256)
def _resolved(path: str) -> str:
    return os.path.realpath(path)


_opening = threading.Lock()


@functools.lru_cache(_MOST_OPEN)
def _indexed(path: str, size: int, mark: int) -> Archive:
    return Archive(path, size, mark, dict(_entries(path)))


def _entries(path: str) -> Iterator[tuple[str, Entry]]:
    seen: set[str] = set()
    try:
        for member in members_of(path):
            name = member.name
            refuse_unsafe(name, path)
            if name[-1] == "/" or name.startswith("__MACOSX/"):
                continue
            why = "stands in it twice. Make the archive anew." if name in seen else _why_not(member)
            seen.add(name)
            yield (
                name,
                Entry(member.size, member.crc, member.packed, member.offset, member.method, why),
            )
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


def _why_not(member: Member) -> str:
    if stat.S_ISLNK(member.mode):
        return "is a link, which is not followed. Put the file itself into the archive."
    if member.flags & _SEALED:
        return "is encrypted. Make the archive anew without a password."
    if member.method not in (_STORED, _DEFLATED):
        return f"is packed by method {member.method}; stored and deflated are read. Repack it."
    return ""
