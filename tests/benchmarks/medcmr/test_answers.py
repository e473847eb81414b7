"""Rows of the answers table, and reading them again."""

from __future__ import annotations

import math

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.benchmark import ReaderRecord
from overread.benchmarks.medcmr.answers import (
    BY_WORDS,
    CUT_OFF,
    NO_ANSWER,
    NO_REASONING,
    answer_row,
    reread,
)
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.benchmarks.medcmr.schemas import ANSWER_COLUMNS, answer_schema
from overread.benchmarks.medcmr.trials import condition
from overread.case import Reply, Request, Traits, Trial

BY_LOGPROBS = msgspec.structs.replace(CORRECTED, letters="logprobs")
MCQ = MedCase(
    case_id="mcq-1",
    index=1,
    kind="mcq",
    question="?",
    images=("1.png",),
    options=("cat", "dog", "hen", "ox"),
    answer="B",
)
OPEN = msgspec.structs.replace(MCQ, case_id="open-1", kind="open", options=(), answer="a hen")
CASES = {case.case_id: case for case in (MCQ, OPEN)}
ANY = st.text(st.characters(exclude_categories=()), max_size=40)


def raw(reply, form="mcq", image="original", order=0, edition=CORRECTED, reason=""):
    case = OPEN if form == "open" else MCQ
    trial = Trial(case.case_id, condition(form, image, order), Request(()))
    return answer_row(trial, reply, Traits(), edition, case, reason)


def row(reply, *args, **told):
    return dict(zip(ANSWER_COLUMNS, raw(reply, *args, **told), strict=True))


def kept(*rows):
    return pl.DataFrame(rows, schema=dict(answer_schema()), orient="row")


# ---------------------------------------------------------------- letters


def test_a_letter_is_a_row():
    reply = Reply("(C)", finish="stop", seconds=1.5, tokens_out=2)
    assert row(reply, image="blank") == {
        "case": "mcq-1",
        "form": "mcq",
        "image": "blank",
        "order": 0,
        "outcome": "answered",
        "choice": "C",
        "shown": "C",
        "rung": "whole",
        "probabilities": None,
        "reasoning": None,
        "answer": None,
        "text": "(C)",
        "tokens": None,
        "logprobs": None,
        "finish": "stop",
        "seconds": 1.5,
        "tokens_out": 2,
        "reason": None,
    }


@pytest.mark.parametrize("order", range(4))
def test_the_choice_is_the_cases_letter_and_probabilities_are_in_its_order(order):
    # In order 1 the options are shown as dog, hen, ox, cat.
    said = (("A", math.log(0.5)), (" B", math.log(0.25)), ("D", math.log(0.25)))
    found = row(Reply("A", logprobs=said), order=order)
    assert (found["shown"], found["choice"]) == ("A", LETTERS[order])
    expected = [0.0] * 4
    for place, value in enumerate((0.5, 0.25, 0.0, 0.25)):
        expected[(place + order) % 4] = value
    assert found["probabilities"] == pytest.approx(expected)
    assert found["tokens"] == ["A", " B", "D"]
    quoted = row(Reply("It is a hen."), order=order)
    assert (quoted["choice"], quoted["rung"]) == ("C", "option")
    assert quoted["shown"] == LETTERS[(2 - order) % 4]


@pytest.mark.parametrize(
    ("text", "rung", "reason"),
    [
        ("/S", "none", "no letter that can be told"),
        ("", "none", "an empty reply"),
        ("A or B is the answer", "answer", "two different letters"),
        ("Answer: E", "answer", "a letter that was not shown"),
        ("I am sorry, I cannot help.", "none", "a refusal in words"),
    ],
)
def test_an_invalid_reply_is_unparsed_and_says_why(text, rung, reason):
    found = row(Reply(text))
    assert (found["outcome"], found["rung"], found["reason"]) == ("unparsed", rung, reason)
    assert (found["choice"], found["shown"], found["text"]) == (None, None, text)


def test_by_log_probabilities_the_first_token_decides():
    reply = Reply("The answer is A", logprobs=(("B", -0.2), ("A", -2.0), ("The", -3.0)))
    by_words, by_token = row(reply), row(reply, edition=BY_LOGPROBS)
    assert (by_words["choice"], by_words["rung"]) == ("A", "answer")
    assert (by_token["choice"], by_token["rung"]) == ("B", "logprobs")
    assert by_words["probabilities"] == by_token["probabilities"]
    lost = row(Reply("/S", logprobs=(("B", -0.2),)), edition=BY_LOGPROBS)
    assert (lost["outcome"], lost["choice"], lost["reason"]) == ("answered", "B", None)


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        (),
        (("The", -0.1),),
        (("A", -1.0), ("B", -1.0)),
        (("C", -math.inf),),
        (("The", -0.01), ("A", -12.0)),
    ],
)
def test_where_probabilities_decide_nothing_the_words_do_and_a_note_says_so(logprobs):
    reply = Reply("Answer: D", logprobs=logprobs)
    found = row(reply, edition=BY_LOGPROBS)
    assert (found["choice"], found["rung"], found["reason"]) == ("D", "answer", BY_WORDS)
    assert row(reply)["reason"] is None
    lost = row(Reply("/S", logprobs=logprobs), edition=BY_LOGPROBS)
    assert lost["reason"] == f"{BY_WORDS}; no letter that can be told"


# ---------------------------------------------------------------- sections


@pytest.mark.parametrize("form", ["open", "reformulated"])
def test_an_open_reply_has_sections(form):
    found = row(Reply("Reasoning: feathers\nAnswer: a hen"), form)
    assert (found["outcome"], found["reason"]) == ("answered", None)
    assert (found["reasoning"], found["answer"]) == ("feathers", "a hen")
    assert [found[name] for name in ("choice", "shown", "rung", "probabilities")] == [None] * 4


def test_an_answer_without_reasoning_is_flagged_and_what_was_said_before_is_kept():
    found = row(Reply("Answer: a hen"), "open")
    assert (found["outcome"], found["reasoning"], found["reason"]) == (
        "answered",
        None,
        NO_REASONING,
    )
    assert row(Reply("It has feathers.\nAnswer: a hen"), "open")["reasoning"] == "It has feathers."


def test_without_an_answer_section_all_of_it_is_reasoning():
    found = row(Reply("<think>Hm.</think>It is a hen."), "open")
    assert (found["outcome"], found["reason"]) == ("unparsed", NO_ANSWER)
    assert (found["reasoning"], found["answer"]) == ("It is a hen.", "")
    assert row(Reply("<think>It is"), "open")["reasoning"] == "<think>It is"


# ---------------------------------------------------------------- no answer


def test_no_reply_is_unanswered_with_its_reason():
    found = row(None, reason="the server is down")
    told = {"case", "form", "image", "order", "outcome", "reason"}
    assert (found["outcome"], found["reason"]) == ("unanswered", "the server is down")
    assert {found[name] for name in set(found) - told} == {None}


@pytest.mark.parametrize("form", ["mcq", "open"])
@pytest.mark.parametrize(
    "reply", [Reply("A", refusal="I cannot."), Reply("Answer: A", finish="content_filter")]
)
def test_a_refusal_is_no_answer_and_keeps_its_words(reply, form):
    found = row(reply, form, edition=BY_LOGPROBS)
    assert (found["outcome"], found["text"]) == ("refused", reply.text)
    assert [found[name] for name in ("choice", "rung", "reasoning", "answer")] == [None] * 4
    assert found["reason"] == (f"refusal: {reply.refusal}" if reply.refusal else None)


def test_a_reply_that_was_cut_off_says_so_before_how_it_was_read():
    assert row(Reply("A", finish="length"))["reason"] == CUT_OFF
    found = row(Reply("A mass is", finish="length"), reason="imported")
    assert found["reason"] == f"imported; {CUT_OFF}; no letter that can be told"


# ---------------------------------------------------------------- laws

TEXTS = ANY | st.sampled_from(
    ["A", "Answer: B", "It is a hen.", "/S", "", "Answer: x", "Reasoning: a\nAnswer: b", "A or B"]
)
ALTERNATIVES = st.none() | st.lists(
    st.tuples(st.sampled_from(["A", " B", "(C", "The"]) | ANY, st.floats() | st.integers(-9, 0)),
    max_size=4,
).map(tuple)
ANY_REPLY = st.builds(
    Reply,
    text=TEXTS,
    logprobs=ALTERNATIVES,
    refusal=st.none() | st.none() | ANY,
    finish=st.none() | st.sampled_from(["stop", "length"]) | ANY,
    tokens_out=st.none() | st.integers(),
    seconds=st.floats() | st.integers(0, 9),
)
ASKED = st.tuples(
    st.none() | ANY_REPLY, st.sampled_from(["mcq", "open", "reformulated"]), st.integers(0, 3), ANY
)


@settings(deadline=None)
@given(ASKED)
def test_whatever_is_said_can_be_stored(asked):
    reply, form, order, reason = asked
    frame = kept(raw(reply, form, order=order, reason=reason))
    frame.write_ipc(None).getvalue()
    assert frame["outcome"].item() in ("answered", "unparsed", "refused", "unanswered")
    assert (frame["choice"].item() is None) == (frame["shown"].item() is None)
    if form == "mcq":
        assert (frame["outcome"].item() == "answered") == (frame["choice"].item() is not None)


EDITIONS = (CORRECTED, AUTHORS, BY_LOGPROBS, msgspec.structs.replace(BY_LOGPROBS, seed=7))


@settings(deadline=None)
@given(st.lists(ASKED, max_size=5), st.sampled_from(EDITIONS), st.sampled_from(EDITIONS))
def test_reading_again_is_reading_for_the_first_time(asked, one, other):
    def frame(edition):
        rows = [
            raw(reply, form, order=order, reason=reason, edition=edition)
            for reply, form, order, reason in asked
        ]
        named = pl.Series("reader", ["r"] * len(rows), dtype=pl.String)
        return kept(*rows).insert_column(0, named)

    readers = [ReaderRecord(name="r")]
    again = reread(frame(one), CASES, readers, other)
    assert again.equals(frame(other))
    assert again.schema == frame(other).schema
