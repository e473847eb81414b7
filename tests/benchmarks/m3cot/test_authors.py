"""The authors' readings of judges' replies, vector by vector."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot import authors
from overread.benchmarks.m3cot.edition import AUTHORS
from overread.benchmarks.m3cot.judge_questions import read_verdict
from overread.benchmarks.m3cot.verdicts import ORDER_KEYS, QUESTIONS

GOLDEN = Path(__file__).parents[2] / "golden" / "m3cot"


def load(name):
    return json.loads((GOLDEN / name).read_text("utf-8"))


ACCURACY = load("m3cot_accuracy.json")
STEPS = load("m3cot_precision_recall.json")
ORDER = load("m3cot_step_order.json")


def ids(entry):
    return str(entry.get("name", entry.get("index")))


@pytest.mark.parametrize("item", [i for i in ACCURACY["items"] if i["asked"]], ids=ids)
def test_answers(item):
    read = authors.read_answer(item["judge_output"])
    assert read.valid is item["counted"]
    if item["counted"]:
        assert read.value["match"] is bool(item["match"])
        assert read.value["final_answer"] == item["final_answer"]


@pytest.mark.parametrize("item", STEPS["precision_items"], ids=ids)
def test_precision_replies(item):
    assert authors.read_precision(item["judge_output"]).valid is item["counted"]


def test_what_a_precision_reply_says_is_kept_as_it_is_spelt():
    said = [
        {"step_type": "key conclusions", "Step information": "a", "judgment": "match"},
        {"step_type": "Key Conclusions", "judgment": "Match"},
        {"step_type": "Restatement of the question"},
    ]
    assert authors.read_precision(json.dumps(said)).value == [
        {"type": "conclusion", "judgment": "match", "text": "a"},
        {"type": "other", "judgment": "Match", "text": ""},
        {"type": "restatement", "judgment": None, "text": ""},
    ]


@pytest.mark.parametrize("item", STEPS["recall_items"], ids=ids)
def test_recall_replies(item):
    gold = sum(bool((step or "").strip()) for step in item["key_annotation_steps"].values())
    read = authors.read_recall(item["judge_output"], gold)
    assert read.valid is item["counted"]
    if item["counted"]:
        assert len(read.value) == gold
        assert sum(read.value) == item["matched"]


@pytest.mark.parametrize("item", ORDER["replies"], ids=ids)
def test_order_replies(item):
    read = authors.read_order(item["raw"])
    assert read.valid is item["success"]
    assert item["attempts"] == (1 if read.valid else authors.TRIES["order"])
    if read.valid:
        cells = {name: item["data"][f"{name}_order"] for name in authors.ORDERS}
        assert {k: str(v) for k, v in read.value.items()} == {k: str(v) for k, v in cells.items()}
    else:
        said = "not JSON" if item["error_kind"].startswith("JSON") else "missing keys"
        assert read.fault.startswith(said)


jsonish = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["match", "final_answer", "step_type", "judgment", *ORDER_KEYS]), inner
    ),
)  # fmt: skip


@pytest.mark.slow
@given(
    question=st.sampled_from(QUESTIONS),
    text=st.none() | st.text() | jsonish.map(json.dumps) | jsonish.map(lambda x: f"```json\n{json.dumps(x)}```"),
    gold=st.integers(0, 4),
)  # fmt: skip
def test_no_reply_raises_and_every_verdict_can_be_kept(question, text, gold):
    read = read_verdict(question, text, AUTHORS, gold)
    assert read.valid is (read.value is not None)
    msgspec.json.encode(read.value)


@pytest.mark.parametrize(
    "text", ["[" * 5000, "{" * 100_000, "[" + '"' * 20_000 + "]", '["\\ud800"]']
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_hostile_replies_end_soon(question, text):
    read = read_verdict(question, text, AUTHORS, 2)
    msgspec.json.encode(read.value)
