"""Cases from whatever lies at a path: the release, a set of another layout, or one's own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from overread.benchmarks.files.card import Held, held_at, policy_of
from overread.benchmarks.medcmr import own_set, release
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded
from overread.benchmarks.medcmr.layouts import choice_sets, open_sets
from overread.benchmarks.medcmr.layouts.set_files import Layout, Set
from overread.case import BadInput, Policy

__all__ = ["LAYOUTS", "Loaded", "load", "policy_at", "root_of"]

LAYOUTS: Final[tuple[Layout, ...]] = (
    open_sets.SLAKE,
    choice_sets.PMC_VQA,
    choice_sets.OMNIMED,
    choice_sets.MEDXPERT,
    choice_sets.MEDFRAME,
    open_sets.PATH_VQA,
    # Last: its parquet form has columns that many sets have.
    open_sets.VQA_RAD,
)
_EXPECTED: Final = (
    f"{release.ARCHIVE} of Med-CMR or its folder; {', '.join(sorted(a.name for a in LAYOUTS))} as "
    "published; or a csv, jsonl or json with question, image and answer"
)


class _Found(NamedTuple):
    """What lies at a path, and below what its images stand."""

    root: Path
    # The files that hold its items, and the folder whose card covers them.
    read: tuple[Path, ...]
    top: Path
    place: release.Place | None = None
    layout: Layout | None = None
    files: Set | None = None
    own: Path | None = None


def root_of(path: str | Path, options: Options) -> Path:
    """What images stand below: a folder, an archive, or a parquet file."""
    return Path(options.root) if options.root is not None else _find(Path(path)).root


def policy_at(path: str | Path, options: Options, images: Iterable[str] = ()) -> Policy:
    """Who may see the set: the strictest card where its files and these images stand.

    That of the folder named by `root=` counts too, whatever stands there.
    """
    found = _find(Path(path))
    held = [Held(found.top, found.read)]
    if options.root is not None:
        held.append(held_at(Path(options.root), ("", *images)))
    elif found.root.is_dir():  # an archive or a parquet file is among the files
        root = found.root.absolute()
        held.append(Held(found.top, (os.path.join(root, image) for image in images)))
    return policy_of(*held)


def load(path: str | Path, options: Options, *, seen: bool = True) -> Loaded:
    """The cases at a path, the items left out, each with its reason, and what should be told.

    Where nobody is to see them (an import), images may be absent.
    """
    found = _find(Path(path))
    root = Path(options.root) if options.root is not None else found.root
    loaded = _load(found, root, options, seen)
    if not loaded.cases:
        left = loaded.left
        first = f"; the first is {left[0].case}: {left[0].reason}" if left else ""
        raise BadInput(f"{path}: no item can be asked about, {len(left)} are left out{first}.")
    return loaded


def _load(found: _Found, root: Path, options: Options, seen: bool) -> Loaded:
    if found.place is not None:
        return release.load(found.place, root, seen=seen)
    if found.layout is not None and found.files is not None:
        return found.layout.load(found.files, root, options, seen)
    assert found.own is not None
    return own_set.load(found.own, root, language=options.language, seen=seen)


def _find(path: Path) -> _Found:
    try:
        if path.exists():
            return _look(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}. Mend its rights.") from None
    raise BadInput(f"{path}: there is no such file or folder. Expected {_EXPECTED}.")


def _look(path: Path) -> _Found:
    folder = path if path.is_dir() else path.parent
    place = release.find(path)
    if place is not None:
        read = (
            [place.root] if place.zipped else [place.root / name for name in place.files.values()]
        )
        return _Found(place.root, *_covered(folder, place.root, read), place)
    for layout in LAYOUTS:
        files = layout.find(path)
        if files is not None:
            read = list(files.files)
            return _Found(files.root, *_covered(folder, files.root, read), None, layout, files)
    own = own_set.find(path)
    if own is None:
        raise BadInput(f"{path} is no set of questions. Expected {_EXPECTED}.")
    return _Found(folder, *_covered(folder, folder, [own]), own=own)


def _covered(folder: Path, root: Path, read: Iterable[Path]) -> tuple[tuple[Path, ...], Path]:
    """The files, and the folder given; the one above it where a layout has its images there."""
    given, above = folder.absolute(), root.absolute()
    return tuple(file.absolute() for file in read), above if above in given.parents else given
