"""The frames a reply names."""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.answers import (
    NOTHING,
    Found,
    parse_lenient,
    parse_strict,
    spoken,
)
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, TASKS

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_parsing.json").read_text("utf-8")
)
PAIRS = ("edv_esv", "esv_edv")


def lenient(text, output="edv_esv", context="original", task="t1"):
    return parse_lenient(text, task, output, context)[:2]


# ---------------------------------------------------------------- strict


@pytest.mark.parametrize("number", range(len(GOLDEN["cases"])))
def test_every_golden_reply_is_read_as_the_authors_read_it(number):
    case = GOLDEN["cases"][number]
    for vocabulary, contexts in (
        ("medical", ("original", "segmented")),
        ("non_medical", ("non_medical",)),
    ):
        for (output, expected), context in product(case[vocabulary].items(), contexts):
            assert list(parse_strict(case["output"], output, context)[:2]) == expected


MOST = 2**63 - 1


def test_numbers_are_kept_whatever_their_size():
    assert parse_strict("EDV=7538123", "edv", "original") == Found(ed=7538123)
    assert parse_strict(f"EDV={2**63 - 1}", "edv", "original") == Found(ed=2**63 - 1)
    assert parse_strict(f"EDV=-{2**63}", "edv", "original") == Found(ed=-(2**63))
    for number in (2**63, -(2**63) - 1, 10**400):
        found = parse_strict(f"EDV={number}", "edv", "original")
        assert found == Found(ed=MOST if number > 0 else -MOST - 1, too_large=True)
        assert found.outside(24)
    pair = parse_strict(f"EDV=3, ESV={2**80}", "edv_esv", "original")
    assert pair == Found(ed=3, es=MOST, too_large=True)
    assert parse_strict("EDV=" + "0" * 9000 + "٧", "edv", "original") == Found(ed=7)


def test_a_number_too_large_in_the_asked_words_is_not_replaced_by_others():
    text = f"EDV=3, LARGEST_AREA_INDEX={10**30}"
    assert parse_strict(text, "edv", "non_medical") == Found(ed=MOST, too_large=True)


def test_the_numbers_outside_are_told_from_those_inside():
    assert Found(0, 23).outside(24) is False
    assert Found(0, 24).outside(24) is True
    assert Found(-1, 3).outside(24) is True
    assert Found(ed=5).outside(2) is True
    assert NOTHING.outside(24) is None
    assert Found(ed=5).outside(None) is None


@settings(deadline=None)
@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(PAIRS),
    st.sampled_from(CONTEXTS),
    st.text(" \t\n\u00a0", max_size=3),
    st.text(alphabet="xyz. 019=", max_size=20),
)
def test_what_the_grammar_says_is_found_in_any_surroundings(ed, es, output, context, blank, round_):
    names = (
        ("largest_Area_index", "SMALLEST_AREA_INDEX")
        if context == "non_medical"
        else (
            "eDV",
            "ESV",
        )
    )
    parts = [f"{names[0]}{blank}={blank}{ed}", f"{names[1]}{blank}={blank}{es}"]
    parts = parts if output == "edv_esv" else parts[::-1]
    text = round_ + f"{blank},{blank}".join(parts) + " " + round_
    assert parse_strict(text, output, context) == Found(ed, es)
    assert parse_strict(text, PAIRS[output == PAIRS[0]], context) == NOTHING
    assert parse_strict(text, "edv", context) == Found(ed=ed)
    assert parse_strict(text, "esv", context) == Found(es=es)


# ---------------------------------------------------------------- lenient

SAID = {
    "Frame: ESV=30, EDV=12.": (12, 30),
    "EDV: 12, ESV: 30": (12, 30),
    "EDV=12 ESV=30": (12, 30),
    "EDV=12; ESV=30": (12, 30),
    "EDV==12, ESV==30": (12, 30),
    "EDV=<12>, ESV=<30>": (12, 30),
    "**EDV=12**, **ESV=30**": (12, 30),
    "**EDV:** 12\n**ESV:** 30": (12, 30),
    "EDV = 12 (largest), ESV = 30": (12, 30),
    "EDV=12, and ESV=30": (12, 30),
    "LVEDV=12, LVESV=30": (12, 30),
    "EDV=+12, ESV=\N{MINUS SIGN}3": (12, -3),
    "EDV-12, ESV-30": (12, 30),
    "EDV: -1, ESV: -1": (-1, -1),
    "The EDV frame is 12 and the ESV frame is 30.": (12, 30),
    "Frame 12 is ED and frame 30 is ES": (12, 30),
    "Frame 30: ES\nFrame 12: ED": (12, 30),
    "Frame 12: ED Frame 30: ES": (12, 30),
    "Frame 12 (EDV), frame 30 (ESV)": (12, 30),
    "12 -> EDV, 30 -> ESV": (12, 30),
    "ED → 12; ES → 30": (12, 30),
    "1. EDV: 12\n2. ESV: 30": (12, 30),
    "1) EDV: 12\n2) ESV: 30": (12, 30),
    "EDV: 12 (ESV: 30)": (12, 30),
    '{"EDV": 12, "ESV": 30}': (12, 30),
    "| EDV | 12 |\n| ESV | 30 |": (12, 30),
    "End-diastole: frame 12. End-systole: frame 30.": (12, 30),
    "The end diastolic frame is at index 12; the end systolic frame is at index 30": (12, 30),
    "To find EDV and ESV, I compared all. EDV: 12; ESV: 30.": (12, 30),
    "EDV (largest Left Ventricle cavity) = 12, ESV (smallest Left Ventricle cavity) = 30": (12, 30),
    "The largest red area is in frame 5 and the smallest red area is in frame 20": (5, 20),
    "largest_area_index: 5; smallest_area_index: 20": (5, 20),
    "EDV=١٢; ESV=٣": (12, 3),
    "Of the 24 frames, EDV is 12, ESV is 30": (12, 30),
    "Frames 0-23: EDV is 12, ESV is 30": (12, 30),
    "EDV: 12 EDV: 14 ESV: 30": (12, 30),
    "<think>EDV: 1; ESV: 2</think> EDV: 12; ESV: 30": (12, 30),
    "so EDV: 1; ESV: 2 </think> EDV: 12; ESV: 30": (12, 30),
}
NOT_SAID = [
    "",
    " \n",
    "I cannot determine the frames from this video.",
    "EDV=12, ESV=None",
    "EDV=12, EDV=15",
    "EDV and ESV: 12 and 30",
    "EDV/ESV: 12/30",
    "EDV ESV 12 30",
    "EDV: 120 mL, ESV: 50 mL",
    "EDV: 12.7, ESV: 30.2",
    "EDV: 0.52 s; ESV: 0.9 s",
    "EDV: 1 s; ESV: 2 s",
    "EDV is 10-12; ESV is 30-32",
    "EDV is 10 to 12; ESV is 30 or 32",
    "EDV is not 12; ESV is not 30",
    "EDV: 12%; ESV: 30%",
    "EDV: the 12th frame; ESV: the 30th frame",
    "EDV: minus zero; ESV: minus zero",
    "12",
    "12, 30, 45",
    "12-30",
    "12 -30",
    "the volumes of 12 and 30",
    "\uff25\uff24\uff36: 12",
    "<think>EDV: 12; ESV: 30",
    "EDV:\ud800 12; ESV:\ud800 30",
]


@pytest.mark.parametrize("text", SAID)
def test_what_is_plainly_said_is_read(text):
    ed, es = SAID[text]
    for context in CONTEXTS:
        assert lenient(text, "edv_esv", context) == (ed, es)
        assert lenient(text, "esv_edv", context) == (ed, es)
        # One phase alone may already be a strict answer: a thought's, or that of a decimal.
        if not parse_strict(text, "edv", context).parsed:
            assert lenient(text, "edv", context) == (ed, None)
        if not parse_strict(text, "esv", context).parsed:
            assert lenient(text, "esv", context) == (None, es)


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_is_not_plainly_said_is_not_guessed(text):
    assert lenient(text) == (None, None)
    assert lenient(text, "esv_edv") == (None, None)


def test_bare_numbers_count_in_the_order_asked_for():
    for text in (
        "12, 30",
        "12,30",
        "[12, 30]",
        "Frames: 12 and 30.",
        "12 30",
        "12\n30",
        "**12; 30**",
    ):
        assert lenient(text, "edv_esv") == (12, 30)
        assert lenient(text, "esv_edv") == (30, 12)
        assert lenient(text, "edv") == (None, None)
    for text in ("12", " 12.", "Frame: 12.", "<12>", "index #12", "`12`"):
        assert lenient(text, "edv") == (12, None)
        assert lenient(text, "esv") == (None, 12)
        assert lenient(text, "edv_esv") == (None, None)
    assert lenient("-3, 30", "edv_esv") == (-3, 30)
    for text in ("1,200", "12.5", "12 s", "twelve", "12th", "frame 12 of 24"):
        assert lenient(text, "edv") == (None, None)


def test_in_two_frames_first_and_second_are_positions():
    assert lenient("The first frame is EDV.", "edv", task="t2") == (0, None)
    assert lenient("ESV is the second frame.", "esv", task="t2") == (None, 1)
    assert lenient("The first frame is EDV.", "edv", task="t1") == (None, None)
    assert lenient("EDV: 1 second", "edv", task="t2") == (None, None)
    assert lenient("The first frame is EDV.", "esv", task="t2") == (None, None)


def test_a_strict_answer_is_also_the_lenient_one():
    for case in GOLDEN["cases"]:
        for task, output, context in product(TASKS, FORMATS, CONTEXTS):
            strict = parse_strict(case["output"], output, context)
            if strict.parsed:
                assert parse_lenient(case["output"], task, output, context) == strict


def test_too_large_a_number_is_told_in_either_reading():
    large = Found(ed=MOST, too_large=True)
    assert parse_lenient(f"EDV: {10**30}", "t1", "edv", "original") == large
    assert parse_lenient(f"EDV={10**30}", "t1", "edv", "original") == large


PIECES = (
    "EDV ESV ED ES LVEDV end-diastole systole largest SMALLEST_AREA_INDEX frame index is and or to "
    "first second ** <think> </think> 0 1 12 -3 +5 12.7 1e9 ١٢ 12th mL 999999999999999999999"
)
MARKS = "\n\t\u00a0\ud800\x00İſé②½=:,.;()<>[]|-–→"
WORDS = st.sampled_from((*PIECES.split(), *MARKS))
TEXTS = st.one_of(
    st.text(), st.lists(WORDS).map(" ".join), st.lists(WORDS).map("".join), st.text("EDVS=,-0 ")
)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(TASKS), st.sampled_from(FORMATS), st.sampled_from(CONTEXTS))
@example("EDV=" + "9" * 5000, "t1", "edv", "original")
def test_odd_text_never_raises_and_gives_only_what_was_asked(text, task, output, context):
    strict = parse_strict(text, output, context)
    loose = parse_lenient(text, task, output, context)
    for found in (strict, loose):
        given_ = {"edv": found.ed is not None, "esv": found.es is not None}
        assert all(given_[phase] == found.parsed for phase in output.split("_"))
        assert not any(given_[phase] for phase in set(given_) - set(output.split("_")))
        assert all(n is None or -(2**63) <= n < 2**63 for n in found[:2])
        assert not found.too_large or {MOST, -MOST - 1} & set(found[:2])
    if strict.parsed:
        assert loose == strict


HUGE = {
    "names": "EDV=" * 50_000,
    "digits": "EDV=" + "7" * 200_000,
    "zeros": "EDV=" + "0" * 200_000 + "7, ESV=1",
    "blanks": "EDV" + " " * 200_000,
    "blanks after a number": "EDV=1" + " " * 200_000,
    "pairs of blanks and numbers": (" " * 400 + "1") * 500,
    "ranges": "1-" * 100_000,
    "tags": "<think>" * 30_000,
    "closed tags": "<think></think>" * 15_000,
    "brackets": "(" * 100_000,
    "labels": "frame " * 40_000,
    "commas": "EDV=1," * 40_000,
}


@pytest.mark.parametrize("kind", HUGE)
def test_huge_text_takes_time_in_proportion(kind):
    # A quadratic reading would need minutes here.
    began = time.perf_counter()
    for output in ("edv_esv", "esv"):
        parse_lenient(HUGE[kind], "t2", output, "non_medical")
    assert time.perf_counter() - began < 20


# ---------------------------------------------------------------- thinking


def test_thinking_is_left_out_and_unfinished_thinking_says_nothing():
    assert spoken("a<think>b</think>c<think>d</think>e") == "ace"
    assert spoken("b</think>c") == "c"
    assert spoken("a</think>b</think>c") == "c"
    assert spoken("a<think>b") == ""
    assert spoken("a<think>b</think>c<think>") == ""
    assert spoken("plain") == "plain"
