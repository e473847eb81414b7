"""A set's folder: written beside its place, and moved there once it is whole."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from overread.case import BadInput
from overread.files import read_toml
from overread.scratch import scratch_folder

__all__ = ["Card", "write_csv", "write_once"]


class Card(msgspec.Struct, frozen=True):
    """Which set a folder holds, as its dataset.toml says; `index` is the file that lists cases."""

    kind: str
    index: str
    n: int
    seed: int
    revision: int

    @property
    def name(self) -> str:
        return f"phantom-{self.kind}"

    @property
    def facts(self) -> dict[str, int]:
        return {"seed": self.seed, "n": self.n, "generator": self.revision}


def write_once(folder: Path, card: Card, fill: Callable[[Path], None]) -> Path:
    """The path of the set's index below `folder`; where the set is missing, `fill` writes it.

    The folder appears whole or not at all. A folder that already holds this very set is left as it
    is; one that holds anything else is refused.
    """
    folder = Path(folder)
    if _holds(folder, card):
        return folder / card.index
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            f"{folder} holds something other than the {card.kind} set n={card.n}, "
            f"seed={card.seed}; name a new folder or remove this one."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent) as scratch:
        staging = scratch / "set"
        staging.mkdir()
        fill(staging)
        (staging / "dataset.toml").write_text(_dataset(card), encoding="utf-8", newline="\n")
        try:
            staging.rename(folder)
        except OSError:
            # Someone else finished the same set meanwhile: theirs is as good.
            if not _holds(folder, card):
                raise
    return folder / card.index


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> None:
    """A table of a set; what a row does not have is left empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _dataset(card: Card) -> str:
    lines = [f'name = "{card.name}"', 'policy = "open"', 'licence = "Apache-2.0"']
    return "\n".join(lines + [f"{key} = {value}" for key, value in card.facts.items()]) + "\n"


def _holds(folder: Path, card: Card) -> bool:
    try:
        found = read_toml(folder / "dataset.toml")
    except BadInput:
        return False
    same = all(found.get(key) == value for key, value in card.facts.items())
    return same and found.get("name") == card.name and (folder / card.index).is_file()
