"""The questions: the published strings to the letter, and the options once in ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED, MODES
from overread.benchmarks.m3cot.prompts import (
    ANSWER_FIRST,
    ANSWER_NOW,
    INSTRUCTIONS,
    REASONING_SO_FAR,
    answer_first,
    options_of,
    question,
    truncated,
)

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "m3cot" / "m3cot_prompts.json").read_text("utf-8")
)
PROMPTS = GOLDEN["prompts"]
CELLS = st.text(st.sampled_from("AZa.) \n\r\tx(Éß1"), max_size=60) | st.text(max_size=60)


@pytest.mark.parametrize("entry", PROMPTS, ids=lambda entry: entry["index"])
def test_the_authors_prompts_are_equal_to_the_letter(entry):
    cell = entry["question_as_read"]
    assert options_of(cell) == entry["options"]
    for mode in MODES:
        assert question(cell, mode, AUTHORS) == entry[mode]


@pytest.mark.parametrize("entry", PROMPTS, ids=lambda entry: entry["index"])
def test_ours_have_the_question_and_the_instruction_once(entry):
    cell = entry["question_as_read"]
    for mode in MODES:
        assert question(cell, mode, CORRECTED) == f"{cell.strip()}\n{INSTRUCTIONS[mode]}"


def test_the_rule_alone_repeats_the_options():
    cell = "Pick\nA. x\nB. y"
    assert question(cell, "cot", AUTHORS).count("A. x") == 2
    assert question(cell, "cot", CORRECTED).count("A. x") == 1


@given(CELLS)
def test_whatever_the_cell_holds_the_instruction_comes_last(cell):
    for mode in MODES:
        for edition in (AUTHORS, CORRECTED):
            text = question(cell, mode, edition)
            assert text.startswith(cell.strip())
            assert text.endswith("\n" + INSTRUCTIONS[mode])
    found = options_of(cell)
    assert all(len(letter) == 1 and letter.isascii() and letter.isupper() for letter in found)
    assert question(cell, "cot", AUTHORS).count("\n") == cell.strip().count("\n") + len(found) + 1


@given(CELLS, CELLS)
def test_what_follows_holds_the_question_and_the_reasoning(cell, reasoning):
    text = truncated(cell, reasoning, CORRECTED)
    rest = f"\n{REASONING_SO_FAR}\n{reasoning.strip()}\n{ANSWER_NOW}"
    assert text == cell.strip() + rest
    assert answer_first(cell, CORRECTED) == f"{cell.strip()}\n{ANSWER_FIRST}"


def test_what_follows_repeats_the_options_where_the_edition_does():
    cell = "Pick\nA. x"
    assert answer_first(cell, AUTHORS) == f"Pick\nA. x\nA. x\n{ANSWER_FIRST}"
    assert truncated(cell, "It is.", AUTHORS).startswith(f"Pick\nA. x\nA. x\n{REASONING_SO_FAR}")
