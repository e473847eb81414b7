"""The questions put to judges about one open answer, and what their replies are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.rubrics import DECODING, QUESTIONS_OF, question_of, sections
from overread.case import Request, Trial
from overread.judging import asking
from overread.judging.rubric import Rubric, frame
from overread.judging.verdict import Role

__all__ = ["FORMS", "REMINDER", "about_of", "judge_trials", "reminded", "said_in"]

FORMS: Final = ("open", "reformulated")
"""The forms whose replies are judged; a letter needs no judge."""
REMINDER: Final = (
    "An earlier reply to this could not be read. Reply with the lines asked for alone, each with "
    "its name, a colon and one of its numbers."
)


def about_of(row: Mapping[str, Any], variant: str = "") -> str:
    """Which reply of a reader: its condition, as the verdicts name it; and what was changed."""
    told = {key: row[key] for key in ("form", "image", "order")}
    return msgspec.json.encode(told | ({"variant": variant} if variant else {})).decode()


def said_in(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """The reasoning and the answer of an open reply; None where there is nothing to judge.

    A reply without an answer section, or with nothing in either, is all reasoning. A refusal, an
    empty reply and no reply are sent to nobody: they score 0 by themselves.
    """
    text = row["text"]
    if row["form"] not in FORMS or row["outcome"] not in ("answered", "unparsed"):
        return None
    if text is None or not text.strip():
        return None
    reasoning, answer = row["reasoning"] or "", row["answer"] or ""
    if row["outcome"] == "unparsed" or not (reasoning.strip() or answer.strip()):
        return text, ""
    return reasoning, answer


def judge_trials(
    row: Mapping[str, Any],
    role: Role,
    case: MedCase,
    rubrics: Mapping[str, Rubric],
    *,
    varied: bool = False,
) -> Iterator[Trial]:
    """What a judge of this role is asked about one row of answers.

    With the caption where the case has one; else vision is not asked for. `varied`: once more for
    every harmless change of the material.
    """
    said, question = said_in(row), question_of(case)
    if said is None or question not in QUESTIONS_OF.get(role, ()):
        return
    if row["check"] and not (row["image"] == "original" and row["order"] == 0):
        return  # a control says the same whatever it is shown
    rubric = rubrics[question]
    condition: dict[str, str | int] = {
        "role": role,
        "question": question,
        "reader": row["reader"],
        "about": about_of(row),
        "check": row["check"],
        "prompt": rubric.digest,
    }
    shown = sections(question, case, *said)
    yield Trial(case.case_id, condition, Request(frame(rubric, shown), DECODING))
    if not varied:
        return
    from overread.judging.sensitivity import variants

    for variant in variants(rubric, shown, "reasoning"):
        told = condition | {"about": about_of(row, variant.change)}
        yield Trial(case.case_id, told, Request(frame(rubric, variant.sections), DECODING))


def reminded(trial: Trial, attempt: int) -> Trial:
    """The question once more, with the reminder."""
    return asking.reminded(trial, attempt, REMINDER)
