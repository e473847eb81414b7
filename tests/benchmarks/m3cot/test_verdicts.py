"""Judges' replies read soundly: strict first, then rescued and told so, else invalid."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.m3cot.cases import STEPS, cases_in
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED
from overread.benchmarks.m3cot.judge_questions import questions, read_verdict
from overread.benchmarks.m3cot.verdicts import (
    QUESTIONS,
    read_answer,
    read_order,
    read_precision,
    read_recall,
    rescued,
)
from overread.judging.question import reread
from support.m3_tables import answer, case, read, tables_of, verdict, verdicts_of

MATCH = {"match": True, "final_answer": "A"}
STEP = {"step_type": "key conclusions", "Step information": "a", "judgment": "Match"}
KEPT = {"type": "conclusion", "judgment": "Match", "text": "a"}
ORDERS = {"modality_order": 1, "feature_order": 2, "conclusion_order": 3, "others_order": 0}
SUBS = {"modality_subs": [], "feature_subs": [], "conclusion_subs": [], "others_subs": []}
RANKS = {"modality": 1, "feature": 2, "conclusion": 3, "others": 0}


@pytest.mark.parametrize(
    ("text", "value", "how"),
    [
        ('{"match": true, "final_answer": "A"}', MATCH, "strict"),
        ('```json\n{"match": true, "final_answer": "A"}\n```', MATCH, "fenced"),
        ('```JSON\n{"match": true, "final_answer": " A "}\n```', MATCH, "fenced"),
        ('It matches. {"match": true, "final_answer": "A"}', MATCH, "found"),
        ('[{"match": true, "final_answer": "A"}]', MATCH, "strict+array"),
        ("{'match': true, 'final_answer': 'A'}", MATCH, "repaired"),
        ('{"match": true, "final_answer": "A",}', MATCH, "repaired"),
        ('{"match": true, "final_answer": "A', MATCH, "repaired"),
        ('{"match": "false", "final_answer": "A"}', MATCH | {"match": False}, "strict+word"),
        ('{"match": " True", "final_answer": "A"}', MATCH, "strict+word"),
        (
            '{"match": true, "final_answer": 3}',
            MATCH | {"final_answer": "3"},
            "strict+final_answer",
        ),
        ('{"match": true}', MATCH | {"final_answer": ""}, "strict+final_answer"),
    ],
)
def test_answers_that_can_be_read(text, value, how):
    found = read_answer(text)
    assert (found.value, found.how, found.fault) == (value, how, "")
    assert rescued(found.how) is (how != "strict")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        None,
        "It matches.",
        '{"final_answer": "A"}',
        '{"match": null, "final_answer": "A"}',
        '{"match": 1, "final_answer": "A"}',
        '{"match": "maybe", "final_answer": "A"}',
        '[{"match": true}, {"match": false}]',
        "[]",
        "true",
    ],
)
def test_answers_that_cannot(text):
    found = read_answer(text)
    assert found.value is None
    assert found.fault


def test_any_truthy_match_where_the_rule_is_set_so():
    edition = msgspec.structs.replace(CORRECTED, match="truthy")
    assert read_verdict("answer", '{"match": "perhaps"}', edition).value["match"] is True
    assert not read_verdict("answer", '{"match": null}', edition).valid


def steps(*told):
    return json.dumps([STEP | one for one in told])


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (steps({}), "strict"),
        (f"```json\n{steps({})}\n```", "fenced"),
        (f"Here [1]: {steps({})} Done.", "found"),
        (json.dumps({"steps": [STEP]}), "strict"),
        (json.dumps([[STEP]]), "strict"),
        (steps({"step_type": " Key  Conclusions "}), "strict+types=1"),
        (steps({"step_type": "key conclusion"}), "strict+types=1"),
        (steps({"judgment": "match"}), "strict+judgments=1"),
        (steps({"judgment": " Matched."}), "strict+judgments=1"),
        (steps({}).replace('"Match"}', '"Match",}'), "repaired"),
        (steps({}).replace('"', "'"), "repaired"),
    ],
)
def test_steps_that_can_be_read(text, how):
    found = read_precision(text)
    assert (found.value, found.how, found.fault) == ([KEPT], how, "")


def test_quotes_and_backslashes_in_a_step_survive():
    told = {"Step information": 'the "target sign" of \\(3 cm\\) and [arrow'}
    assert read_precision(steps(told)).value[0]["text"] == told["Step information"]


def test_no_steps_is_a_verdict_and_unknown_types_are_told():
    assert read_precision("[]").value == []
    found = read_precision(steps({}, {"step_type": "summary"}, {"step_type": "restatement"}))
    assert [step["type"] for step in found.value] == ["conclusion", "other", "restatement"]
    assert found.how == "strict+types=1+unknown=1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot evaluate this.",
        '["modality", "feature"]',
        json.dumps([{"judgment": "Match"}]),
        json.dumps([{"step_type": "key conclusions"}]),
        steps({"judgment": "so so"}),
        steps({"step_type": "summary"}),
        steps({}, {})[:-20],
        steps({}, {}, {})[:-4],
    ],
)
def test_a_judge_that_leaves_something_out_has_not_judged(text):
    assert not read_precision(text).valid


def test_exact_spelling_where_the_rule_is_set_so():
    edition = msgspec.structs.replace(CORRECTED, step_types="exact")
    told = steps({}, {"step_type": "Key Conclusions"})
    kinds = [step["type"] for step in read_verdict("precision", told, edition).value]
    assert kinds == ["conclusion", "other"]


def entries(*words, first=0):
    return json.dumps([{"step_index": n, "judgment": word} for n, word in enumerate(words, first)])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (entries("Matched", "Unmatched"), [True, False]),
        (entries("Matched", "Unmatched", first=1), [True, False]),
        (json.dumps(json.loads(entries("Matched", "Unmatched"))[::-1]), [True, False]),
        (entries("Matched", "Unmatched", "Matched"), [True, False]),
        ('[{"judgment": "Matched"}, {"judgment": "unmatched"}]', [True, False]),
        ('["Matched", "Unmatched"]', [True, False]),
        ('{"judgments": ["Matched", "Unmatched"]}', [True, False]),
        ("[]", [False, False]),
    ],
)
def test_recall_by_index_else_by_position(text, value):
    assert read_recall(text, 2).value == value


@pytest.mark.parametrize(
    "text",
    [
        "Matched, Matched",
        entries("Matched"),
        entries("Matched", "perhaps"),
        '[{"judgment": "Matched"}, {"judgment": "Matched"}, {"judgment": "Matched"}]',
        '[{"step_index": 0, "judgment": "Matched"}, {"step_index": 5, "judgment": "Matched"}]',
        '[{"judgment": "Matched"}, 1]',
        entries("Matched", "Matched")[:-12],
    ],
)
def test_recall_that_leaves_gold_steps_out_is_invalid(text):
    assert not read_recall(text, 2).valid


@pytest.mark.parametrize(
    ("told", "how"),
    [
        ({}, "strict"),
        ({"modality_order": "1"}, "strict+modality"),
        ({"modality_order": 1.0}, "strict+modality"),
        ({"others_order": None}, "strict+others"),
    ],
)
def test_orders(told, how):
    found = read_order(json.dumps(ORDERS | SUBS | told))
    assert (found.value, found.how) == (RANKS, how)


def test_orders_need_no_substrings():
    assert read_order(json.dumps(ORDERS)).how == "strict+subs"
    assert read_order(json.dumps([ORDERS])).value == RANKS
    assert read_order(json.dumps(ORDERS)[:-1] + ",}").value == RANKS


@pytest.mark.parametrize("said", ["first", "", -1, 2.5, True, [1], 10**9])
def test_an_order_that_is_no_rank(said):
    assert not read_order(json.dumps(ORDERS | {"feature_order": said})).valid


CASES = cases_in(tables_of([case(3, steps=STEPS[:2])], [answer("r", 3)]).cases)


def test_rows_are_read_again_under_another_edition():
    rows = verdicts_of(
        [
            read("j", "answer", "r", 1, '{"match": "false", "final_answer": "5"}', AUTHORS),
            read("j", "answer", "r", 2, '[{"match": true, "final_answer": "5"}]', AUTHORS),
            read("j", "recall", "r", 3, '["Matched", "Matched"]', AUTHORS),
            verdict("j", "answer", "r", 4, MATCH),
        ]
    )
    assert rows["outcome"].to_list() == ["judged", "invalid", "invalid", "judged"]
    again = reread(questions(CORRECTED), rows, CASES)
    assert again["outcome"].to_list() == ["judged"] * 4
    assert [json.loads(cell) for cell in again["payload"]] == [
        {"match": False, "final_answer": "5"},
        {"match": True, "final_answer": "5"},
        [True, True],
        MATCH,
    ]
    assert (
        reread(questions(AUTHORS), again, CASES)
        .select("outcome", "payload")
        .equals(rows.select("outcome", "payload"))
    )


words = st.sampled_from(
    ["match", "final_answer", "step_type", "judgment", "step_index", "Matched", "key conclusions", *ORDERS]
)  # fmt: skip
jsonish = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | words,
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    question=st.sampled_from(QUESTIONS),
    text=st.none() | st.text() | jsonish.map(json.dumps) | jsonish.map(str),
    gold=st.integers(0, 4),
)
def test_no_reply_raises_and_every_verdict_can_be_kept(question, text, gold):
    found = read_verdict(question, text, CORRECTED, gold)
    assert found.valid is (found.value is not None)
    msgspec.json.encode(found.value)
    if found.valid and question == "recall":
        assert len(found.value) == gold
