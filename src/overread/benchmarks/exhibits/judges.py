"""Who judged what, whether they are fit, and whether they agree with each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from overread.benchmarks.exhibits.cells import (
    NOT_KNOWN,
    UNTRIED_MARK,
    cell,
    coefficient,
    judge_flags,
)
from overread.benchmarks.exhibits.index import Index
from overread.case import Measure, Table
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT

# Records about all readers together.
SENSITIVITY: Final = "judge_sensitivity"
SPECIFICITY: Final = "judge_specificity"
AGREEMENT: Final = "judge_agreement"
KAPPA: Final = "judge_kappa"

LEXICAL: Final = "lexical-judge"
_UNTRIED: Final = "not tried"
_LEXICAL_NOTE: Final = (
    "control:lexical-judge compares words and knows no medicine: what it judged is not comparable "
    "with published numbers, nor with another judge's."
)


class Part(NamedTuple):
    """One thing that judges say of a reply.

    `said` is its name in a sentence; `measure` and `keys` are its records by judge, the keys those
    beside the judge; `by` finds the records of how fit a judge is at it.
    """

    said: str
    measure: str
    by: Mapping[str, str]
    keys: tuple[str, ...] = ()


def judges_of(index: Index, part: Part) -> tuple[str, ...]:
    """The judges of a part, in the order of the records."""
    records = index.all(part.measure, "judge", *part.keys)
    return tuple(dict.fromkeys(record.by["judge"] for record in records))


def tried(index: Index, measure: str, judge: str, part: Part) -> Measure | None:
    """The sensitivity or specificity of a judge at a part."""
    return index.get("", measure, judge=judge, **part.by)


def notes_on_judges(index: Index, parts: Sequence[Part]) -> Iterator[str]:
    """Who judged, how fit each is, and what the marks mean."""
    by_part = [(part, judges_of(index, part)) for part in parts]
    everyone = dict.fromkeys(judge for _, judges in by_part for judge in judges)
    if not everyone:
        yield "Nobody judged: `overread judge RUN --judge control:lexical-judge`, say."
        return
    if len({judges for _, judges in by_part}) == 1:
        told = f"Judged by {_joined(list(everyone))}."
    else:
        each = (
            f"{part.said} by {_joined(judges) if judges else 'nobody'}" for part, judges in by_part
        )
        told = f"Judged: {'; '.join(each)}."
    fitness = "; ".join(
        f"{judge} {_fitness(index, judge, [part for part, judges in by_part if judge in judges])}"
        for judge in everyone
    )
    yield f"{told} Sensitivity / specificity on replies of known truth: {fitness}."
    if any(LEXICAL in judge for judge in everyone):
        yield _LEXICAL_NOTE
    judged = [one for part in parts for one in index.all(part.measure, "judge", *part.keys)]
    flags = frozenset().union(*map(judge_flags, judged))
    if "unfit" in flags:
        yield (
            f"{UNFIT}: right replies called right (sensitivity) or wrong ones wrong (specificity) "
            f"in less than {100 * LIMIT:.0f} %; the number is no finding."
        )
    if "untried" in flags:
        yield f"{UNTRIED_MARK} {NOT_CHECKED}: not tried, or on too few replies of known truth."


def _fitness(index: Index, judge: str, parts: Iterable[Part]) -> str:
    said = []
    for part in parts:
        found = [tried(index, name, judge, part) for name in (SENSITIVITY, SPECIFICITY)]
        shares = (None if one is None else one.value for one in found)
        each = (NOT_KNOWN if share is None else f"{100 * share:.0f} %" for share in shares)
        said.append(f"{part.said} {' / '.join(each) if any(found) else _UNTRIED}")
    return _UNTRIED if all(words.endswith(_UNTRIED) for words in said) else ", ".join(said)


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}, their mean"


# ---------------------------------------------------------------- tables

_SHIFT: Final = "judge_shift"
# The harmless changes of `judging.sensitivity` and `judging.rubric`, as columns.
_CHANGES: Final = {
    "sections": "changed by the parts' order",
    "steps": "changed by the gold steps' order",
    "length": "changed by length",
}
_FITNESS: Final = (
    "Each judge first judges the controls' replies, whose truth is known. Sensitivity: of what is "
    "right, the share it calls right; specificity: of what is wrong, the share it calls wrong. "
    f"Verdicts that cannot be read count against both. Below {100 * LIMIT:.0f} % either way: "
    f"{UNFIT}."
)


def fitness_table(index: Index, parts: Sequence[Part]) -> Table | None:
    """A row per judge and part, with the harmless changes that were tried."""
    seen = dict.fromkeys(
        (record.by["judge"], number)
        for name in (SENSITIVITY, SPECIFICITY, _SHIFT)
        for record in index.every(name)
        for number, part in enumerate(parts)
        if part.by.items() <= record.by.items()
    )
    tried_on = [
        change
        for change in _CHANGES
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
    shifts = (_CHANGES[change] for change in tried_on)
    headings = ("judge", "judges what", "sensitivity", "specificity", *shifts, "so it is")
    moved = [index.note("moved_judges")] if tried_on else []
    return index.table("judge_fitness", rows, _FITNESS, *moved, columns=headings, first=2)


def _shift(index: Index, judge: str, part: Part, change: str) -> Measure | None:
    return index.get("", _SHIFT, judge=judge, change=change, **part.by)


def agreement_table(index: Index, parts: Sequence[Part], group: str) -> Table | None:
    """A row per pair of judges and part; overall, then in each of the groups under this key."""
    records = [
        (record, part)
        for record in index.every(AGREEMENT)
        for part in parts
        if part.by.items() <= record.by.items()
    ]
    rows = []
    for record, part in sorted(records, key=lambda one: group in one[0].by):
        about = record.by["judges"], part.said, record.by.get(group, "all")
        rows.append((*about, _bare(record), coefficient(index.get("", KAPPA, **record.by))))
    headings = ("judges", "on", group, "agreement %", "kappa")
    return index.table("judge_agreement", rows, columns=headings, first=3)


def _bare(record: Measure | None) -> str:
    """A cell about a judge, which is not itself judged."""
    return cell(None if record is None else msgspec.structs.replace(record, label=None))
