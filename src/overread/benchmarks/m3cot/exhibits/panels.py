"""Who judged what, and whether they are fit: said below every table of judged numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.m3cot.exhibits.numbers import LIMITED
from overread.case import Measure
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT

__all__ = [
    "AGREEMENT",
    "KAPPA",
    "LEXICAL",
    "QUESTION_NAMES",
    "SENSITIVITY",
    "SPECIFICITY",
    "judges_of",
    "notes_on_judges",
    "tried",
]

# The records of `judge_measures`, about all readers together.
SENSITIVITY: Final = "judge_sensitivity"
SPECIFICITY: Final = "judge_specificity"
AGREEMENT: Final = "judge_agreement"
KAPPA: Final = "judge_kappa"

QUESTION_NAMES: Final = {
    "answer": "answers",
    "precision": "the reply's steps",
    "recall": "the gold steps",
    "order": "the order",
}
# By-judge records of a question: the measure, and the keys beside the judge.
_BY_JUDGE: Final = {
    "answer": ("accuracy", ("mode",)),
    "precision": ("precision", ()),
    "recall": ("recall", ()),
    "order": ("consistency", ()),
}
LEXICAL: Final = "lexical-judge"
_UNTRIED: Final = "not tried"
_LEXICAL_NOTE: Final = (
    "control:lexical-judge compares words and knows no medicine: what it judged is not comparable "
    "with published numbers, nor with another judge's."
)


def judges_of(index: Index, question: str) -> tuple[str, ...]:
    """The judges of a question, in the order of the records."""
    measure, keys = _BY_JUDGE[question]
    records = index.all(measure, "judge", *keys)
    return tuple(dict.fromkeys(record.by["judge"] for record in records))


def tried(index: Index, measure: str, judge: str, question: str) -> Measure | None:
    """The sensitivity or specificity of a judge at a question."""
    for record in index.together(measure, "judge", "question"):
        if (record.by["judge"], record.by["question"]) == (judge, question):
            return record
    return None


def notes_on_judges(index: Index, questions: Sequence[str]) -> Iterator[str]:
    """Who judged, how fit each is, and what the marks mean."""
    by_question = {question: judges_of(index, question) for question in questions}
    if not any(by_question.values()):
        yield "Nobody judged: give --judge, such as control:lexical-judge."
        return
    everyone = dict.fromkeys(judge for judges in by_question.values() for judge in judges)
    same = set(by_question.values())
    if len(same) == 1:
        told = f"Judged by {_joined(list(everyone))}."
    else:
        parts = (
            f"{QUESTION_NAMES[question]} by {_joined(judges) if judges else 'nobody'}"
            for question, judges in by_question.items()
        )
        told = f"Judged: {'; '.join(parts)}."
    fitness = "; ".join(
        f"{judge} {_fitness(index, judge, [q for q in questions if judge in by_question[q]])}"
        for judge in everyone
    )
    yield f"{told} Sensitivity / specificity on replies of known truth: {fitness}."
    if any(judge.endswith(LEXICAL) for judge in everyone):
        yield _LEXICAL_NOTE
    labels = _labels(index, questions)
    if UNFIT in labels:
        yield (
            f"{UNFIT}: right replies called right (sensitivity) or wrong ones wrong (specificity) "
            f"in less than {100 * LIMIT:.0f} %; the number is no finding."
        )
    if NOT_CHECKED in labels:
        yield f"{LIMITED} {NOT_CHECKED}: not tried, or on too few replies of known truth."


def _fitness(index: Index, judge: str, questions: Iterable[str]) -> str:
    said = []
    for question in questions:
        sens, spec = (tried(index, name, judge, question) for name in (SENSITIVITY, SPECIFICITY))
        if sens is None and spec is None:
            said.append(f"{QUESTION_NAMES[question]} {_UNTRIED}")
        else:
            said.append(f"{QUESTION_NAMES[question]} {_percent(sens)} / {_percent(spec)}")
    if all(words.endswith(_UNTRIED) for words in said):
        return _UNTRIED
    return ", ".join(said)


def _percent(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    return f"{100 * record.value:.0f} %"


def _labels(index: Index, questions: Sequence[str]) -> str:
    """All labels of the by-judge records of these questions."""
    return "; ".join(
        record.label or ""
        for question in questions
        for record in index.all(_BY_JUDGE[question][0], "judge", *_BY_JUDGE[question][1])
    )


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}, their mean"
