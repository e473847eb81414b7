"""The questions put to judges about one answer, and what their replies are worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.m3cot.cases import Kind, M3Case
from overread.benchmarks.m3cot.check_truth import check_pairs
from overread.benchmarks.m3cot.rubrics import DECODING, QUESTIONS_OF, sections
from overread.case import Request, Trial
from overread.judging import asking
from overread.judging.asking import variant_of
from overread.judging.fitness import Check, Fitness, fitness_of
from overread.judging.rubric import Rubric, frame
from overread.judging.sensitivity import variants
from overread.judging.verdict import Role

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "REMINDER",
    "REMINDER_YES_NO",
    "about_of",
    "fitness_in",
    "judge_trials",
    "reminded",
    "variant_of",
]

_CONTROL = "control:"


def about_of(row: Mapping[str, Any], variant: str = "") -> str:
    """Which reply of a reader: its condition, as the verdicts name it; and what was changed."""
    keys = ("follow", "image", "mode", "timed")
    told = {key: row[key] for key in keys} | ({"variant": variant} if variant else {})
    return msgspec.json.encode(told).decode()


def judge_trials(
    row: Mapping[str, Any],
    role: Role,
    case: M3Case,
    rubrics: Mapping[str, Mapping[Kind, Rubric]],
    *,
    other: str = "",
    varied: bool = False,
) -> Iterator[Trial]:
    """What a judge of this role is asked about one row of answers.

    An empty reply, a refusal and no reply at all are sent to nobody: they are wrong by themselves.
    Steps and order are judged of reasoning only: CoT, and not cut short or turned round. Of timed
    replies only what efficiency needs, the gold steps found. `varied`: each question once more
    for every harmless change of its material. `other` is the rubric it is asked with in place of
    the usual one.
    """
    text = row["text"]
    if row["outcome"] != "answered" or text is None or not text.strip():
        return
    reasoned = row["mode"] == "cot" and not row["follow"]
    if row["check"] and not (reasoned and row["image"] == "original" and not row["timed"]):
        return  # what is true of a control's reply is known of its reasoning
    for question in QUESTIONS_OF[role]:
        wanted = question == "recall" and reasoned if row["timed"] else role == "answer" or reasoned
        if not wanted:
            continue
        rubric = rubrics[other or question][case.kind]
        condition: dict[str, str | int] = {
            "role": role,
            "question": question,
            "reader": row["reader"],
            "about": about_of(row),
            "check": row["check"],
            "prompt": rubric.digest,
            "rubric": other,
        }
        shown = sections(question, case, text)
        yield Trial(case.case_id, condition, Request(frame(rubric, shown), DECODING))
        for variant in variants(rubric, shown) if varied else ():
            told = condition | {"about": about_of(row, variant.change)}
            messages = frame(rubric, variant.sections)
            yield Trial(case.case_id, told, Request(messages, DECODING))


REMINDER: Final = (
    "An earlier reply to this was not the JSON that is asked for. Reply with that JSON alone."
)


REMINDER_YES_NO: Final = (
    "An earlier reply to this was neither Yes nor No. Reply with one of these words alone."
)


def reminded(trial: Trial, attempt: int) -> Trial:
    """The question once more, with the reminder."""
    yes_no = trial.condition.get("rubric") == "yesno"
    return asking.reminded(trial, attempt, REMINDER_YES_NO if yes_no else REMINDER)


def fitness_in(verdicts: pl.DataFrame, cases: Mapping[str, M3Case]) -> list[Fitness]:
    """How each judge did on the controls' replies, whose truth is known; variants are apart."""
    return fitness_of(_checks(verdicts, cases))


def _checks(verdicts: pl.DataFrame, cases: Mapping[str, M3Case]) -> Iterable[Check]:
    columns = ("judge", "role", "question", "reader", "case", "about", "payload")
    checked = verdicts.filter(verdicts["check"]).select(columns)
    for judge, role, question, reader, name, about, payload in checked.iter_rows():
        if name not in cases or variant_of(about):
            continue
        value = None if payload is None else msgspec.json.decode(payload)
        control = reader.removeprefix(_CONTROL)
        for truth, said in check_pairs(control, cases[name], question, value):
            yield Check(judge, role, question, truth, said)
