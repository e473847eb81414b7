"""What a judge's words mean: strict first, then out of fences and prose, then repaired."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.judging.reading import DEEPEST, LONGEST, read_json, read_yes_no, repaired

VERDICT = {"match": True, "final_answer": "B"}
STEPS = [{"step_type": "key conclusions", "Step information": "x", "judgment": "Match"}]
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "how", "value"),
    [
        ('{"match": true, "final_answer": "B"}', "strict", VERDICT),
        ('\n [{"match": true, "final_answer": "B"}] ', "strict", [VERDICT]),
        ('```json\n{"match": true, "final_answer": "B"}\n```', "fenced", VERDICT),
        ('```JSON {"match": true, "final_answer": "B"}```', "fenced", VERDICT),
        (
            'Draft:\n```\n{"match": false}\n```\nNow:\n```\n{"match": true}\n```',
            "fenced",
            {"match": True},
        ),
        ('I think so: {"match": true, "final_answer": "B"}. Done.', "found", VERDICT),
        ('It\'s {not} JSON [1], but {"match": true} is.', "found", {"match": True}),
        ('The reply says {"match": true}. I say {"match": false}', "found", {"match": False}),
        ('{"match": true}\n{"match": false}', "found", [{"match": True}, {"match": False}]),
        (
            '{"match": true, "final_answer": "a } b"} ok',
            "found",
            {"match": True, "final_answer": "a } b"},
        ),
        ("{'match': true, 'final_answer': 'B'}", "repaired", VERDICT),
        ('{"match": true, "final_answer": "B",}', "repaired", VERDICT),
        ('{"match": true, "final_answer": "B"', "repaired", VERDICT),
        ("{match: true, final_answer: 'B'}", "repaired", VERDICT),
        ('```json\n{"match": true, "final_answer": "B",}\n```', "repaired", VERDICT),
        (
            'Here: [{"judgment": "Match"}, {"judgment": "Wrong"',
            "repaired",
            [{"judgment": "Match"}, {"judgment": "Wrong"}],
        ),
        ('{"match": "false"}', "strict", {"match": "false"}),
    ],
)
def test_a_verdict_is_read_the_surest_way_there_is(text: str, how: str, value: Any) -> None:
    read = read_json(text)
    assert (read.how, read.value, read.fault) == (how, value, "")


@pytest.mark.parametrize(
    "text", ["", "  \n", "Yes, it matches.", "true", "7", '"match"', "[1] [2]", "```\n```"]
)
def test_words_without_a_verdict_have_a_fault(text: str) -> None:
    read = read_json(text)
    assert not read.valid
    assert "\n" not in read.fault


def test_what_a_broken_array_holds_is_no_verdict_by_itself() -> None:
    text = json.dumps([*STEPS, *STEPS, *STEPS])
    for kept in range(len(json.dumps(STEPS)) + 5, len(text)):
        read = read_json("So: " + text[:kept])
        assert read.how == "repaired"
        assert isinstance(read.value, list)


def test_backslashes_are_never_doubled() -> None:
    broken = r'[{"Step information": "a \"ring\" of \\alpha", "judgment": "Match"},]'
    (step,) = read_json(broken).value
    assert step["Step information"] == 'a "ring" of \\alpha'


def test_an_object_may_stand_in_an_array_of_one_and_an_array_may_not_be_an_object() -> None:
    assert read_json("[{}]", "object").value == {}
    assert read_json('[{"a": 1}, {"a": 2}]', "object").fault == "no JSON object in the reply"
    assert read_json('{"a": 1}', "array").fault == "no JSON array in the reply"
    assert read_json('See {"a": 1} and [{"b": 2}] and {"c": 3}.', "array").value == [{"b": 2}]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + "}",
        "[" * 60 + "]" * 60,
    ],
)
def test_what_no_writer_takes_is_no_value(text: str) -> None:
    read = read_json(text)
    assert not read.valid or isinstance(read.value["a"], str)
    json.dumps(read.value, allow_nan=False)


def test_lone_surrogates_are_replaced() -> None:
    assert read_json('{"a": "\\ud800"}').value == {"a": "?"}


@given(VALUES)
def test_what_is_json_is_read_as_json(value: Any) -> None:
    read = read_json(json.dumps(value))
    if isinstance(value, dict | list):
        assert (read.how, read.value) == ("strict", value)
    else:
        assert not read.valid or read.how == "repaired"


@given(st.text() | st.text(alphabet="[]{}\"'\\:,`ab1 \n", max_size=200))
def test_no_text_raises_and_every_value_can_be_written(text: str) -> None:
    read = read_json(text)
    assert read.valid == (read.fault == "")
    if read.valid:
        assert isinstance(read.value, dict | list)
        assert read.how in ("strict", "fenced", "found", "repaired")
        msgspec.json.encode(read.value)


@given(VALUES.filter(lambda value: isinstance(value, dict)), st.integers(0, 60))
def test_a_truncated_object_never_raises(value: dict[str, Any], kept: int) -> None:
    read_json(json.dumps(value)[:kept])


@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "{",
        '{"',
        '["',
        "{'",
        '[{"a":',
        "[{",
        "{]",
        "][",
        "[]",
        "{}",
        "```[ ",
        "[(",
        '\\",“ ',
        "'a\" ",
    ],
)
@pytest.mark.parametrize("size", [23_900, LONGEST, 1_000_000])
def test_hostile_text_takes_a_bounded_time(unit: str, size: int) -> None:
    text = ("[{" + unit * (size // len(unit)))[:size]
    begun = time.process_time()
    read_json(text)
    assert time.process_time() - begun < 10  # unbounded it is minutes


def test_repair_stops_by_count_and_so_always_at_the_same_place() -> None:
    text = "[" + "'a\" " * 5000
    assert repaired(text, DEEPEST) is None
    assert repaired("[" * (DEEPEST + 1), DEEPEST) is None
    (step,) = repaired('[{"a": "x" }', DEEPEST) or [None]
    assert type(step["a"]) is str


# ---------------------------------------- Yes or no: read where a verdict stands, and nowhere else


@pytest.mark.parametrize("said", ["Yes", "yes.", " YES\n", "**Yes**", '"yes"', "`Yes`!", "(yes)"])
def test_the_word_alone(said: str) -> None:
    assert (read_yes_no(said).value, read_yes_no(said).how) == (True, "yesno")
    other = said.lower().replace("yes", "no")
    assert (read_yes_no(other).value, read_yes_no(other).how) == (False, "yesno")


@pytest.mark.parametrize("said", ["<think>The answer: yes</think>No", "So yes.</think>\nNo"])
def test_what_was_thought_is_not_said(said: str) -> None:
    assert (read_yes_no(said).value, read_yes_no(said).how) == (False, "yesno")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Yes, the reader names the same organ.", True),
        ("No - it is the spleen.", False),
        ("No: the reader says B.", False),
        ("The reader settled on B, the right one is A.\n\nNo", False),
        ("The reader says liver.\n**Answer: Yes**", True),
        ("Verdict: **no**.", False),
        ("Final answer: yes", True),
        ("The answer is no.", False),
        ("The two mean the same. Yes.", True),
        ("Yes.\nOn second thought, one option is missing.\nNo.", False),
        ("They differ in the side.\nNo, the reader chose the left.", False),
        ("Yes\n\nThe right answer is no, and the reader said no.", True),
        ("> Final answer: No\nYes", True),
    ],
)
def test_a_verdict_among_other_words(said: str, value: bool) -> None:
    read = read_yes_no(said)
    assert (read.value, read.how) == (value, "yesno+found")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   \n",
        "Perhaps",
        "Yes or no?",
        "Yes/No",
        "yesterday",
        "Nothing",
        "Correct answer: No\nReader's final answer: No\nThey match.",
        "The correct answer is No. The reader said: No, and that is the same",
        "There is no match",
        "The reader says yes and the truth is no",
        "No. 3 is the right option",
        "<think>It is the same. Yes.",
        '{"match": true}',
        "> Yes",
    ],
)
def test_what_is_no_verdict_is_none(said: str) -> None:
    read = read_yes_no(said)
    assert read.value is None
    assert read.fault
    assert read.how == "yesno"


def test_no_reply_is_no_verdict() -> None:
    assert read_yes_no(None).fault == "no reply"


@given(st.text())
def test_nothing_raises(said: str) -> None:
    assert read_yes_no(said).value in (True, False, None)


@pytest.mark.parametrize("part", ["* ", "yes ", "<think>", "answer is ", "the ", "\n", "> yes\n"])
def test_long_nonsense_takes_no_time(part: str) -> None:
    began = time.monotonic()
    for text in (part * 100_000, "yes" + part * 100_000 + "x", part * 100_000 + " no x"):
        read_yes_no(text)
    assert time.monotonic() - began < 5
