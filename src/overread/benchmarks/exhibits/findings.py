"""What an exhibit shows, in one line: made of the measures it declares, in one place for all.

`of` in its words names the measures, and what each is called; `within` which of their records it
goes by, and `by` the groups it is about. Differences are counted, words are counted, and of numbers
the lowest and the highest are named. Among groups the pooled numbers decide, where there are any:
raw ones at either end are often there by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.exhibits.cells import cell, interval, printed, told_apart, unit_of
from overread.case import Measure
from overread.measuring.units import FRAMES, SKILL, Unit

if TYPE_CHECKING:
    from overread.benchmarks.exhibits.index import Index, Words

UNITS: Final[Mapping[str, Unit]] = {"skill": SKILL, "frames": FRAMES}
"""Units that a measure's name does not tell, by what words may call them."""
_COMPARED: Final = frozenset({"versus", "comparison"})
_MOST: Final = 2
_MOST_WORDS: Final = 5


def finding_of(index: Index, words: Words) -> str:
    """The line of an exhibit; empty where nothing that it declares was measured."""
    said = [
        line
        for measure, called in words.of.items()
        if (line := _line(called, _records(index, measure, words), words))
    ]
    return "; ".join(said[:_MOST])


def _records(index: Index, measure: str, words: Words) -> list[Measure]:
    """The records of a measure that have these groups, and nothing else to tell them apart."""
    within, by = words.within, set(words.by)
    return [
        record
        for record in index.every(measure)
        if within.items() <= record.by.items() and set(record.by) - _COMPARED - within.keys() == by
    ]


def _line(called: str, records: Iterable[Measure], words: Words) -> str:
    found = list(records)
    labels = Counter(one.label for one in found if one.value is None and one.label)
    if labels:
        kinds = [f"{label} {count}" for label, count in labels.most_common(_MOST_WORDS)]
        return f"{called}: {', '.join(kinds)} of {labels.total()}"
    known = [one for one in found if one.value is not None]
    if not known:
        return ""
    if known[0].measure.startswith("diff_"):
        apart = sum(bool(told_apart(one)) for one in known)
        return f"{called}: {apart} of {len(known)} differences told apart (q < 0.05)"
    low, high = (choose(known, key=_worth) for choose in (min, max))
    unit = UNITS.get(words.unit)
    if len(known) > 1 and _worth(low) == _worth(high):
        return f"{called}: {printed(_worth(low), unit or unit_of(low))} in all {len(known)}"
    if len(known) == 1:
        return f"{called}: {_number(low, unit)}"
    ends = [
        f"{_number(one, unit)} ({_who(one, words)}"
        f"{f' and {alike} more' if (alike := _alike(one, known)) else ''})"
        for one in (low, high)
    ]
    return f"{called}: from {' to '.join(ends)}"


def _alike(one: Measure, among: Iterable[Measure]) -> int:
    """How many others have the same number."""
    return sum(_worth(other) == _worth(one) for other in among) - 1


def _worth(record: Measure) -> float:
    """What a record is ranked by."""
    value = record.value if record.pooled is None else record.pooled.value
    return 0.0 if value is None else value


def _number(record: Measure, unit: Unit | None) -> str:
    if record.pooled is None:
        return cell(record, unit=unit)
    held = record.pooled
    whole = msgspec.structs.replace(record, value=held.value, low=held.low, high=held.high)
    return f"pooled {printed(held.value, unit or unit_of(record))} {interval(whole, unit)}"


def _who(record: Measure, words: Words) -> str:
    groups = (record.by[key].replace("_", " ") for key in words.by)
    return ", ".join(filter(None, (record.reader, record.by.get("versus"), *groups)))
