"""What a reply means: the authors' ladder to the letter, and the sound one on hard replies."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.answers import (
    Answer,
    answer_of,
    p_yes,
    parse,
)
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED
from overread.benchmarks.tables import frame_of
from overread.case import Reply, Request, Traits, Trial

TRIAL = Trial("c", {"image": "swap", "phrasing": "default", "px": 224}, Request(()))


def test_every_reply_of_the_authors_parser(golden):
    entries = json.loads((golden / "parser" / "parser.json").read_text("utf-8"))
    for entry in entries:
        assert parse(entry["raw"], False, AUTHORS).answer == entry["parsed_non_reasoning"], entry
        assert parse(entry["raw"], True, AUTHORS).answer == entry["parsed_reasoning"], entry


def test_every_confidence_of_the_authors(golden):
    entries = json.loads((golden / "parser" / "confidence_api.json").read_text("utf-8"))
    for entry in entries:
        found, _ = p_yes(entry["first_token_top_logprobs"], entry["parsed_answer"], AUTHORS)
        assert found == entry["confidence_saved_round6"]


def test_the_sound_parser_changes_only_what_it_should(golden):
    """[D10] Whole words instead of parts of words, and thinking removed for everyone."""
    entries = json.loads((golden / "parser" / "parser.json").read_text("utf-8"))
    for entry in entries:
        raw = entry["raw"]
        ours, theirs = parse(raw, True, CORRECTED), parse(raw, True, AUTHORS)
        if ours.answer != theirs.answer:
            assert theirs.rung in ("substring", "none") or "<think>" in raw, entry


# (reply, answer of a plain reader, answer of a reasoning reader)
HARD = [
    ("Yes", 1, 1),
    ("no", 0, 0),
    ("YES.", 1, 1),
    ("No!!", 0, 0),
    ("Yes, there is a small left effusion.", 1, 1),
    ("No evidence of pneumothorax.", 0, 0),
    ("Present", 1, 1),
    ("Absent.", 0, 0),
    ("Negative", 0, 0),
    ("Positive;", 1, 1),
    ("True", 1, 1),
    ("False.", 0, 0),
    ("Not present", 0, 0),
    ("Present? No.", 1, 1),
    # words that only contain a word
    ("I don't know", -1, -1),
    ("I do not know", -1, -1),
    ("Unknown", -1, -1),
    ("Cannot be determined", -1, -1),
    ("Normal chest radiograph.", -1, -1),
    ("The study is normal", -1, -1),
    ("Abnormal", -1, -1),
    ("Nodule in the right upper lobe", -1, -1),
    ("There is a nodule", -1, -1),
    ("Diagnosis: pneumonia", -1, -1),
    ("Noted.", -1, -1),
    ("None", -1, -1),
    ("Nope", -1, -1),
    ("Yep", -1, -1),
    ("Yesterday's film showed it", -1, -1),
    ("Eyes are seen", -1, -1),
    ("Y", -1, -1),
    ("N", -1, -1),
    ("This is an abnormal study, yes", 1, 1),
    ("The image shows a nodule, so yes", 1, 1),
    ("The lungs are normal: no", 0, 0),
    # markup and quotes
    ("**Yes**", 1, 1),
    ("**No**.", 0, 0),
    ("_Yes_", 1, 1),
    ("`no`", 0, 0),
    ('"No"', 0, 0),
    ("- Yes", 1, 1),
    ("> No", 0, 0),
    ("<answer>Yes</answer>", 1, 1),
    ("\\boxed{No}", 0, 0),
    ('{"answer": "Yes"}', 1, 1),
    ("Answer: No", 0, 0),
    ("Final answer: Yes.", 1, 1),
    ("The answer is yes", 1, 1),
    # both, or neither
    ("Yes or No", 1, 1),
    ("Either yes or no", -1, -1),
    ("Yes/No", -1, -1),
    ("It could be yes, but also no", -1, -1),
    ("", -1, -1),
    ("   \n\t ", -1, -1),
    ("...", -1, -1),
    ("0", -1, -1),
    ("Sorry, the image is unavailable.", -1, -1),
    # the last line counts for reasoning readers only
    ("Yes\nNo", 1, 0),
    ("No, wait.\nYes", 0, 1),
    ("The opacity is visible.\n\nYes.\n", 1, 1),
    ("Yes\u2028No", 1, 0),
    # beyond sixty characters nothing is looked for
    ("x" * 56 + " yes", 1, 1),
    ("x" * 57 + " yes", -1, -1),
    ("x" * 57 + " no", 0, 0),
    ("x" * 57 + " nodule", -1, -1),
    ("x" * 57 + "yes", -1, -1),
    # thinking
    ("<think>The heart looks normal, so no.</think>Yes", 1, 1),
    ("<think>yes yes yes</think>\n\nNo", 0, 0),
    ("<think>yes</think>", -1, -1),
    ("<think>It is there, so Yes", -1, -1),
    ("Yes <think> or is it", -1, -1),
    ("<think>a</think>Yes<think>b", -1, -1),
    ("The shadow argues for no. </think>\n\nYes", 1, 1),
    ("a</think>b</think>No", 0, 0),
    ("<think>x</think>No<think>y</think>", 0, 0),
    ("<THINK>no</THINK> yes", -1, -1),
    # tokenisers' own spaces, and other alphabets
    ("ĠYes", 1, 1),
    ("ĊĊNoĊ", 0, 0),
    ("\xa0Yes\xa0", 1, 1),
    ("Ｙｅｓ", -1, -1),
    ("Да", -1, -1),
    ("N\u200bo", -1, -1),
    ("Yes\u200b", 1, 1),
    ("No—clearly", 0, 0),
    ("Yes,No", -1, -1),
    ("nó", -1, -1),
]


@pytest.mark.parametrize(("text", "plain", "reasoning"), HARD, ids=[repr(h[0])[:40] for h in HARD])
def test_hard_replies(text, plain, reasoning):
    assert parse(text, False, CORRECTED).answer == plain
    assert parse(text, True, CORRECTED).answer == reasoning


def test_the_table_of_hard_replies_is_long_enough():
    assert len(HARD) >= 60


@pytest.mark.parametrize(
    ("text", "reasoning", "rules", "rung"),
    [
        ("Hm\nYes", True, CORRECTED, "last_line"),
        ("Yes", True, AUTHORS, "last_line"),
        ("Yes", False, AUTHORS, "first_token"),
        ("I say yes", False, CORRECTED, "words"),
        ("I say yes", False, AUTHORS, "substring"),
        ("Perhaps", False, CORRECTED, "none"),
    ],
)
def test_the_deciding_rung_is_recorded(text, reasoning, rules, rung):
    assert parse(text, reasoning, rules).rung == rung


@given(st.text(), st.booleans(), st.sampled_from([AUTHORS, CORRECTED]))
def test_no_text_breaks_the_parser(text, reasoning, rules):
    answer, rung = parse(text, reasoning, rules)
    assert answer in (-1, 0, 1)
    assert rung in ("last_line", "first_token", "substring", "words", "none")
    assert (rung == "none") == (answer == -1)


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "yes", "No", " ", "\n", ".", "Ġ", "Ċ", "\ud800"]),
        max_size=12,
    ).map("".join),
    st.booleans(),
)
def test_no_mixture_of_tags_breaks_the_parser(text, reasoning):
    for rules in (AUTHORS, CORRECTED):
        assert parse(text, reasoning, rules).answer in (-1, 0, 1)
    if "<think>" in text and text.rfind("<think>") > text.rfind("</think>"):
        assert parse(text, reasoning, CORRECTED).answer == -1


@pytest.mark.parametrize("piece", ["<think>", "</think>", "yes ", "no", "\n", "Ġ", " ", "a\u2028"])
def test_a_megabyte_is_read_at_once(piece):
    text = piece * (1_000_000 // len(piece))
    started = time.perf_counter()
    for rules in (AUTHORS, CORRECTED):
        for reasoning in (False, True):
            parse(text, reasoning, rules)
    assert time.perf_counter() - started < 5


# ---------------------------------------------------------------- confidence


def test_confidence_is_null_with_a_reason_where_nothing_was_said():
    """[D9] `corrected` invents no probability."""
    assert p_yes(None, 1, CORRECTED) == (None, "no_logprobs")
    assert p_yes([("<think>", -0.1)], 1, CORRECTED) == (None, "no_yes_no_mass")
    assert p_yes([], 0, CORRECTED) == (None, "no_yes_no_mass")
    assert p_yes(None, 1, AUTHORS) == (1.0, "no_logprobs")
    assert p_yes(None, -1, AUTHORS) == (0.5, "no_logprobs")
    assert p_yes([("The", -0.1)], 1, AUTHORS) == (0.0, "no_yes_no_mass")


def test_confidence_is_the_share_of_yes():
    found, reason = p_yes([("Yes", math.log(0.6)), (" no", math.log(0.2))], 1, CORRECTED)
    assert found == pytest.approx(0.75)
    assert reason is None
    assert p_yes([("Yes", -30.0), ("No", -31.0)], 1, CORRECTED)[0] == pytest.approx(0.7310586)


@given(
    st.lists(st.tuples(st.sampled_from(["Yes", " No", "yes", "The", ""]), st.floats()), max_size=6),
    st.sampled_from([AUTHORS, CORRECTED]),
)
def test_no_number_breaks_the_confidence(logprobs, rules):
    found, reason = p_yes(logprobs, 1, rules)
    assert found is None or 0 <= found <= 1
    assert found is not None or reason is not None


# ---------------------------------------------------------------- rows


def row(reply, rules=CORRECTED, reasoning=False, reason=""):
    made = answer_of(TRIAL, reply, Traits(reasoning=reasoning), rules, reason)
    # Every row must be storable as it is.
    return frame_of(Answer, [made]).to_dicts()[0]


def test_an_answered_row():
    reply = Reply("Yes", logprobs=(("Yes", -0.1), ("No", -2.4)), reasoning="because")
    found = row(reply)
    assert (found["case"], found["image"], found["px"]) == ("c", "swap", 224)
    assert (found["outcome"], found["answer"], found["rung"]) == ("answered", 1, "first_token")
    assert found["tokens"] == ["Yes", "No"]
    assert found["logprobs"] == [-0.1, -2.4]
    assert (found["text"], found["reasoning"]) == ("Yes", "because")
    assert not found["recorded"]
    assert found["note"] is None


def test_five_outcomes_are_never_mixed():
    """[D28] An error is no answer, a refusal is no No."""
    assert row(Reply("Perhaps"))["outcome"] == "unparsed"
    assert row(Reply("Perhaps"))["answer"] is None
    refused = row(Reply("No, I cannot help.", refusal="policy"))
    assert (refused["outcome"], refused["answer"], refused["refused"]) == ("refused", None, True)
    assert refused["note"] == "refusal: policy"
    assert row(Reply("No", finish="content_filter"))["outcome"] == "refused"
    gone = row(None, reason="timed out")
    assert (gone["outcome"], gone["text"], gone["note"]) == ("unanswered", None, "timed out")
    assert gone["p_yes"] is None


def test_the_authors_know_no_refusals():
    found = row(Reply("No, I cannot help.", refusal="policy"), AUTHORS)
    assert (found["outcome"], found["answer"], found["refused"]) == ("answered", 0, True)
    assert row(None, AUTHORS)["p_yes"] == 0.5
    apart = BOOK.edition("authors", {"failures": "apart"})
    assert row(Reply("No", refusal="policy"), apart)["outcome"] == "refused"


def test_a_cut_reply_is_noted():
    assert row(Reply("<think>well", finish="length"))["note"] == "cut off at the token limit"


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_stored(text, token, reason):
    found = row(Reply(text, logprobs=((token, -1.0),), reasoning=text, refusal=reason), AUTHORS)
    assert isinstance(found["text"], str)
    row(None, reason=reason)


def test_half_characters_are_replaced():
    assert row(Reply("Yes \ud800"))["text"] == "Yes ?"
