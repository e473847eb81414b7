"""Yes or no: read where a verdict stands, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.judging.yes_no import read_yes_no


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
