"""What judges judged, cut into single things for a person."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.benchmark import Sampled
from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.benchmarks.m3cot.units import CHOICES, units_of
from support.m3_tables import answer, case, tables_of, verdict, verdicts_of

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
    return units_of(msgspec.structs.replace(tables, verdicts=verdicts_of(rows)))


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
    assert units_of(tables_of(CASES, ANSWERS)) == []


def test_every_verdict_is_one_of_the_choices_and_the_benchmark_says_so():
    bench = M3CoT.of_run("d", "open")
    assert isinstance(bench, Sampled)
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
