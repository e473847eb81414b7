"""Is a judge fit? It judges replies whose truth is known before it judges any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from overread.case import Measure
from overread.judging.verdict import Role
from overread.stats import Interval, wilson

__all__ = [
    "ENOUGH",
    "LIMIT",
    "NOT_CHECKED",
    "UNFIT",
    "Check",
    "Fitness",
    "fitness_measures",
    "fitness_of",
    "panel_label",
]

UNFIT: Final = "judge unfit"
NOT_CHECKED: Final = "judge not checked"
LIMIT: Final = 0.9
"""Sensitivity and specificity below which a judge is unfit."""
ENOUGH: Final = 10
"""Truths on either side without which a judge is not checked."""


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
    return next((label for label in (UNFIT, NOT_CHECKED) if label in labels), None)
