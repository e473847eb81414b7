"""Numbers and lists in running text, as headlines, methods and limitations have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.rules import label_words
from overread.case import Measure

if TYPE_CHECKING:
    from overread.benchmarks.base import ReaderRecord

__all__ = [
    "LEXICAL",
    "MADE_UP",
    "PHANTOM",
    "UNSEEN",
    "departures",
    "is_lexical",
    "label_words",
    "listed",
    "rate",
    "readers_listed",
    "says_unseen",
    "stands",
    "unseeing_noted",
]

UNSEEN: Final = "the reader gets no picture"
"""The note of what cannot be measured of a text-only reader."""
LEXICAL: Final = "lexical-judge"
"""The judge that compares words and knows no medicine: fit for made-up cases alone."""
PHANTOM: Final = "phantom-"
"""What the names of sets of made-up cases begin with."""
MADE_UP: Final = (
    "The cases are made up: they test instruments, and no number here says anything of clinical "
    "use."
)

_NAMED = 4  # named one by one; of more their number is said


def rate(record: Measure, name: str = "", *, signed: bool = False, by: str = "") -> str:
    """A share in words: `61.2 % (CGR, 95 % interval 55.0 to 67.0, n = 370)`.

    A signed one is a difference, in percentage points. `by` says whose interval it is.
    """
    unit = " points" if signed else " %"
    low, high = percent(record.low, signed=signed), percent(record.high, signed=signed)
    known = record.low is not None and record.high is not None
    value = percent(record.value, signed=signed)
    return f"{value}{unit} ({stands(record, name, f'{low} to {high}' if known else '', by)})"


def stands(record: Measure, name: str, interval: str, by: str = "") -> str:
    """What stands in brackets behind a number: its name, its interval and its n."""
    spread = f"95 % interval {interval}" if interval else "no interval"
    spread = f"{spread} {by}" if by else spread
    n = "" if record.n is None else f"n = {record.n}"
    return ", ".join(part for part in (name, spread, n) if part)


def listed(words: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end


def readers_listed(readers: Sequence[str]) -> str:
    """Up to four readers by name, otherwise how many."""
    names = list(dict.fromkeys(readers))
    return listed(names) if len(names) <= _NAMED else f"{len(names)} readers"


def departures(rules: Any, published: Any, names: Iterable[str]) -> str:
    """Which of these rules are not the published ones, for the end of a sentence."""
    other = [name for name in names if getattr(rules, name) != getattr(published, name)]
    if not other:
        return ", which are those of the published code"
    return f", which differ from those of the published code in {listed(other)}"


def is_lexical(judge: str) -> bool:
    """By its name, which a label of a control begins with."""
    return judge.removeprefix("control:").startswith(LEXICAL)


def says_unseen(record: Measure | None) -> bool:
    """Whether a record's note says that the reader gets no picture."""
    return record is not None and UNSEEN in (record.note or "").split("; ")


def unseeing_noted(
    records: Iterable[Measure], readers: Iterable[ReaderRecord], measure: str
) -> list[Measure]:
    """The records, with `UNSEEN` in the notes of this measure of every text-only reader.

    Measures hold no modality, and headlines are made of them alone.
    """
    blind = {reader.name for reader in readers if reader.traits.modality == "text"}
    return [
        msgspec.structs.replace(one, note=f"{one.note}; {UNSEEN}" if one.note else UNSEEN)
        if one.measure == measure and one.reader in blind
        else one
        for one in records
    ]
