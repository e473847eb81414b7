"""The questions as readers get them: to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.cases import LETTERS
from overread.benchmarks.medcmr.prompts import mcq, open_ended, stem

WORDS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)


def test_a_multiple_choice_item():
    assert mcq("What is it?", ("cat", "dog", "hen", "ox", "ant")) == (
        "Please carefully observe this medical image and answer the following question:\n"
        "Question: What is it?\n"
        "Options:\n"
        "A) cat\n"
        "B) dog\n"
        "C) hen\n"
        "D) ox\n"
        "E) ant\n"
        "Answer only with the option letter (A–E)."
    )


def test_an_open_item():
    assert open_ended("What is it?") == (
        "Please carefully observe this medical image and answer the following question:\n"
        "Question: What is it?\n"
        "Think step by step, integrating both visual features and medical knowledge to reach your "
        "conclusion. Then provide the final answer to the question in one short sentence or a "
        "single medical term.\n"
        "Output format (Must follow strictly):\n"
        "Reasoning: <visual and diagnostic reasoning process>\n"
        "Answer: <final answer to the question>"
    )


@given(st.lists(WORDS, min_size=2, max_size=10))
def test_the_last_letter_is_that_of_the_last_option(options):
    lines = mcq("?", options).split("\n")
    last = LETTERS[len(options) - 1]
    assert lines[-1] == f"Answer only with the option letter (A–{last})."
    assert lines[3:-1] == [f"{x}) {text}" for x, text in zip(LETTERS, options, strict=False)]


def test_braces_are_text():
    assert "{question} {0}" in mcq("{question} {0}", ("{A}", "b"))
    assert "{question}" in open_ended("{question}")


@pytest.mark.parametrize(
    "question",
    [
        "What is it? A. cat B. dog",
        "What is it?\nA) cat\nB) dog",
        "What is it?\nOptions: (A) Cat; (B) dog.",
        "What is it?",
    ],
)
def test_the_stem_has_no_options(question):
    assert stem(question, ("cat", "dog")) == "What is it?"


@pytest.mark.parametrize(
    "question",
    [
        "Is it a cat or a dog?",
        "A. cat is seen. What else?",
        "What is A. cat B. dogma?",
        "B. dog A. cat?",
    ],
)
def test_a_stem_that_lists_no_options_stays(question):
    assert stem(question, ("cat", "dog")) == question


@given(st.text(max_size=80), st.lists(st.text(max_size=9), max_size=6))
def test_a_stem_never_grows(question, options):
    assert len(stem(question, options)) <= len(question)
