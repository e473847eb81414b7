"""Is a judge fit? It judges replies whose truth is known before it judges any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.case import Measure
from overread.judging import Role
from overread.judging.question import Compared, Label, Question, Verdict, verdicts_in
from overread.judging.sensitivity import CHANGES, Change, Sensitivity, changed, shift_measure
from overread.stats import Interval, wilson

if TYPE_CHECKING:
    import polars as pl

UNFIT: Final = "judge unfit"
NOT_CHECKED: Final = "judge not checked"
LIMIT: Final = 0.9
"""Sensitivity and specificity below which a judge is unfit."""
ENOUGH: Final = 10
"""Truths on either side without which a judge is not checked."""
_CONTROL: Final = "control:"


class Check(msgspec.Struct, frozen=True):
    """One verdict on a control's reply: what is true, and what the judge said (None: nothing)."""

    judge: str
    role: Role
    question: str
    truth: bool
    said: bool | None
    # Which part of the verdict is meant, where it has several: a score of four.
    part: str = ""


class Fitness(msgspec.Struct, frozen=True, kw_only=True):
    """Sensitivity and specificity of one judge at one question, with Wilson's intervals.

    Sensitivity: of what is right, the share it calls right. Specificity: of what is wrong, the
    share it calls wrong. A verdict that cannot be read is neither, and counts against both;
    `unread` of them there were.
    """

    judge: str
    role: Role
    question: str
    sensitivity: Interval
    specificity: Interval
    unread: int
    part: str = ""

    @property
    def label(self) -> str | None:
        """`judge unfit` below the limit either way; `judge not checked` on too few truths.

        Of fewer than `ENOUGH` on a side, only a share that lies below the limit with its whole
        interval says anything: unfit.
        """
        sides = (self.sensitivity, self.specificity)
        if any(_below(side) for side in sides):
            return UNFIT
        return NOT_CHECKED if any(side.n < ENOUGH for side in sides) else None


def fitness_of(checks: Iterable[Check]) -> list[Fitness]:
    """The fitness of each judge at each question and part of it, in the order they come."""
    tried: dict[tuple[str, Role, str, str], list[Check]] = {}
    for check in checks:
        place = (check.judge, check.role, check.question, check.part)
        tried.setdefault(place, []).append(check)
    return [
        Fitness(
            judge=judge,
            role=role,
            question=question,
            sensitivity=_share([check.said is True for check in own if check.truth]),
            specificity=_share([check.said is False for check in own if not check.truth]),
            unread=sum(check.said is None for check in own),
            part=part,
        )
        for (judge, role, question, part), own in tried.items()
    ]


def fitness_measures(found: Sequence[Fitness]) -> Iterator[Measure]:
    """Sensitivity and specificity of each judge at each question; no reader is measured here."""
    for one in found:
        shares = {"judge_sensitivity": one.sensitivity, "judge_specificity": one.specificity}
        by = {"judge": one.judge, "question": one.question}
        for name, share in shares.items():
            note = f"{one.unread} verdicts could not be read" if one.unread else None
            yield Measure(
                reader="",
                measure=name,
                by=by | ({"component": one.part} if one.part else {}),
                value=share.point,
                n=share.n,
                k=None if share.point is None else round(share.point * share.n),
                low=share.low,
                high=share.high,
                method="wilson",
                label=one.label,
                note=note,
            )


def _below(side: Interval) -> bool:
    # k/n is rounded to the nearest double, and so is the limit: equal ones compare equal.
    told = side.point if side.n >= ENOUGH else side.high
    return told is not None and told < LIMIT


def _share(hits: Sequence[bool]) -> Interval:
    return wilson(sum(hits), len(hits))


def panel_label(
    judges: Sequence[str], questions: Sequence[str], found: Iterable[Fitness]
) -> str | None:
    """The label of a number that these judges gave with these questions; None if all are fit.

    Unfit if any judge is unfit at any of them; not checked if any was not, or on too few.
    """
    known = {(one.judge, one.question): one.label for one in found}
    labels = {
        known.get((judge, question), NOT_CHECKED) for judge in judges for question in questions
    }
    return _worst(labels)


def _worst(labels: Iterable[str | None]) -> str | None:
    given = set(labels)
    return next((label for label in (UNFIT, NOT_CHECKED) if label in given), None)


def fitness_in(
    questions: Sequence[Question], verdicts: pl.DataFrame, cases: Mapping[str, Any]
) -> list[Fitness]:
    """How each judge did on the controls' replies, whose truth is known; variants are apart."""
    return fitness_of(_checks(questions, verdicts, cases))


def _checks(
    questions: Sequence[Question], verdicts: pl.DataFrame, cases: Mapping[str, Any]
) -> Iterator[Check]:
    for one in verdicts_in(questions, verdicts, cases, checks=True):
        if one.variant:
            continue
        control, asked = one.reader.removeprefix(_CONTROL), one.question
        for truth, said, part in asked.deserved(control, cases[one.case], one.payload):
            if truth is not None:
                yield Check(one.judge, asked.role, asked.name, truth, said, part)


def labels_of(
    questions: Sequence[Question], verdicts: pl.DataFrame, found: Iterable[Fitness]
) -> dict[tuple[str, str], str]:
    """By judge and number, what stands beside the numbers it gave: nothing where it is fit.

    The worst of the questions that it was asked and of the parts that the number hangs on.
    """
    known = {(one.judge, one.question, one.part): one.label for one in found}
    labels: dict[tuple[str, str], list[str | None]] = {}
    for judge, name in verdicts.select("judge", "question").unique().iter_rows():
        for question in questions:
            if question.name != name:
                continue
            for number, parts in (question.numbers or {name: ("",)}).items():
                labels.setdefault((judge, number), []).extend(
                    known.get((judge, name, part), NOT_CHECKED) for part in parts
                )
    worst = {place: _worst(given) for place, given in sorted(labels.items())}
    return {place: label for place, label in worst.items() if label is not None}


def worst_label(
    labels: Mapping[tuple[str, str], str | None], judges: Sequence[str], *numbers: str
) -> str | None:
    """What these judges are worth at these numbers: the worst that is said of any."""
    return _worst(labels.get((judge, number)) for judge in judges for number in numbers)


def shift_measures(
    questions: Sequence[Question], verdicts: pl.DataFrame, cases: Mapping[str, Any]
) -> Iterator[Measure]:
    """How often each judge's verdicts on the controls' replies change with what should not matter.

    Verdicts are compared by what two judges are compared by.
    """
    said: dict[tuple[str, str], dict[str, dict[tuple[str, str, str], Verdict]]] = {}
    for one in verdicts_in(questions, verdicts, cases, checks=True):
        own = said.setdefault((one.judge, one.question.name), {}).setdefault(one.variant, {})
        own[one.reader, one.case, one.about] = one
    for judge in sorted({judge for judge, _ in said}):
        for question in questions:
            by_change = said.get((judge, question.name), {})
            for change in CHANGES:
                if change not in by_change:
                    continue
                pairs = [
                    (by_change.get("", {}).get(place), after)
                    for place, after in by_change[change].items()
                ]
                for part, found in _shifts(question, change, pairs, cases):
                    by = {"judge": judge, "question": question.name}
                    yield shift_measure(by | ({"component": part} if part else {}), found)


def _shifts(
    question: Question,
    change: Change,
    pairs: Sequence[tuple[Verdict | None, Verdict]],
    cases: Mapping[str, Any],
) -> Iterator[tuple[str, Sensitivity]]:
    put_back = question.put_back.get(change)
    compared_by = question.compared_after.get(change, question.compared_by)

    def compared(payload: Any) -> Compared:
        return {} if payload is None else compared_by(payload)

    labels = []
    for before, after in pairs:
        case, payload = cases[after.case], after.payload
        if put_back is not None and payload is not None:
            payload = put_back(payload, case)
        first = compared(None if before is None else before.payload)
        labels.append((question.width(case), first, compared(payload)))
    for part in question.parts:
        first_labels = [one for width, first, _ in labels for one in _filled(first, part, width)]
        second_labels = [one for width, _, then in labels for one in _filled(then, part, width)]
        yield part, changed(change, first_labels, second_labels)


def _filled(compared: Compared, part: str, width: int) -> Sequence[Label]:
    """As many labels as there should be; none of what a judge left incomplete."""
    found = compared.get(part, ())
    return found if len(found) == width else [None] * width
