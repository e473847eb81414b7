"""A small m3cot run in which everything was asked and judged, and all that is measured of it."""

from __future__ import annotations

from functools import cache

import msgspec

from overread.benchmarks.m3cot.cases import KINDS, STEPS, cases_in
from overread.benchmarks.m3cot.edition import CORRECTED, FOLLOWS, IMAGES
from overread.benchmarks.m3cot.judge_questions import questions
from overread.benchmarks.m3cot.measures import agreement_measures, measure
from overread.judging.checking import FEWEST, CheckedReply
from overread.judging.fitness import (
    ENOUGH,
    Check,
    corrected_for_errors,
    fitness_measures,
    fitness_of,
    shift_measures,
)
from overread.judging.rubric import CHANGES
from support.m3_tables import answer, case, tables_of, verdict, verdicts_of

RULES = msgspec.structs.replace(CORRECTED, boot=100)
READERS, JUDGES, N = ("one", "two"), ("g", "h"), FEWEST
ORDER = {"modality": 1, "feature": 2, "conclusion": 0, "others": 0}


def _answer(reader, index):
    return {"match": (index + len(reader)) % 3 > 0, "final_answer": "A"}


def everything():
    """Tables and verdicts: two readers, two judges, every image, follow-up and mode, timed too."""
    cases = [
        case(i, task=("Diagnosis", "Action")[i % 2], kind=KINDS[i % 4], steps=STEPS)
        for i in range(1, N + 1)
    ]
    cells = [{"mode": mode, "image": image} for image in IMAGES for mode in ("direct", "cot")]
    cells += [{"mode": "cot", "follow": follow} for follow in FOLLOWS]
    answers, verdicts = [], []
    for reader in READERS:
        for i in range(1, N + 1):
            for cell in cells:
                answers.append(answer(reader, i, text=f"{reader} said {i}", **cell))
                for judge in JUDGES:
                    verdicts.append(verdict(judge, "answer", reader, i, _answer(judge, i), **cell))
            for mode in ("direct", "cot"):
                answers.append(answer(reader, i, mode, "x", timed=True, seconds=1.0 + i))
            for judge in JUDGES:
                steps = [
                    {"type": step, "judgment": ("Match", "Wrong")[i % 2], "text": "t"}
                    for step in STEPS
                ]
                for cell in ({}, {"image": "blank"}, {"image": "swap"}):
                    verdicts += [
                        verdict(judge, "precision", reader, i, steps, **cell),
                        verdict(judge, "recall", reader, i, [True, i % 2 == 0] * 2, **cell),
                        verdict(judge, "order", reader, i, ORDER, **cell),
                    ]
    return tables_of(cases, answers), verdicts_of(verdicts)


def varied():
    """What judges say of a control's replies as they are, and after each change."""
    return verdicts_of(
        verdict(judge, "answer", "control:clinician", i, _answer(judge, i), check=True, **change)
        for judge in JUDGES
        for i in range(1, N + 1)
        for change in ({}, *({"variant": change} for change in CHANGES))
    )


@cache
def everything_measured():
    """Every record there can be, of readers and of judges."""
    tables, verdicts = everything()
    checks = [
        Check(judge, "answer", truth, truth)
        for judge in JUDGES
        for truth in (True, False)
        for _ in range(ENOUGH)
    ]
    cases = cases_in(tables.cases)
    asked = questions(RULES)
    people = {
        CheckedReply("answer", reader, f"m{i}", f"{reader} said {i}"): "right"
        for reader in READERS
        for i in range(1, N + 1)
    }
    found, records = fitness_of(checks), measure(tables, verdicts, RULES, people=people)
    return (
        *records,
        *corrected_for_errors(records, found, "accuracy", "answer"),
        *agreement_measures(asked, tables.cases, verdicts, RULES),
        *fitness_measures(found),
        *shift_measures(asked, varied(), cases),
    )
