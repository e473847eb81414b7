"""Which option a reply names, by its words and by its first token."""

from __future__ import annotations

import math
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.letter_parser import (
    LETTERS,
    REASONS,
    RUNGS,
    Choice,
    letter_probabilities,
    most_probable,
    read_choice,
)
from support.hard_replies import HARD_REPLIES, OPTIONS

# ---------------------------------------------------------------- choice
# Which option a reply names: a table of hard replies, and laws that hold for every reply.

# Replies made of the very things that the ladder looks for.
PIECES = [
    *"ABCDEFabi ()[]{}*_.:,;?!\n-/&$\\'\"",
    *("Answer:", "the answer is", "option", "not", " or ", " and ", "**", "\\boxed{", "\\text{"),
    *(
        "答案",
        "是",
        "（Ａ）",
        "【",
        "选",
        "<think>",
        "</think>",
        "<answer>",
        "/S",
        "is correct",
        " is ",
    ),
    *("pneumonia", "Pleural effusion", "no ", "sorry", "E. coli", "Ġ", "\u200b", "К", "\ud800"),
]
REPLIES = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(
    st.characters(exclude_categories=()), max_size=60
)
SHOWN = st.lists(
    st.sampled_from([*OPTIONS, "E. coli", "no pneumonia", "A", "", "12", "Yes", "肺炎"])
    | st.text(),
    min_size=2,
    max_size=len(LETTERS),
)


@pytest.mark.parametrize(("reply", "letter", "rung", "options"), HARD_REPLIES)
def test_hard_replies(reply, letter, rung, options):
    found = read_choice(reply, options)
    assert (found.letter, found.rung) == (letter, rung)
    assert (found.reason == "") == (letter is not None)


def test_the_table_is_long_and_has_no_row_twice():
    seen = [(reply, tuple(options)) for reply, _, _, options in HARD_REPLIES]
    assert len(set(seen)) == len(seen) >= 100
    assert {rung for _, _, rung, _ in HARD_REPLIES} == set(RUNGS)


def test_reasons_say_why():
    reasons = {
        "": "an empty reply",
        "<think>B": "the thinking never ended",
        "Sorry, I cannot help with that.": "a refusal in words",
        "A mass is seen": "no letter that can be told",
        "Answer: A or B": "two different letters",
        "Answer: F": "a letter that was not shown",
    }
    assert {text: read_choice(text, OPTIONS).reason for text in reasons} == reasons
    assert set(reasons.values()) == set(REASONS)


@given(REPLIES, SHOWN)
def test_never_raises_and_never_names_what_was_not_shown(reply, options):
    found = read_choice(reply, options)
    assert found.letter is None or found.letter in LETTERS[: len(options)]
    assert found.rung in RUNGS
    assert found.reason in ("", *REASONS)
    assert (found.reason == "") == (found.letter is not None)


@given(st.integers(2, len(LETTERS)), st.data())
def test_a_letter_alone_is_read_as_it(n, data):
    place = data.draw(st.integers(0, n - 1))
    letter = LETTERS[place]
    options = data.draw(st.lists(st.sampled_from(OPTIONS), min_size=n, max_size=n))
    form = data.draw(st.sampled_from(["{}", "({})", "{}.", "**{}**", " {}\n", "Answer: {}"]))
    assert read_choice(form.format(letter), options).letter == letter


@given(st.text().filter(lambda trace: "think" not in trace.lower()), REPLIES)
def test_a_trace_before_the_reply_changes_nothing(trace, reply):
    assert read_choice(f"<think>{trace}</think>{reply}", OPTIONS) == read_choice(reply, OPTIONS)


@given(st.permutations(range(5)), st.sampled_from(range(5)), st.data())
def test_the_option_named_does_not_depend_on_the_order(order, wanted, data):
    shown = [OPTIONS[place] for place in order]
    letter, text = LETTERS[shown.index(OPTIONS[wanted])], OPTIONS[wanted]
    forms = ["{l}", "{t}", "{l}) {t}", "Answer: {l}. {t}", "It is {t}.", "\\boxed{{{l}}}"]
    reply = data.draw(st.sampled_from(forms)).format(l=letter, t=text)
    found = read_choice(reply, shown)
    assert found.letter is not None
    assert shown[LETTERS.index(found.letter)] == text


HOSTILE = [
    "A ", "Answer: ", "answer" + " " * 50, "**A", "**A   ", "**A.**", "(A", "A,", "A, ", "<think>",
    "</think>", "\\boxed{", "\\text{", "option ", "*", "_", " ", "\n", "A\n", "A)\n", "'", '"', "not ",
    "no pneumonia ", "pneumonia ", "is ", "答案", "选", "<|", "-", "A and ", "A is ", "the ", "A or B ",
    "answer:" , "Answer: A,", "(", "A   is   ", "cannot ", "non-", "E. ", "final " ,
    "A.", "A. ", "(A)", "(A) ", "Answer: A.", "**A.** ", "A、", "\\text{A}", "<b>A</b>", "the option ",
    "<|channel|>final<|message|>",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_in_proportion_to_the_text(piece):
    def seconds(size: int) -> float:
        # Ended by something that none of the rungs can use, so that all are tried.
        text = f"option{piece * (size // len(piece))}§"
        best = 9.0
        for _ in range(3):
            begun = process_time()
            read_choice(text, OPTIONS)
            best = min(best, process_time() - begun)
        return best

    # Sixteen times the text; quadratic time would be 256 times as long.
    assert seconds(32_000) < 80 * max(seconds(2_000), 2e-4)


def test_a_long_reply_is_read_at_both_ends():
    filler = "The lung is dense. " * 10_000
    assert read_choice(f"{filler}\nAnswer: B", OPTIONS) == Choice("B", "answer")
    assert read_choice(f"C) Pneumothorax. {filler}", OPTIONS) == Choice("C", "opening")


# ---------------------------------------------------------------- logprobs
# The options' probabilities by the first token.

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
