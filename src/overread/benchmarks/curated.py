"""What curation makes: pictures that items may be made of, and the items themselves.

They stand beside the benchmarks, since each that takes such items says how one becomes a row of
its own (`Benchmark.curated`), and which pictures its own sets offer.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, Self, TypeAlias

import msgspec

from overread.case import Box, Picture, Source

Number: TypeAlias = int | float | str | bool
Kind: TypeAlias = Literal["single", "multiple", "bool", "short"]
KINDS: Final[tuple[Kind, ...]] = ("single", "multiple", "bool", "short")
StepType: TypeAlias = Literal["modality", "feature", "conclusion", "analysis"]
STEP_TYPES: Final[tuple[StepType, ...]] = ("modality", "feature", "conclusion", "analysis")
"""The four-step clinical structure, in its order (M3CoTBench 3.2)."""

_OF_A_DIGEST: Final = 8


def digest_of(*parts: object) -> str:
    """A short name for a content: equal contents have equal names, in every process."""
    data = msgspec.json.encode(parts, order="deterministic")
    return blake2b(data, digest_size=_OF_A_DIGEST).hexdigest()


class Step(msgspec.Struct, frozen=True):
    """One gold step of reasoning."""

    type: StepType
    text: str


class LabelledBox(msgspec.Struct, frozen=True):
    """Where something is, in pixels of the picture as its recipe makes it."""

    label: str
    box: Box


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A picture out of which items may be made, and what is known of it.

    `source` is the digest of the file's bytes (hexadecimal), `collection` the name of the
    `[[sources]]` it was taken from; `collect` fills these in. `facts` are further columns of its
    row, by name. `patient` is empty where nobody is named.
    """

    picture: Picture
    source: str = ""
    collection: str = ""
    licence: str = ""
    caption: str = ""
    labels: tuple[str, ...] = ()
    boxes: tuple[LabelledBox, ...] = ()
    mask: Source | None = None
    patient: str = ""
    modality: str = ""
    examination: str = ""
    system: str = ""
    origin: str = ""
    facts: dict[str, str] = {}

    @property
    def id(self) -> str:
        return digest_of("candidate", self)


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question about one or two pictures, and what is true.

    `kind` is one of M3CoTBench's four. `options` are texts without letters; `answers` are the right
    ones among them: one where `kind` is single, one or more where it is multiple, "true" or "false"
    where it is bool, and the answer itself where it is short. `task` is one of M3CoTBench's 13,
    `dimension`, `subtype` and `ability` are Med-CMR's. Items of one `pair` ask the same of two
    pictures and have different answers. `template` is the id of what the question was made from.

    `flags` are words a later run must know of ("blind_solvable"), `facts` what steps measured
    ("difficulty"), `pool` further wrong options that were proposed; none is part of what people
    review, so none changes the name.
    """

    candidates: tuple[str, ...]
    pictures: tuple[Picture, ...]
    question: str
    kind: Kind
    answers: tuple[str, ...]
    options: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    caption: str = ""
    labels: tuple[str, ...] = ()
    task: str = ""
    dimension: str = ""
    subtype: str = ""
    ability: str = ""
    modality: str = ""
    examination: str = ""
    system: str = ""
    patients: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    pair: str = ""
    template: str = ""
    flags: tuple[str, ...] = ()
    facts: dict[str, Number] = {}
    pool: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return digest_of("item", msgspec.structs.replace(self, flags=(), facts={}, pool=()))

    @property
    def wrong(self) -> tuple[str, ...]:
        """The options that are not right."""
        return tuple(text for text in self.options if text not in self.answers)

    def marked(self, *flags: str, **facts: Number) -> Item:
        """The same with flags and facts added."""
        known = dict.fromkeys((*self.flags, *flags))
        return msgspec.structs.replace(self, flags=tuple(known), facts={**self.facts, **facts})


class Turned(NamedTuple):
    """A choice with its options in another order; `taken` says which of the item's own options a
    reply names, None where it names none.
    """

    order: int
    text: str
    taken: Callable[[str], int | None]


class Put(NamedTuple):
    """An item as a benchmark asks it: the text below its pictures, and whether a reply is right.

    `turned` gives a choice in so many orders, drawn by a seed and a name; None where there is
    nothing to turn.
    """

    text: str
    right: Callable[[str], bool]
    turned: Callable[[int, int, str], tuple[Turned, ...]] | None = None


class Curated(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark has for curation, by where it stands ("module:function").

    `candidates` gives the candidates of an opened benchmark's cases; `row` an item as a row of a
    set of one's own, or in a text why it cannot be one; `pair` the two items of a pair as one row,
    None where they cannot be one. `put` gives an item as it is asked (`Put`), None where it cannot
    be read without judges. `labels` are the names that fields of an item may have, those first by
    which its questions are sorted.
    """

    candidates: str = ""
    row: str = ""
    put: str = ""
    pair: str = ""
    labels: str = ""

    @classmethod
    def of(cls, module: str, *names: str) -> Self:
        """What a module has under these names, each in the field of its name in small letters."""
        return cls(**{name.lower(): f"{module}:{name}" for name in names})
