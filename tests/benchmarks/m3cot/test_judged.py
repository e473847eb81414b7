"""What judges are asked about one answer, and what the paper weighs alike."""

from __future__ import annotations

import json

import msgspec
import pytest

from overread.benchmarks.m3cot.cases import M3Case, Step
from overread.benchmarks.m3cot.edition import CORRECTED
from overread.benchmarks.m3cot.judged import judge_trials
from overread.benchmarks.m3cot.measures import measure
from overread.benchmarks.m3cot.rubrics import QUESTIONS_OF, ROLES, RUBRICS
from overread.judging.rubric import asked_of, sections_of
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

CASE = M3Case(
    case_id="m1",
    index=1,
    question="Which organ?",
    answer="Liver",
    kind="short",
    task="Recognition",
    image="1.png",
    steps=(Step("modality", "CT"), Step("conclusion", "It is the liver.")),
)


def asked(role=None, check=0, **told):
    row = answer("r", 1, **told) | {"check": check}
    roles = ROLES if role is None else (role,)
    return [trial for one in roles for trial in judge_trials(row, one, CASE, RUBRICS)]


def questions(**told):
    return [trial.condition["question"] for trial in asked(**told)]


def test_judges_are_asked_at_temperature_0():
    trials = asked()
    assert {trial.condition["question"] for trial in trials} == {"answer", "precision", "recall", "order"}  # fmt: skip
    assert {trial.request.decoding.temperature for trial in trials} == {0.0}
    assert {trial.request.decoding.max_tokens for trial in trials} == {4096}


@pytest.mark.parametrize(
    "told",
    [
        {"text": None},
        {"text": ""},
        {"text": " \n"},
        {"text": "I will not say.", "outcome": "refused"},
    ],
)
def test_only_answers_are_sent_to_judges(told):
    assert asked(**told) == []


def test_steps_and_order_are_judged_of_reasoning_alone():
    assert questions() == ["answer", "precision", "recall", "order"]
    assert questions(image="blank") == ["answer", "precision", "recall", "order"]
    assert questions(mode="direct") == ["answer"]
    assert questions(follow="truncated") == ["answer"]
    assert questions(timed=True) == ["recall"]
    assert questions(timed=True, mode="direct") == []
    assert questions(check=1) == ["answer", "precision", "recall", "order"]
    assert questions(check=1, mode="direct") == questions(check=1, image="swap") == []


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_its_questions_and_only_what_they_need(role):
    for trial, question in zip(asked(role), QUESTIONS_OF[role], strict=True):
        text = trial.request.messages[-1].parts[0]
        assert asked_of(text) == trial.condition["question"] == question
        shown = sections_of(text)
        assert set(shown) == set(RUBRICS[question][CASE.kind].sections)
        assert ("answer" in shown) is (question != "order")
        assert shown["reply"] == "said"
        assert json.loads(trial.condition["about"]) == {
            "follow": "",
            "image": "original",
            "mode": "cot",
            "timed": False,
        }
        assert trial.condition["prompt"] == RUBRICS[question][CASE.kind].digest


def test_a_small_task_weighs_as_much_as_a_large_one_unless_items_are_counted():
    tasks = ["Diagnosis"] * 6 + ["Symptom"] * 2
    cases = [case(index, task=task) for index, task in enumerate(tasks, 1)]
    # Diagnosis always takes one path; the two of Symptom have nothing in common.
    first, second = ({"modality": 0, "feature": 0, "conclusion": 0, "others": 0, name: 1} for name in ("modality", "feature"))  # fmt: skip
    paths = [first] * 7 + [second]
    rows = [verdict("j", "order", "r", index, path) for index, path in enumerate(paths, 1)]
    answers = [answer("r", index) for index in range(1, 9)]
    rules = msgspec.structs.replace(CORRECTED, boot=100)
    records = measure(tables_of(cases, answers), verdicts_of(rows), rules)
    assert found(records, "consistency").value == pytest.approx((1 + 1 / 2) / 2)
    assert found(records, "consistency_items").value == pytest.approx(7 / 8)
