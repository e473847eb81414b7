"""Where an image is, and what its bytes are: a file below a folder, or one inside an archive."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
import time
from pathlib import Path

from overread.case import BadInput, Inline, Source
from overread.imaging._archive import MOST_BYTES, Archive, Place, archive, looked_at
from overread.imaging._budget import hold
from overread.imaging._dicom_file import looks_like_dicom, shown_as_dicom
from overread.imaging._formats import unreadable_refused
from overread.imaging._parquet import Rows, rows
from overread.imaging.darkroom import mark_of

# As many as an hour of a clip's masks; a guard against pointing at a whole data set.
MOST_IMAGES = 100_000
_IMAGES = (".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg")


def locate(source: Source, *, folder: bool = False) -> Path:
    """The real path of a source: an existing regular file that lies below its root.

    With `folder`, a folder will do as well: masks of a clip may be an image of each frame.

    A manifest comes from someone else, so its names are not trusted: absolute names, `..`, NUL
    bytes and symbolic links that point out of the root are refused. A root may itself be a link.
    What lies inside an archive has no path of its own: clips and folders of masks must be files.
    """
    return Path(_located(source, folder=folder))


def _located(source: Source, *, folder: bool = False) -> str:
    """`locate` without a Path, which costs as much as all else."""
    root, name = source.root, source.name
    try:
        path = place_named(source)[1]
        kind = os.lstat(path).st_mode
        if stat.S_ISLNK(kind):
            path = os.path.realpath(path)
            _check_below(path, os.path.realpath(root), name)
            kind = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(
            f"{name!r} is not below {root!r}. Fetch it, or name its folder (--set root=, build "
            "--images)."
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a usable file name"
        raise BadInput(
            f"{name!r} below {root!r} cannot be reached: {why}. Mend its name or rights."
        ) from None
    if folder and name and stat.S_ISDIR(kind):
        return path
    if not stat.S_ISREG(kind):
        raise BadInput(f"{name!r} below {root!r} is not a file. Name an image file.")
    return path


def place_named(source: Source) -> tuple[str, str]:
    """The real folder of a root, and where the file would be, whose own folder is below it.

    Nobody has looked whether it is there, or a link to somewhere else. Raises as `locate` does for
    a name that is none, OSError and ValueError for a folder that cannot be reached.
    """
    root, name = source.root, source.name
    if looked_at(root, ".zip") or looked_at(root, ".parquet"):
        raise BadInput(
            f"{name!r} lies inside {root!r}; clips and masks are not read from archives. Unpack it "
            "and give its folder."
        )
    if "\0" in name or "\0" in root:
        raise BadInput(f"{name!r}: a file name cannot hold a NUL byte. Mend the name.")
    if os.path.isabs(name) or ".." in name.split("/"):
        raise BadInput(
            f"{name!r} leaves its data root; names are relative to the root, without '..'. "
            "Mend the name or choose another root."
        )
    above, _, file = name.rpartition("/")
    return _real_folder(root, ""), os.path.join(_real_folder(root, above), file)


@functools.lru_cache(4096)
def _real_folder(root: str, folder: str) -> str:
    """The real path of a folder below the root; resolved once, for it holds many files."""
    base = os.path.realpath(root)
    path = os.path.realpath(os.path.join(base, folder))
    _check_below(path, base, folder)
    return path


def _check_below(path: str, base: str, name: str) -> None:
    if path != base and not path.startswith(base.rstrip(os.sep) + os.sep):
        raise BadInput(
            f"{name!r} is a link that leaves its data root {base!r}. Copy the file below the root."
        )


def images_of(folder: Path, name: str) -> list[Path]:
    """The images of a folder in the order of their numbers: that of frame n stands at place n.

    The number is the last one in a file's name. They follow one another from 0 or from 1: where
    one is missing, every later image would stand for another frame.
    """
    found: dict[int, Path] = {}
    try:
        listed = sorted(folder.iterdir())
    except OSError as error:
        raise BadInput(f"{name}: cannot be read ({error.strerror}). Mend its rights.") from None
    for path in listed:
        if path.suffix.lower() not in _IMAGES or path.name.startswith("."):
            continue
        try:
            path.name.encode()
        except UnicodeEncodeError:
            raise BadInput(
                f"{name}: the name {path.name!r} in it is not UTF-8. Rename the file."
            ) from None
        digits = re.findall(r"\d+", path.stem)
        number = int(digits[-1]) if digits else -1
        if number < 0 or number in found:
            raise BadInput(
                f"{name}: {path.name} has no number of its own; images of a clip's frames are "
                "numbered from 0 or 1. Name it after its frame."
            )
        found[number] = path
        if len(found) > MOST_IMAGES:
            raise BadInput(f"{name}: holds over {MOST_IMAGES} images. Name one clip's folder.")
    first = min(found, default=0)
    missing = next((n for n in range(first, first + len(found)) if n not in found), None)
    if not found or first > 1 or missing is not None:
        why = f"number {missing} is missing" if found and first <= 1 else "there is no 0 or 1"
        raise BadInput(
            f"{name}: images of a clip's frames are numbered from 0 or 1 without a gap, and {why}. "
            "Give an image of every frame."
        )
    return [found[number] for number in sorted(found)]


def stamp(path: str | Path) -> tuple[int, int]:
    """(size, mark) by which a file is known to be the same; of a folder, over all of its files."""
    found = os.stat(path)
    if not stat.S_ISDIR(found.st_mode):
        return found.st_size, mark_of(found)
    total, names = 0, hashlib.sha256()
    with os.scandir(path) as listed:
        for entry in sorted(listed, key=lambda entry: entry.name):
            try:
                known = entry.stat()
            except OSError:  # a link to nothing
                known = entry.stat(follow_symlinks=False)
            total += known.st_size
            names.update(os.fsencode(entry.name))  # which need not be UTF-8
            names.update(f"\0{known.st_size}\0{mark_of(known)}\0".encode())
    return total, int.from_bytes(names.digest()[:7])


def place(source: Source) -> Place:
    """Where a source stands. Raises BadInput unless it is there; reads nothing of it."""
    held = _holder(source.root)
    if held is not None:
        return held.place(source.name)
    path = _located(source, folder=True)  # masks of a clip may be a folder
    with unreadable_refused(source.name):
        return Place(path, *stamp(path), path)


def check_there(source: Source) -> None:
    """Raise BadInput unless the file, member or row is there and may be read."""
    held = _holder(source.root)
    if held is not None:
        held.place(source.name)
    else:
        _located(source)


# An archive of 20,000 members is looked at once in a while, not for every member: a system call
# each took a tenth of a plan. Whoever reads a member finds out if the archive changed.
_A_MOMENT = 0.5
_lately: dict[str, tuple[float, Archive]] = {}


def _holder(root: str) -> Archive | Rows | None:
    """The archive or parquet file that a root is; None of a folder."""
    if root[-4:].lower() == ".zip":
        now = time.monotonic()
        kept = _lately.get(root)
        if kept is not None and now - kept[0] < _A_MOMENT:
            return kept[1]
        if found := looked_at(root, ".zip"):
            opened = archive(root, found)
            if len(_lately) > 8:  # a run has one or two roots
                _lately.clear()
            _lately[root] = (now, opened)
            return opened
    if found := looked_at(root, ".parquet"):
        return rows(root, found)
    return None


def name_of(source: Source | Inline) -> str:
    """How errors call this source."""
    if isinstance(source, Inline):
        return "inline image"
    if source.root[-8:].lower() == ".parquet":  # a number alone says nothing
        return f"{os.path.basename(source.root)} row {source.name}"
    return source.name


def read(source: Source | Inline) -> bytes:
    """The file's bytes as they are, held by the work that asks for them."""
    if isinstance(source, Inline):
        return source.data
    held = _holder(source.root)
    if held is not None:
        try:
            data = held.read(source.name)
            hold(len(data), source.name)
            return data
        except BadInput:
            _lately.pop(source.root, None)  # whoever tries again finds it as it is then
            raise
    path = _located(source)
    with unreadable_refused(source.name), open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            raise BadInput(
                f"{source.name}: {size} bytes is too large for one picture (at most "
                f"{MOST_BYTES}). Name an image file."
            )
        hold(size, source.name)
        return file.read(size)  # with room for no more: clearing that takes longer than reading


# Bytes of a file that is digested in one piece: else a buffer is made and cleared for each.
_AT_ONCE = 1 << 20


def digest(source: Source | Inline) -> bytes:
    """The first 16 bytes of the SHA-256 of the file: what a picture's source is called in keys.

    SHA-256, because processors compute it: measured at 1.6 times the speed of BLAKE2b, and whole
    files are hashed here. Of a folder, that of its images' digests in the order of their numbers.
    Of a member of a zip archive, that of its name, size and CRC, for which nothing is read. Of a
    DICOM file it names how such files are shown, too.
    """
    if isinstance(source, Inline):
        return digest_of(source.data)
    held = _holder(source.root)
    if held is not None:
        return held.place(source.name).digest or digest_of(held.read(source.name))
    path = _located(source, folder=True)
    with unreadable_refused(source.name):
        if os.path.isdir(path):
            whole = hashlib.sha256(b"folder")
            for image in images_of(Path(path), source.name):
                with open(image, "rb", buffering=0) as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
            return whole.digest()[:16]
        with open(path, "rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size <= _AT_ONCE:
                return digest_of(file.read())
            head = file.read(132)
            file.seek(0)
            return _named(hashlib.file_digest(file, "sha256").digest()[:16], head)


def digest_of(data: bytes) -> bytes:
    """What `digest` says of a file of these bytes."""
    return _named(hashlib.sha256(data).digest()[:16], data[:132])


def _named(content: bytes, head: bytes) -> bytes:
    return shown_as_dicom(content) if looks_like_dicom(head) else content
