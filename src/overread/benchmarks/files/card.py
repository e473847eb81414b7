"""`dataset.toml`, the card of a data set: what it is called, and who may see it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, get_args

from overread.case import BadInput, Policy
from overread.files import read_toml

_POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)  # from the loosest to the strictest
_STRICTEST: Final = len(_POLICIES) - 1


class Held(NamedTuple):
    """What is read of a set: files, images or folders, by their names below one folder."""

    top: Path
    names: Iterable[str | Path]


def held_at(root: Path, images: Iterable[str]) -> Held:
    """Images below a root, which may be an archive or a parquet file that holds them."""
    if root.is_dir():
        return Held(root, images)
    # Nothing is held by a root that is gone: a run may outlive its images.
    return Held(root.parent, (root.name,) if os.path.lexists(root) else ())


def policy_of(*held: Held) -> Policy:
    """Who may see what is held: the strictest card of all the folders that it really stands in.

    Links are followed, and both ends of one count. A card covers the folders below it, but no card
    above `top` loosens anything: a folder that none covers is credentialed. One above may make it
    stricter. What is not there counts as the folder that it would stand in.
    """
    cards: dict[str, int | None] = {}
    levels = (
        _level(folder, os.path.realpath(top), cards)
        for top, names in held
        for folder in _folders(str(top.absolute()), names)
    )
    return _POLICIES[max(levels, default=_STRICTEST)]


def _folders(top: str, names: Iterable[str | Path]) -> Iterator[str]:
    """The real folders that these stand in, each once."""
    ways: dict[str, list[str]] = {}
    seen: set[str] = set()
    for name in dict.fromkeys(map(str, names)):
        path = os.path.join(top, name)
        above, file = os.path.split(path)
        try:
            kind = os.lstat(path).st_mode
        except (OSError, ValueError):
            kind = 0
            while not os.path.lexists(above):
                above = os.path.dirname(above)
        if above not in ways:
            ways[above] = list(_way(above, top))
        found = ways[above][:] if file else []
        if stat.S_ISLNK(kind) or stat.S_ISDIR(kind):
            path = os.path.realpath(path)
            found.append(path if os.path.isdir(path) else os.path.dirname(path))
        for folder in found:
            if folder not in seen:
                seen.add(folder)
                yield folder


def _way(folder: str, top: str) -> Iterator[str]:
    """Where a folder really is, and where each link on the way to it from `top` stands."""
    yield os.path.realpath(folder)
    while folder.startswith(top.rstrip(os.sep) + os.sep):
        if os.path.islink(folder):
            yield os.path.realpath(os.path.dirname(folder))
        folder = os.path.dirname(folder)


def _level(folder: str, top: str, cards: dict[str, int | None]) -> int:
    """How strict the cards from here upwards are; the strictest where none covers the folder."""
    inside = folder == top or folder.startswith(top.rstrip(os.sep) + os.sep)
    limit = top if inside else folder
    covered, level = False, 0
    covering = True
    while True:
        if folder not in cards:
            declared = read_card(Path(folder) / "dataset.toml").get("policy")
            cards[folder] = None if declared is None else _POLICIES.index(declared)
        own = cards[folder]
        if own is not None:
            level, covered = max(level, own), covered or covering
        covering = covering and folder != limit
        above = os.path.dirname(folder)
        if above == folder:
            return level if covered else _STRICTEST
        folder = above


def read_card(path: Path) -> dict[str, str]:
    """Name, policy and root as far as they are declared; nothing where there is no card."""
    if not os.path.lexists(path):
        return {}
    card = read_toml(path)
    if card.get("policy", "open") not in _POLICIES:
        known = ", ".join(_POLICIES)
        raise BadInput(f'{path}: policy is "{card["policy"]}"; the policies are {known}.')
    if not isinstance(card.get("name", ""), str) or set(card.get("name", "")) & set("|@\n"):
        raise BadInput(f"{path}: name is a text without | or @.")
    if not isinstance(card.get("root", ""), str) or not card.get("root", "."):
        raise BadInput(f"{path}: root is a text, the folder that the images stand below.")
    return {key: card[key] for key in ("name", "policy", "root") if key in card}


class CuratedCard(NamedTuple):
    """What a card says of how its set was made: the models its items were filtered by, and how
    many of them nobody reviewed.
    """

    filters: tuple[str, ...] = ()
    unreviewed: int = 0


def curated_card(path: Path) -> CuratedCard:
    """The `[curated]` table of the nearest card above a file or folder; nothing where none has."""
    place = path if path.is_dir() else path.parent
    for folder in (place, *place.absolute().parents[:2]):
        card = folder / "dataset.toml"
        if os.path.lexists(card):
            found = read_toml(card).get("curated", {})
            if not isinstance(found, dict):
                raise BadInput(f"{card}: [curated] is a table. Mend it.")
            filters = found.get("filters", [])
            unreviewed = found.get("unreviewed", 0)
            sound = isinstance(filters, list) and all(isinstance(one, str) for one in filters)
            if not sound or not isinstance(unreviewed, int):
                raise BadInput(f"{card}: [curated] has filters, names, and unreviewed, a number.")
            return CuratedCard(tuple(filters), unreviewed)
    return CuratedCard()
