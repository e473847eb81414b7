"""Half of a reply, cut between sentences."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot.sentences import first_half, sentence_ends


def sentences(text):
    ends = sentence_ends(text)
    return [text[a:b].strip() for a, b in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" \n ", []),
        ("One", ["One"]),
        ("One. Two.", ["One.", "Two."]),
        ("One! Two? Three…  Four", ["One!", "Two?", "Three…", "Four"]),
        ("It is 3.5 cm wide. So B.", ["It is 3.5 cm wide.", "So B."]),
        ("1. A CT.\n2. A mass, e.g. a cyst.", ["1. A CT.", "2. A mass, e.g. a cyst."]),
        ("**Step 1.** Look.\n\n- **A. Liver**\n", ["**Step 1.** Look.", "- **A. Liver**"]),
        ("Options: A. Liver or B. Spleen.", ["Options: A. Liver or B. Spleen."]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("肝脏。脾脏。", ["肝脏。", "脾脏。"]),
        ("a\r\nb\rc", ["a", "b", "c"]),
        ("It is A.\nBecause.", ["It is A.", "Because."]),
        ("A tumour? No. A cyst.", ["A tumour?", "No.", "A cyst."]),
        ("Hm... So.", ["Hm...", "So."]),
    ],
)
def test_sentences(text, parts):
    assert sentences(text) == parts


def test_half_is_the_smaller_half_and_none_of_one():
    assert first_half("One. Two. Three. Four.") == "One. Two."
    assert first_half("One. Two. Three.") == "One."
    assert first_half("One. Two.") == "One."
    assert first_half("One.") is None
    assert first_half("") is None


@given(st.text(st.sampled_from("ab1A.!? \n\r\t。)\"'*e.g"), max_size=80) | st.text(max_size=80))
def test_it_is_what_the_text_begins_with(text):
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert all(part for part in sentences(text))
    assert bool(ends) == bool(text.strip())
    assert not ends or ends[-1] == len(text)
    half = first_half(text)
    if half is None:
        assert len(ends) < 2
    else:
        assert text.startswith(half)
        assert 0 < len(half.strip()) < len(text.strip())
        assert len(sentence_ends(half)) == len(ends) // 2


@pytest.mark.parametrize("run", [" ", "\t", ".", "*", ". ", ".*", "a ", "。", '."', "\n"])
def test_a_long_run_of_anything_is_read_at_once(run):
    """A model that repeats itself to its token limit must not hang a run."""
    text = "It is. " + run * 200_000 + " So."
    started = time.perf_counter()
    assert first_half(text) is not None
    assert time.perf_counter() - started < 5
