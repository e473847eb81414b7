"""Sections of an open reply, rows of the answers table, and reading them again."""

from __future__ import annotations

import math
from time import process_time

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.answers import (
    BY_WORDS,
    NO_ANSWER,
    NO_REASONING,
    answer_of,
    read_sections,
    reread,
)
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.benchmarks.medcmr.trials import condition
from overread.benchmarks.tables import CUT_OFF, cells_of
from overread.case import Reply, Request, Trial
from support.med_tables import answer_schema

# ---------------------------------------------------------------- sections
# The sections of an open reply.

PLAIN = ("round and dense", "a nodule")


@pytest.mark.parametrize(
    "text",
    [
        "Reasoning: round and dense\nAnswer: a nodule",
        "REASONING: round and dense\n\nANSWER: a nodule\n",
        "reasoning : round and dense\r\nanswer : a nodule",
        "**Reasoning:** round and dense\n**Answer:** a nodule",
        "**Reasoning**: round and dense\n**Answer**: a nodule",
        "**Reasoning: round and dense**\n**Answer: a nodule**",
        "*Reasoning:* round and dense\n_Answer:_ a nodule",
        "## Reasoning\nround and dense\n\n## Answer\na nodule",
        "### **Reasoning**\n\nround and dense\n\n### Final Answer:\n\na nodule",
        "**Reasoning**\nround and dense\n**Final answer**\n**a nodule**",
        "- Reasoning: round and dense\n- Answer: a nodule",
        "1. Reasoning: round and dense\n2. Answer: a nodule",
        "> Reasoning: round and dense\n> Answer: a nodule",
        "Reasoning：round and dense\nAnswer：a nodule",
        "Reasoning process: round and dense\nThe answer: a nodule",
        "<think>Answer: a cyst</think>\nReasoning: round and dense\nAnswer: a nodule",
        "Answer: a cyst</think>Reasoning: round and dense\nAnswer: a nodule",
        "Sure.\n\nReasoning: round and dense\nAnswer: a nodule",
        "Answer: a cyst\nReasoning: round and dense\nAnswer: a nodule",
        "Answer: a nodule\nReasoning: round and dense",
        "Reasoning: round and dense\nAnswer: a nodule\nAnswer:",
        "**Reasoning:** round and dense **Answer:** a nodule",
        "**Reasoning**: round and dense **Final answer**: a nodule",
        "Reasoning: round and dense _Answer:_ a nodule",
        "Reasoning: round and dense\n<answer>a nodule</answer>",
        "Reasoning: round and dense <answer>a nodule</answer> I hope this helps.",
        "<reasoning>round and dense</reasoning><ANSWER>\na nodule\n</ANSWER>",
        "Reasoning: round and dense\nAnswer: <answer>a nodule</answer>",
        "<answer>\nAnswer: a nodule\n</answer>\nReasoning: round and dense",
    ],
)
def test_both_sections(text):
    assert read_sections(text)[:2] == PLAIN


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Answer: a nodule", None, "a nodule"),
        ("It is round.\nAnswer: a nodule", None, "a nodule"),
        ("Reasoning: it is round", "it is round", None),
        ("Reasoning: the Answer: lies here", "the Answer: lies here", None),
        ("Reasoning: my answer is\nanswers to follow", "my answer is\nanswers to follow", None),
        ("Reasoning: so the\nanswer\nis here", "so the\nanswer\nis here", None),
        ("Reasoning: it is round. Answer: a nodule", "it is round.", "a nodule"),
        ("Reasoning: it is round! The answer: a nodule", "it is round!", "a nodule"),
        ('Reasoning: it is "round." **Answer**: a nodule', 'it is "round."', "a nodule"),
        ("Reasoning: 很圆。Answer：结节", "很圆。", "结节"),
        ("It is round. Answer: a nodule", None, "a nodule"),
        ("Reasoning: so. Answer: x. Answer: y", "so. Answer: x.", "y"),
        ("Round. Answer: x\nAnswer: y", None, "y"),
        ("<answer>a nodule</answer>", None, "a nodule"),
        ("<answer>a nodule", None, "a nodule"),
        ("Reasoning: then the answer: a nodule", "then the answer: a nodule", None),
        ("Reasoning: e.g. answer: x", "e.g. answer: x", None),
        ("Reasoning: a **round** answer: x", "a **round** answer: x", None),
        ("Reasoning: it is round. Answers: many", "it is round. Answers: many", None),
        ("a nodule", None, None),
        ("", None, None),
        ("Answer:", None, ""),
        ("Reasoning:\nAnswer: x", "", "x"),
        ("<think>Answer: a cyst", None, None),
        ("Answer: a cyst\n<think>or", None, None),
        ("Reasoning: a\nb\n\nc\nAnswer: x\ny", "a\nb\n\nc", "x\ny"),
        ("Answer: one\nAnswer: two\nAnswer: three", None, "three"),
        ("**Answer:** the *left* lobe", None, "the *left* lobe"),
    ],
)
def test_what_is_missing_and_what_is_no_section(text, reasoning, answer):
    assert read_sections(text)[:2] == (reasoning, answer)


WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9).filter(
    lambda word: word.lower() not in ("reasoning", "answer")
)
LINES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(LINES, LINES, st.sampled_from(["{}:", "**{}:**", "## {}\n", "**{}**:"]))
def test_whatever_is_said_comes_back(reasoning, answer, form):
    text = f"{form.format('Reasoning')} {reasoning}\n{form.format('Answer')} {answer}"
    assert read_sections(text)[:2] == (reasoning, answer)


def test_words_before_the_first_name_are_kept_apart():
    assert read_sections("It is round.\nAnswer: a nodule").lead == "It is round."
    assert read_sections("Reasoning: round\nAnswer: a nodule").lead == ""
    assert read_sections("<think>Hm.</think>It is round.").lead == "It is round."


@given(st.text(st.characters(exclude_categories=())))
def test_never_raises(text):
    read_sections(text)
    read_sections(f"Answer:{text}\nReasoning{text}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "*",
        " ",
        "#",
        "Answer",
        "Answer:",
        "Answer:\n",
        "\n",
        "- ",
        "Answer *",
        "1. ",
        "<answer>",
        "</answer>",
        ". Answer",
        ". Answer:",
        "**Answer:",
        ".   ",
        "**",
        ".'",
    ],
)
def test_time_is_in_proportion_to_the_text(piece):
    def seconds(size: int) -> float:
        text, best = piece * (size // len(piece)) + "§", 9.0
        for _ in range(3):
            begun = process_time()
            read_sections(text)
            best = min(best, process_time() - begun)
        return best

    assert seconds(64_000) < 80 * max(seconds(4_000), 2e-4)


# ---------------------------------------------------------------- answers
# Rows of the answers table, and reading them again.

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
    return cells_of(answer_of(trial, reply, edition, case, reason))


def row(reply, *args, **told):
    return dict(zip(answer_schema(), raw(reply, *args, **told), strict=True))


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
            raw(reply, form, order=order, reason=reason if reply is None else "", edition=edition)
            for reply, form, order, reason in asked
        ]
        named = pl.Series("reader", ["r"] * len(rows), dtype=pl.String)
        return kept(*rows).insert_column(0, named)

    again = reread(frame(one), CASES, other)
    assert again.equals(frame(other))
    assert again.schema == frame(other).schema
