"""What a set is made of while it is made: candidates, items, and a record of every decision.

A step writes one file of JSON lines, a `Record` each. What a record holds is named by a digest of
its content, so that a step that changes nothing of an item leaves its name, and a review of it
stays good; one that changes it gives a new name, and `from` says what it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.curated import Candidate, Item, Number
from overread.case import BadInput

Verdict: TypeAlias = Literal["kept", "changed", "flagged", "dropped"]
VERDICTS: Final[tuple[Verdict, ...]] = ("kept", "changed", "flagged", "dropped")
PASSED: Final[frozenset[Verdict]] = frozenset({"kept", "changed", "flagged"})
"""The verdicts with which the next step goes on."""

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
