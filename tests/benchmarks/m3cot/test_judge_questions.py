"""What judges are asked about one reply, and what a person may judge of it too."""

from __future__ import annotations

import json

import msgspec
import pytest

from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.benchmarks.m3cot.cases import M3Case, Step
from overread.benchmarks.m3cot.edition import CORRECTED
from overread.benchmarks.m3cot.judge_questions import RUBRICS
from overread.benchmarks.m3cot.judge_questions import questions as questions_under
from overread.benchmarks.m3cot.measures import measure
from overread.judging.question import choices_of, question_trials, roles_of
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

QUESTIONS = questions_under(CORRECTED)
ROLES, CHOICES = roles_of(QUESTIONS), choices_of(QUESTIONS)


def asked(role=None, check=0, **told):
    row = answer("r", 1, **told) | {"check": check}
    roles = ROLES if role is None else (role,)
    return [trial for one in roles for trial in question_trials(QUESTIONS, row, one, CASE)]


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
    for trial, question in zip(
        asked(role), [one.name for one in QUESTIONS if one.role == role], strict=True
    ):
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
    assert found(records, "consistency_mode").value == pytest.approx((1 + 1 / 2) / 2)
    assert found(records, "consistency").value == (1 + 0) / 2
    assert found(records, "consistency_items").value == pytest.approx(7 / 8)


CASES = [case(1, steps=("modality", "feature"))]
ANSWERS = [
    answer("r", 1, text="It is a CT. I see a mass. So B."),
    answer("r", 1, mode="direct", text="B"),
    answer("r", 1, image="blank", text="Nothing to see."),
]
GOLD = "Answer: !\n1. modality\n2. feature"


def step(text, judgment, kind="feature"):
    return {"type": kind, "judgment": judgment, "text": text}


def units(*rows):
    tables = tables_of(CASES, ANSWERS)
    return M3CoT.of_run("set@12345678", "open").units(
        msgspec.structs.replace(tables, verdicts=verdicts_of(rows))
    )


def test_an_answer_is_right_or_wrong():
    made = units(
        verdict("j", "answer", "r", 1, {"match": True, "final_answer": "B"}, mode="direct"),
        verdict("k", "answer", "r", 1, {"match": False, "final_answer": "B"}, mode="direct"),
        verdict("j", "answer", "r", 1, {"match": False, "final_answer": "?"}, image="blank"),
    )
    assert [(one.reply, one.verdicts) for one in made] == [
        ("B", {"j": "right", "k": "wrong"}),
        ("Nothing to see.", {"j": "wrong"}),
    ]
    first = made[0]
    assert (first.item, first.question, first.reader) == ("m1", "answer", "r")
    assert (first.asked, first.gold, first.part) == ("?", "!", "")
    assert first.choices == CHOICES["answer"]


def test_a_step_of_the_reply_is_a_unit_in_the_words_of_its_judge():
    made = units(
        verdict(
            "j", "precision", "r", 1,
            [step("CT", "Match", "modality"), step("a mass", "Wrong"), step("B", "N/A", "analysis")],
        ),
        verdict("k", "precision", "r", 1, [step("a mass", "Match"), step("I see a mass", "Match")]),
    )  # fmt: skip
    assert [(one.part, one.verdicts) for one in made] == [
        ("CT", {"j": "Match"}),
        ("a mass", {"j": "Wrong", "k": "Match"}),
        ("B", {"j": "N/A"}),
        ("I see a mass", {"k": "Match"}),
    ]
    assert {one.gold for one in made} == {GOLD}
    assert {one.reply for one in made} == {ANSWERS[0]["text"]}


def test_of_the_same_words_twice_the_first_verdict_counts():
    (made,) = units(verdict("j", "precision", "r", 1, [step("x", "Match"), step("x", "Wrong")]))
    assert made.verdicts == {"j": "Match"}


def test_what_is_no_step_or_has_no_word_is_no_unit():
    assert not units(
        verdict(
            "j", "precision", "r", 1,
            [step("?", "N/A", "restatement"), step("x", None, "other"), step("y", "matchy")],
        )
    )  # fmt: skip


def test_a_gold_step_is_a_unit_counted_from_1():
    made = units(
        verdict("j", "recall", "r", 1, [True, False]),
        verdict("k", "recall", "r", 1, [True, True]),
    )
    assert [(one.part, one.verdicts) for one in made] == [
        ("1. modality", {"j": "Matched", "k": "Matched"}),
        ("2. feature", {"j": "Unmatched", "k": "Matched"}),
    ]
    assert all(one.part in GOLD for one in made)


@pytest.mark.parametrize(
    "row",
    [
        verdict("j", "order", "r", 1, {"modality": 1, "feature": 0, "conclusion": 0, "others": 0}),
        verdict("j", "answer", "r", 1, None),
        verdict("j", "answer", "r", 1, {"match": True, "final_answer": ""}, check=True),
        verdict("j", "answer", "r", 7, {"match": True, "final_answer": ""}),
        verdict("j", "answer", "stranger", 1, {"match": True, "final_answer": ""}),
    ],
    ids=["order", "not readable", "a check", "another item", "no such reply"],
)
def test_what_a_person_is_not_asked(row):
    assert units(row) == []


def test_without_verdicts_there_is_nothing():
    assert M3CoT.of_run("set@12345678", "open").units(tables_of(CASES, ANSWERS)) == []


def test_every_verdict_is_one_of_the_choices_and_the_benchmark_says_so():
    bench = M3CoT.of_run("d", "open")
    assert bench.choices == CHOICES
    rows = [
        verdict("j", "answer", "r", 1, {"match": True, "final_answer": ""}),
        verdict("j", "precision", "r", 1, [step("x", "Match")]),
        verdict("j", "recall", "r", 1, [True, False]),
    ]
    tables = msgspec.structs.replace(tables_of(CASES, ANSWERS), verdicts=verdicts_of(rows))
    made = bench.units(tables)
    assert {one.question for one in made} == set(CHOICES)
    for one in made:
        assert one.choices == CHOICES[one.question]
        assert set(one.verdicts.values()) <= set(one.choices)
