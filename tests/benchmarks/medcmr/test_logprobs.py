"""The options' probabilities by the first token."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.logprobs import letter_probabilities, most_probable

SPELLINGS = [
    "A",
    " A",
    "▁A",
    "ĠA",
    "(A",
    "A)",
    " (A",
    "A.",
    "**A",
    "A:",
    "Ａ",
    "（A",
    "\nA",
    '"A',
    "[A]",
]


@pytest.mark.parametrize("token", SPELLINGS)
def test_spellings_of_a_letter(token):
    assert letter_probabilities([(token, -0.5)], 2) == (1.0, 0.0)


@pytest.mark.parametrize(
    "token", ["a", " a", "AB", "An", "A1", "А", "The", "", " ", "(", "F", "Answer"]
)
def test_tokens_that_are_no_letter_shown(token):
    assert letter_probabilities([(token, -0.1)], 5) is None


def test_mass_is_summed_over_spellings_and_normalised_over_the_options():
    said = [
        ("A", math.log(0.4)),
        (" A", math.log(0.1)),
        ("(B", math.log(0.125)),
        ("The", math.log(0.2)),
    ]
    assert letter_probabilities(said, 3) == pytest.approx((0.8, 0.2, 0.0))


def test_a_letter_beyond_those_shown_is_no_letter():
    assert letter_probabilities([("A", -0.1), ("C", -3.0)], 2) == (1.0, 0.0)
    assert letter_probabilities([("A", -1.0), ("C", -0.1)], 2) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([("The", -0.01), ("A", -12.0)], False),  # "The answer is B"
        ([("The", math.log(0.45)), ("A", math.log(0.3)), ("B", math.log(0.25))], False),
        ([("A", math.log(0.49)), ("The", math.log(0.1))], False),
        ([("A", math.log(0.25)), ("B", math.log(0.25))], True),
        ([("A", math.log(0.4)), ("The", math.log(0.4)), ("B", math.log(0.2))], True),
        ([("A", -0.1), ("The", math.nan)], True),
    ],
)
def test_a_reply_that_does_not_begin_with_its_letter_has_none(said, told):
    assert (letter_probabilities(said, 3) is not None) == told


@pytest.mark.parametrize(
    "nothing", [None, [], [("A", -math.inf)], [("A", math.nan)], [("A", -9999.0)]]
)
def test_without_any_mass_there_is_no_number(nothing):
    assert letter_probabilities(nothing, 5) is None


@given(
    st.lists(
        st.tuples(st.sampled_from([*SPELLINGS, "B", "C", "The"]) | st.text(max_size=3), st.floats())
    ),
    st.integers(2, 10),
)
def test_probabilities_sum_to_one_whatever_a_server_says(said, n):
    found = letter_probabilities(said, n)
    if found is not None:
        assert len(found) == n
        assert math.isclose(sum(found), 1.0)
        assert all(0 <= value <= 1 for value in found)
        assert letter_probabilities(said[::-1], n) == found


def test_the_most_probable_and_no_one_where_two_are():
    assert most_probable((0.1, 0.7, 0.2)) == 1
    assert most_probable((0.4, 0.4, 0.2)) is None
    assert most_probable((0.5, 0.25, 0.25)) == 0
