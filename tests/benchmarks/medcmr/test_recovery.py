"""The whole way: controls are asked, read, judged and measured, and found to be what they are."""

from __future__ import annotations

import asyncio

import msgspec
import polars as pl
import pytest

from overread.benchmarks.benchmark import ReaderRecord, Tables
from overread.benchmarks.medcmr.answers import answer_row
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.check_truth import CHECKED
from overread.benchmarks.medcmr.controls import medcmr_controls
from overread.benchmarks.medcmr.edition import settings
from overread.benchmarks.medcmr.fitness import fitness_in, labels_of
from overread.benchmarks.medcmr.judged import judge_trials
from overread.benchmarks.medcmr.lexical_score import lexical_judge
from overread.benchmarks.medcmr.measures import measure
from overread.benchmarks.medcmr.recovery import EXPECTED, recovered
from overread.benchmarks.medcmr.rubrics import RUBRICS
from overread.benchmarks.medcmr.schemas import (
    ANSWER_COLUMNS,
    answer_schema,
    case_row,
    case_schema,
    cases_in,
)
from overread.benchmarks.medcmr.trials import trials
from overread.benchmarks.medcmr.verdicts import read_verdict
from overread.case import Prompt, PromptMessage
from overread.judging.verdict import VERDICT_COLUMNS
from support.med_verdicts import verdicts_of

WORDS = ("round", "oval", "dense", "pale", "sharp", "blurred", "small", "dark", "bright", "smooth")
ORGANS = ("lung", "liver", "kidney", "spleen", "heart", "brain", "bone", "skin", "retina", "colon")
CASES = [
    MedCase(
        case_id=f"{kind}-{n}",
        index=n,
        kind=kind,
        question=f"What does the {ORGANS[n]} of record {n} {kind} hold?",
        images=(f"{kind}{n}.png",),
        options=tuple(f"a {word} tumor {'of long standing' * (k == n % 3)}" for k, word in enumerate(WORDS[:5]))
        if kind == "mcq"
        else (),
        answer=LETTERS[n % 5] if kind == "mcq" else f"a {WORDS[n]} cyst of the {ORGANS[n]}",
        caption=f"One {WORDS[n]} shadow with a {WORDS[-1 - n]} border in the {ORGANS[n]}.",
        dimension=("SOD", "CR")[n % 2],
    )
    for kind in ("mcq", "open")
    for n in range(10)
]  # fmt: skip


def reply(reader, request, case=""):
    messages = tuple(
        PromptMessage(m.role, tuple(p for p in m.parts if isinstance(p, str)))
        for m in request.messages
    )
    return asyncio.run(reader.reply(Prompt(messages, case=case)))


def run(name, words):
    """Tables of all five controls on all cases, judged by words."""
    rules, options = settings(name, words)
    reformulated = (
        frozenset(c.case_id for c in CASES[:3]) if "reformulate" in words else frozenset()
    )
    judge, answers, verdicts = lexical_judge(), [], []
    controls = medcmr_controls(CASES, rules.seed)
    for key, control in controls.items():
        for case in CASES:
            asked = trials(
                case, control.traits, rules, options, "/", None, case.case_id in reformulated
            )
            for trial in asked:
                said = reply(control, trial.request, trial.case)
                cells = answer_row(trial, said, control.traits, rules, case)
                row = dict(zip(ANSWER_COLUMNS, cells, strict=True)) | {"reader": control.name}
                answers.append({column: row[column] for column in ("reader", *ANSWER_COLUMNS)})
                for check in (0, 1) if key in CHECKED else (0,):
                    for asking in judge_trials(row | {"check": check}, "score", case, RUBRICS):
                        text = reply(judge, asking.request).text
                        read = read_verdict(str(asking.condition["question"]), text)
                        assert read.how == "lines"
                        told = {
                            **asking.condition, "judge": judge.name, "case": case.case_id,
                            "check": bool(check), "attempts": 1, "outcome": "judged", "text": text,
                            "payload": msgspec.json.encode(read.value).decode(),
                        }  # fmt: skip
                        verdicts.append({column: told.get(column) for column in VERDICT_COLUMNS})
    tables = Tables(
        cases=pl.DataFrame(map(case_row, CASES), schema=dict(case_schema()), orient="row"),
        answers=pl.DataFrame(
            answers, schema={"reader": pl.String, **answer_schema()}, orient="row"
        ),
        verdicts=verdicts_of(verdicts),
        readers=tuple(ReaderRecord(name=c.name, traits=c.traits) for c in controls.values()),
    )
    return tables, rules, options


@pytest.mark.parametrize(
    "words",
    [{}, {"orders": "4"}, {"orders": "2", "reformulate": "3", "images": "original,blank"}],
    ids=["plain", "orders", "reformulated"],
)
@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_both_editions_recover_all_five(edition, words):
    tables, rules, options = run(edition, words | {"boot": "100"})
    found = fitness_in(tables.verdicts, {case.case_id: case for case in cases_in(tables.cases)})
    assert {(one.part, one.label) for one in found} == {("visual", None), ("truth", None)}
    judged = tables.verdicts.filter(~tables.verdicts["check"])
    records = measure(tables, judged, rules, options, labels=labels_of(judged, found))
    told = recovered(records)
    assert [one.control for one in told] == list(EXPECTED)
    assert [one.found for one in told] == list(EXPECTED.values())
    assert all(one.ok for one in told)
    assert all("truth" in (one.note or "") for one in told[:4])
