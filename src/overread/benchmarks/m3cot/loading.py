"""Cases from whatever lies at a path: the published set, or a csv or JSON lines of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from overread.benchmarks.files.card import Held, held_at, policy_of
from overread.benchmarks.left import Left
from overread.benchmarks.m3cot import official, own_set
from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.m3cot.edition import Options
from overread.case import BadInput, Policy

__all__ = ["load", "policy_at", "root_of"]

_EXPECTED: Final = (
    f"{official.ITEMS} with type.xlsx and images/, or a csv or jsonl with question, answer, image, "
    "task and steps"
)


def root_of(path: str | Path, options: Options) -> Path:
    """The folder that images stand below."""
    if options.root is not None:
        return Path(options.root)
    found = Path(path)
    return found if found.is_dir() else found.parent


def policy_at(path: str | Path, options: Options, images: Iterable[str] = ()) -> Policy:
    """Who may see the set: the strictest card where its items and these images stand.

    That of the folder named by `root=` counts too, whatever stands there.
    """
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    items = (official.find_items(place) or own_set.find_set(place)) if place.is_dir() else place
    root = root_of(path, options)
    return policy_of(
        Held(folder, () if items is None else (items.absolute(),)),
        held_at(root, images if options.root is None else ("", *images)),
    )


def load(
    path: str | Path, options: Options, *, seen: bool = True
) -> tuple[list[M3Case], list[Left]]:
    """The cases at a path, and the items left out, each with its reason.

    Where nobody is to see them (an import), images may be absent.
    """
    cases, left = _load(Path(path), root_of(path, options), seen)
    if not cases:
        first = f"; the first is {left[0].case}: {left[0].reason}" if left else ""
        raise BadInput(f"{path}: no item can be asked about, {len(left)} are left out{first}.")
    return cases, left


def _load(path: Path, root: Path, seen: bool) -> tuple[list[M3Case], list[Left]]:
    if path.is_dir():
        items = official.find_items(path)
        if items is not None:
            return official.load(items, root, seen=seen)
        own = own_set.find_set(path)
        if own is None:
            raise BadInput(f"{path} holds no set of questions. Expected {_EXPECTED}.")
        return own_set.load(own, root, seen=seen)
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder. Expected {_EXPECTED}.")
    if path.suffix.lower() in own_set.SUFFIXES:
        return own_set.load(path, root, seen=seen)
    if path.suffix.lower() == ".xlsx":
        return official.load(path, root, seen=seen)
    raise BadInput(f"{path} is no set of questions. Expected {_EXPECTED}.")
