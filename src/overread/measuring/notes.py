"""What is said beside a number: facts in its fields, and the words made of them.

A flag is a fact that code may ask for; its words in `FLAGS` are for people. Whatever else is worth
saying is a remark, which nobody but a person reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from overread.case import Measure, Method

NO_PICTURE: Final = "no_picture"
ONE_CLUSTER: Final = "one_cluster"
ALIKE: Final = "alike"
NOTHING: Final = "nothing"
FEW_CLUSTERS: Final = "few"
NOT_ASKED: Final = "not_asked"
NOT_JUDGED: Final = "not_judged"
NOT_INFERIOR: Final = "not_inferior"
INFERIOR: Final = "inferior"
EQUIVALENT: Final = "equivalent"
FLAGS: Final[Mapping[str, str]] = {
    NO_PICTURE: "the model gets no picture",
    ONE_CLUSTER: "one item has no interval",
    ALIKE: "no interval: every resample gives the same",
    NOTHING: "nothing to count",
    FEW_CLUSTERS: "a rough interval: 10 independent units or fewer, or 1 to 4 unlike the others",
    NOT_ASKED: "not asked",
    NOT_JUDGED: "not judged",
    NOT_INFERIOR: "not worse by more than the margin",
    INFERIOR: "worse by more than the margin",
    EQUIVALENT: "no further apart than the margin",
}
"""Flags that all benchmarks share, and what each says to a person; a benchmark may have its own."""


def noted(record: Measure, flag: str, words: str | None = None) -> Measure:
    """The record with a flag, and its words at the end of the note."""
    if flag in record.flags:
        return record
    said = FLAGS[flag] if words is None else words
    return msgspec.structs.replace(
        record, flags=(*record.flags, flag), note=joined(record.note, said)
    )


def remarked(record: Measure, remark: str | None) -> Measure:
    """The record with some more words for a person."""
    return msgspec.structs.replace(record, note=joined(record.note, remark)) if remark else record


def with_method(record: Measure, how: Method) -> Measure:
    """The record that says how its interval was made, as a fact and in words."""
    return msgspec.structs.replace(record, how=how, method=str(how))


def leaving_out(record: Measure, counts: Mapping[str, int]) -> Measure:
    """The record that says how many were left out of n, by why: `left out: 3 unparsed`."""
    some = {why: n for why, n in counts.items() if n}
    if not some:
        return record
    words = "left out: " + ", ".join(f"{n} {why}" for why, n in some.items())
    return remarked(msgspec.structs.replace(record, left_out=some), words)


def counted_as_wrong(record: Measure, counts: Mapping[str, int]) -> Measure:
    """The record that says how many of n count as wrong without an answer, by why."""
    some = {why: n for why, n in counts.items() if n}
    if not some:
        return record
    words = ", ".join(f"{n} {why}" for why, n in some.items()) + " counted as wrong"
    return remarked(msgspec.structs.replace(record, as_wrong=some), words)


def unseen(reader: str, measure: str, by: dict[str, str]) -> Measure:
    """No value: who gets no picture cannot depend on it."""
    return noted(Measure(reader=reader, measure=measure, by=by, n=0), NO_PICTURE)


def joined(*notes: str | None) -> str | None:
    """Notes as one line, or None."""
    return "; ".join(note for note in notes if note) or None
