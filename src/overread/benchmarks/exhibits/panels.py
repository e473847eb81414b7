"""Who judged what, and whether they are fit: said below every table of judged numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.cells import NOT_KNOWN
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import LIMITED
from overread.case import Measure
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT

__all__ = [
    "AGREEMENT",
    "KAPPA",
    "LEXICAL",
    "SENSITIVITY",
    "SPECIFICITY",
    "Part",
    "judges_of",
    "notes_on_judges",
    "tried",
]

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
    labels = _labels(index, parts)
    if UNFIT in labels:
        yield (
            f"{UNFIT}: right replies called right (sensitivity) or wrong ones wrong (specificity) "
            f"in less than {100 * LIMIT:.0f} %; the number is no finding."
        )
    if NOT_CHECKED in labels:
        yield f"{LIMITED} {NOT_CHECKED}: not tried, or on too few replies of known truth."


def _fitness(index: Index, judge: str, parts: Iterable[Part]) -> str:
    said = []
    for part in parts:
        sens, spec = (tried(index, name, judge, part) for name in (SENSITIVITY, SPECIFICITY))
        if sens is None and spec is None:
            said.append(f"{part.said} {_UNTRIED}")
        else:
            said.append(f"{part.said} {_percent(sens)} / {_percent(spec)}")
    if all(words.endswith(_UNTRIED) for words in said):
        return _UNTRIED
    return ", ".join(said)


def _percent(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    return f"{100 * record.value:.0f} %"


def _labels(index: Index, parts: Sequence[Part]) -> str:
    """All labels of the by-judge records of these parts."""
    return "; ".join(
        record.label or ""
        for part in parts
        for record in index.all(part.measure, "judge", *part.keys)
    )


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}, their mean"
