"""Can the judges be trusted: on replies of known truth, and with each other?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import coefficient
from overread.benchmarks.exhibits.panels import (
    AGREEMENT,
    KAPPA,
    SENSITIVITY,
    SPECIFICITY,
    Part,
    tried,
)
from overread.case import Measure, Table
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT

__all__ = ["agreement_table", "fitness_table"]

_SHIFT: Final = "judge_shift"


def fitness_table(
    index: Index, signature: str, parts: Sequence[Part], changes: Mapping[str, str], moved: str
) -> Table | None:
    """A row per judge and part. `changes` name the harmless changes; `moved` explains them."""
    seen = dict.fromkeys(
        (record.by["judge"], number)
        for name in (SENSITIVITY, SPECIFICITY, _SHIFT)
        for record in index.every(name)
        for number, part in enumerate(parts)
        if part.by.items() <= record.by.items()
    )
    tried_on = [
        change
        for change in changes
        if any(_shift(index, judge, parts[at], change) for judge, at in seen)
    ]
    rows = []
    for judge, number in seen:
        part = parts[number]
        found = [tried(index, name, judge, part) for name in (SENSITIVITY, SPECIFICITY)]
        there = [one for one in found if one is not None]
        label = next((one.label for one in there if one.label), "fit" if there else NOT_CHECKED)
        found += [_shift(index, judge, part, change) for change in tried_on]
        rows.append((judge, part.said, *map(_bare, found), label))
    return table(
        "judge_fitness",
        "Are the judges fit?",
        (
            *("judge", "judges what", "sensitivity", "specificity"),
            *(changes[change] for change in tried_on),
            "so it is",
        ),
        rows,
        signature,
        (
            "Each judge first judges the controls' replies, whose truth is known. Sensitivity: of "
            "what is right, the share it calls right; specificity: of what is wrong, the share it "
            f"calls wrong. Verdicts that cannot be read count against both. Below "
            f"{100 * LIMIT:.0f} % either way: {UNFIT}.",
            *([moved] if tried_on else []),
        ),
        facts=2,
    )


def _shift(index: Index, judge: str, part: Part, change: str) -> Measure | None:
    return index.get("", _SHIFT, judge=judge, change=change, **part.by)


def agreement_table(
    index: Index, signature: str, parts: Sequence[Part], group: str, note: str
) -> Table | None:
    """A row per pair of judges and part; overall, then in each of the groups under this key.

    `note` says what agreement and kappa are here.
    """
    records = [
        (record, part)
        for record in index.every(AGREEMENT)
        for part in parts
        if part.by.items() <= record.by.items()
    ]
    rows = [
        (
            record.by["judges"],
            part.said,
            record.by.get(group, "all"),
            _bare(record),
            coefficient(index.get("", KAPPA, **record.by)),
        )
        for record, part in sorted(records, key=lambda one: group in one[0].by)
    ]
    return table(
        "judge_agreement",
        "Do the judges agree?",
        ("judges", "on", group, "agreement %", "kappa"),
        rows,
        signature,
        (f"Over verdicts that both gave. {note}",),
        facts=3,
    )


def _bare(record: Measure | None) -> str:
    """A cell about a judge, which is not itself judged."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = f"{100 * record.value:.1f}"
    if record.low is not None and record.high is not None:
        text += f" [{100 * record.low:.1f}, {100 * record.high:.1f}]"
    return text if record.n is None else f"{text} n={record.n}"
