"""`curate.toml`: what set is wanted, out of what, and which models help to make it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from overread.benchmarks.curated import digest_of
from overread.benchmarks.registry import benchmarks_for_items
from overread.case import BadInput
from overread.files import read_bytes, read_toml

T = TypeVar("T")

FILE: Final = "curate.toml"
Spec: TypeAlias = str | dict[str, Any]
_LARGEST_SEED: Final = 2**32 - 1


class Models(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is asked for what: specs of readers, or their tables.

    `steps` write gold reasoning and `merge` puts theirs together, `checker` looks it over,
    `filters` answer the items, `blind` are asked without pictures, and of `leakage` it is asked
    whether they have met the items before.
    """

    writer: Spec | None = None
    distractors: tuple[Spec, ...] = ()
    steps: tuple[Spec, ...] = ()
    merge: Spec | None = None
    checker: Spec | None = None
    filters: tuple[Spec, ...] = ()
    blind: tuple[Spec, ...] = ()
    leakage: tuple[Spec, ...] = ()


class Pictures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of `[[sources]]`: where pictures are, and what holds for all of them.

    `path` is a table (csv, jsonl, json, parquet), a folder with one or of pictures, or, with a
    `benchmark`, whatever `overread run` takes as `--cases`. `columns` says OURS = "THEIRS", `where`
    keeps rows of these values, `boxes` names a table of boxes. Fields that rows do not have may be
    declared for all. `licence` is an SPDX or Creative Commons name; `permitted` says that somebody
    looked at a licence that has none, and where its terms stand. `take` is how many are selected.
    """

    path: str
    name: str = ""
    benchmark: str = ""
    root: str = ""
    columns: dict[str, str] = {}
    where: dict[str, str] = {}
    boxes: str = ""
    licence: str = ""
    permitted: str = ""
    modality: str = ""
    examination: str = ""
    system: str = ""
    caption: str = ""
    origin: str = ""
    take: int | None = None


class People(msgspec.Struct, frozen=True):
    """What people said of one candidate or item: answers by question, and who (`person:NAME`)."""

    values: dict[str, str]
    by: tuple[str, ...] = ()


class Wanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set that is to be made; tables named as steps hold what these steps alone read.

    `targets` are the benchmarks it is made for, all that take items where none is named.
    """

    name: str
    sources: tuple[Pictures, ...] = ()
    seed: int = 0
    edition: Literal["corrected", "authors"] = "corrected"
    targets: tuple[str, ...] = ()
    templates: str = ""
    models: Models = Models()
    collect: dict[str, Any] = {}
    ask: dict[str, Any] = {}
    distract: dict[str, Any] = {}
    steps: dict[str, Any] = {}
    filter: dict[str, Any] = {}
    review: dict[str, Any] = {}
    leakage: dict[str, Any] = {}
    publish: dict[str, Any] = {}
    # The folder it stands in, which relative paths start from; and what people said of what the
    # step before made, by its id. Neither stands in the file.
    home: Path = Path()
    people: dict[str, People] = {}

    @property
    def file(self) -> Path:
        return self.home / FILE

    @property
    def robust(self) -> bool:
        return self.edition == "corrected"

    def options(self, step: str, kind: type[T]) -> T:
        """The table of a step as a struct that knows its fields and their defaults."""
        try:
            return msgspec.convert(getattr(self, step), kind)
        except msgspec.ValidationError as error:
            raise BadInput(f"{self.file} [{step}]: {error}. Mend it.") from None

    def specs(self, role: str) -> dict[str, Spec]:
        """The models of a role by seat: "writer", or "filters.1", "filters.2" where several may be.

        None where the file names none.
        """
        found = getattr(self.models, role)
        if found is None:
            return {}
        if isinstance(found, str | Mapping):
            return {role: dict(found) if isinstance(found, Mapping) else found}
        return {f"{role}.{number}": spec for number, spec in enumerate(found, 1)}

    def seats(self, role: str, least: int = 1) -> tuple[str, ...]:
        """The seats of a role, or a line on what is missing."""
        found = tuple(self.specs(role))
        if len(found) < least:
            form = '"openai:MODEL@URL"'
            if isinstance(getattr(Models(), role), tuple):
                form = f"[{form}, …]"
            raise BadInput(
                f"{self.file}: [models] names {len(found)} under {role}, and this step "
                f"needs {least}. Write {role} = {form}."
            )
        return found

    def draw(self, *about: str) -> Random:
        """Chance that is the same whenever the same is drawn for the same thing."""
        return Random(int(digest_of(self.seed, *about), 16))

    def place(self, path: str) -> Path:
        """A path as the file means it: from its own folder on."""
        return self.home / Path(path).expanduser()


def read_wanted(folder: Path) -> Wanted:
    """What a folder's `curate.toml` asks for."""
    path = folder / FILE
    if not path.is_file():
        raise BadInput(
            f"{folder}: there is no {FILE}. Write one; docs/curation.md has one to begin with."
        )
    given = read_toml(path)
    for name in {"home", "people"} & set(given):
        raise BadInput(f"{path}: {name} is no setting. Leave it out.")
    try:
        wanted = msgspec.convert({**given, "home": folder.absolute()}, Wanted)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {error}. Mend it.") from None
    if not wanted.name.strip() or set(wanted.name) & set("|@/\\") or not wanted.name.isprintable():
        raise BadInput(f'{path}: name is "{wanted.name[:60]}"; it is a text without | @ / or \\.')
    few = [one for one in wanted.sources if one.take is not None and one.take < 1]
    if few:
        raise BadInput(f"{path}: take of {few[0].path} is {few[0].take}; it is 1 or more.")
    if not 0 <= wanted.seed <= _LARGEST_SEED:
        raise BadInput(f"{path}: seed is {wanted.seed}; it is from 0 to {_LARGEST_SEED}.")
    known = benchmarks_for_items()
    strange = [target for target in wanted.targets if target not in known]
    if strange:
        raise BadInput(f'{path}: targets has "{strange[0][:60]}"; known are {", ".join(known)}.')
    return msgspec.structs.replace(wanted, targets=wanted.targets or known)


def people_file(folder: Path, step: str) -> Path:
    """Where it is kept what people said of what a step made."""
    return folder / f"{step}.people.json"


def with_people(wanted: Wanted, folder: Path, step: str) -> Wanted:
    """The same with what people said of what this step made, where they were asked."""
    path = people_file(folder, step)
    if not path.is_file():
        return wanted
    try:
        people = msgspec.json.decode(read_bytes(path), type=dict[str, People])
    except msgspec.MsgspecError as error:
        raise BadInput(
            f"{path}: {error}. Remove it and read the review again (curate review)."
        ) from None
    return msgspec.structs.replace(wanted, people=people)
