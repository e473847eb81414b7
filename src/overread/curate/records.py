"""What a set is made of while it is made: candidates, items, and a record of every decision.

A step writes one file of JSON lines, a `Record` each. What a record holds is named by a digest of
its content, so that a step that changes nothing of an item leaves its name, and a review of it
stays good; one that changes it gives a new name, and `from` says what it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.m3cot.cases import Kind, Step
from overread.case import BadInput, Box, Picture, Source

Verdict: TypeAlias = Literal["kept", "changed", "flagged", "dropped"]
VERDICTS: Final[tuple[Verdict, ...]] = ("kept", "changed", "flagged", "dropped")
PASSED: Final[frozenset[Verdict]] = frozenset({"kept", "changed", "flagged"})
"""The verdicts with which the next step goes on."""
Number: TypeAlias = int | float | str | bool

_OF_A_DIGEST: Final = 8


def digest_of(*parts: object) -> str:
    """A short name for a content: equal contents have equal names, in every process."""
    data = msgspec.json.encode(parts, order="deterministic")
    return blake2b(data, digest_size=_OF_A_DIGEST).hexdigest()


class LabelledBox(msgspec.Struct, frozen=True):
    """Where something is, in pixels of the picture as it lies in its file."""

    label: str
    box: Box


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A picture out of which items may be made, and what is known of it.

    `source` is the digest of the file's bytes (hexadecimal), `collection` the name of the
    `[[sources]]` it was taken from. `facts` are further columns of its row, by name. `patient` is
    empty where nobody is named.
    """

    picture: Picture
    source: str
    collection: str
    licence: str
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
    ("difficulty"); neither is part of what people review, so neither changes the name.
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

    @property
    def id(self) -> str:
        return digest_of("item", msgspec.structs.replace(self, flags=(), facts={}))

    @property
    def wrong(self) -> tuple[str, ...]:
        """The options that are not right."""
        return tuple(text for text in self.options if text not in self.answers)

    def marked(self, *flags: str, **facts: Number) -> Item:
        """The same with flags and facts added."""
        known = dict.fromkeys((*self.flags, *flags))
        return msgspec.structs.replace(self, flags=tuple(known), facts={**self.facts, **facts})


Content: TypeAlias = Candidate | Item


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a step's file: what became of something, by whose decision and why.

    `parents` ("from" in the file) are the ids of what it was made of in the step before; `by` are
    identities of models, `person:NAME` or `rule:NAME`; `reason` is a code
    ("near_duplicate"), and `facts` are the numbers and words the decision stands on.
    """

    id: str
    parents: tuple[str, ...] = msgspec.field(default=(), name="from")
    by: tuple[str, ...] = ()
    verdict: Verdict = "kept"
    reason: str = ""
    facts: dict[str, Number] = {}
    candidate: Candidate | None = None
    item: Item | None = None

    @property
    def content(self) -> Content | None:
        return self.item if self.item is not None else self.candidate

    @property
    def passes(self) -> bool:
        return self.verdict in PASSED


def record(
    content: Content,
    *,
    parents: Iterable[Content | str] | None = None,
    by: Sequence[str] = (),
    verdict: Verdict | None = None,
    reason: str = "",
    facts: Mapping[str, Number] | None = None,
) -> Record:
    """The record of a candidate or an item; without parents it was made of itself.

    Without a verdict it is kept, or changed where its content is no longer that of its parents.
    """
    own = content.id
    made_of = (own,) if parents is None else parents
    came = tuple(one if isinstance(one, str) else one.id for one in made_of)
    said: Verdict = verdict or ("kept" if came in ((own,), ()) else "changed")
    return Record(
        id=own,
        parents=came,
        by=tuple(by),
        verdict=said,
        reason=reason,
        facts=dict(facts or {}),
        candidate=content if isinstance(content, Candidate) else None,
        item=content if isinstance(content, Item) else None,
    )


def items_of(records: Iterable[Record]) -> list[Item]:
    """The items that go on, each once, in the order of the file."""
    found = {one.id: one.item for one in records if one.passes and one.item is not None}
    return list(found.values())


def candidates_of(records: Iterable[Record]) -> list[Candidate]:
    """The candidates that go on, each once, in the order of the file."""
    found = {one.id: one.candidate for one in records if one.passes and one.candidate is not None}
    return list(found.values())


_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode
_DECODE: Final = msgspec.json.Decoder(Record).decode


def lines_of(records: Iterable[Record]) -> bytes:
    """Records as JSON lines: the same records are the same bytes."""
    return b"".join(_ENCODE(one) + b"\n" for one in records)


def records_in(data: bytes, called: str) -> list[Record]:
    """The records of a step's file."""
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(_DECODE(line))
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BadInput(
                f"{called} line {number} is no record: {error}. Run the step again."
            ) from None
    return found
