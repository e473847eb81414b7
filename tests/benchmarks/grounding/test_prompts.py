"""The questions, word for word."""

from __future__ import annotations

import json

import pytest

from overread.benchmarks.grounding.prompts import (
    DISPLAY_NAMES,
    FINDINGS,
    MSCXR_FINDINGS,
    NORMAL,
    PHRASINGS,
    display,
    question,
)


def test_every_question_the_authors_ask(golden):
    entries = json.loads((golden / "protocol_bits" / "prompts.json").read_text("utf-8"))
    # One entry is their loader's fallback for a source it does not know: a question without one.
    asked = [entry for entry in entries if "via" not in entry]
    assert len(entries) - len(asked) == 1
    for entry in asked:
        sentence = entry.get("error_sentence")
        if sentence is None and entry.get("error_sentence_is_nan") is False:
            sentence = ""
        text = question(entry["source"], entry.get("finding"), sentence, entry["variant"])
        assert text == entry["prompt"]


def test_findings():
    assert len(FINDINGS) == 13
    assert len(MSCXR_FINDINGS) == 8
    assert set(MSCXR_FINDINGS) < set(FINDINGS)
    assert set(DISPLAY_NAMES) == {*FINDINGS, NORMAL}
    assert display("hiatal_hernia") == "hiatal hernia"
    assert PHRASINGS == ("default", "brief", "clinical")


def test_braces_in_a_sentence_are_only_braces():
    assert '"a {0} {finding} b"' in question("rexerr", None, "a {0} {finding} b", "brief")


def test_a_question_needs_something_to_ask_for():
    with pytest.raises(ValueError, match="no finding"):
        question("mimic_cxr", None)
