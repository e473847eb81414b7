"""What judges judged, cut into single things that a person can judge too.

answer     the reply: right or wrong
precision  each step that a judge found in the reply: Match, Wrong or N/A
recall     each gold step: Matched or Unmatched

Order is left out: a path is one of 65, and nothing a person would write into a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.m3cot.cases import STEPS, M3Case
from overread.benchmarks.m3cot.judged import about_of
from overread.benchmarks.m3cot.schemas import cases_in
from overread.judging.sheet import Unit

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["CHOICES", "units_of"]

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "answer": ("right", "wrong"),
    "precision": ("Match", "Wrong", "N/A"),
    "recall": ("Matched", "Unmatched"),
}


def units_of(tables: Tables) -> list[Unit]:
    """Everything judged in a run, with what each judge said of it; judges' checks are left out.

    Judges cut a reply each in its own way: a step in the words of one is a unit that only those who
    have it in the same words said something of.
    """
    if tables.verdicts is None:
        return []
    cases = {case.case_id: case for case in cases_in(tables.cases)}
    gold = {name: _gold(case) for name, case in cases.items()}
    replies = {
        (row["reader"], row["case"], about_of(row)): row["text"] or ""
        for row in tables.answers.iter_rows(named=True)
    }
    said: dict[tuple[str, str, str, str, str], dict[str, str]] = {}
    for row in tables.verdicts.filter(~tables.verdicts["check"]).iter_rows(named=True):
        told = {"follow": "", "image": "original", "timed": False}
        about = about_of(told | msgspec.json.decode(row["about"]))
        place = (row["reader"], row["case"], about)
        if row["payload"] is None or row["case"] not in cases or place not in replies:
            continue
        value = msgspec.json.decode(row["payload"])
        for part, verdict in _parts(row["question"], value, cases[row["case"]]):
            # Of the same words twice in one reply, the first.
            said.setdefault((*place, row["question"], part), {}).setdefault(row["judge"], verdict)
    return [
        Unit(
            item=name,
            question=question,
            reader=reader,
            asked=cases[name].question,
            gold=cases[name].answer if question == "answer" else gold[name],
            reply=replies[reader, name, about],
            part=part,
            choices=CHOICES[question],
            verdicts=verdicts,
        )
        for (reader, name, about, question, part), verdicts in said.items()
    ]


def _gold(case: M3Case) -> str:
    """The right answer and the gold steps, counted from 1."""
    steps = (f"{number}. {step.text}" for number, step in enumerate(case.steps, 1))
    return "\n".join((f"Answer: {case.answer}", *steps))


def _parts(question: str, value: Any, case: M3Case) -> Iterator[tuple[str, str]]:
    """The parts of one verdict, each with the word for it; restatements are no steps."""
    if question == "answer":
        yield "", "right" if value["match"] else "wrong"
    elif question == "precision":
        for step in value:
            if step["type"] in STEPS and step["judgment"] in CHOICES[question]:
                yield step["text"], step["judgment"]
    elif question == "recall":
        # As many as there are of both: what others' files leave out was not judged.
        for number, (step, hit) in enumerate(zip(case.steps, value, strict=False), 1):
            yield f"{number}. {step.text}", "Matched" if hit else "Unmatched"
