"""Editions and settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.heartbeat.edition import (
    AUTHORS,
    BOOK,
    CONTEXTS,
    CORRECTED,
    FORMATS,
    TASKS,
    Edition,
    Options,
)
from overread.case import BadInput


def test_every_rule_can_be_set():
    assert set(Edition.__struct_fields__) - {"name"} == set(BOOK.rules)


@pytest.mark.parametrize("rule", BOOK.rules)
def test_the_other_editions_value_can_be_set_and_shows_in_the_label(rule):
    for this, other in ((CORRECTED, AUTHORS), (AUTHORS, CORRECTED)):
        word = str(getattr(other, rule))
        found = BOOK.edition(this.name, {rule: word})
        assert getattr(found, rule) == getattr(other, rule)
        same = getattr(this, rule) == getattr(other, rule)
        assert found.label == (this.name if same else f"{this.name}+{rule}={word}")


def test_the_label_lists_changes_in_a_fixed_order():
    words = {"seed": "3", "window": "two_thirds"}
    found, _ = BOOK.settings("corrected", words)
    assert found.label == "corrected+window=two_thirds+seed=3"
    assert found == BOOK.settings("corrected", dict(reversed(words.items())))[0]


def test_without_words_everything_is_asked_as_published():
    for name, standard in (("authors", AUTHORS), ("corrected", CORRECTED)):
        found, options = BOOK.settings(name)
        assert (found, options) == (standard, Options())
        assert found.label == name
    options = Options()
    assert (options.tasks, options.contexts, options.formats) == (TASKS, CONTEXTS, FORMATS)
    assert options.seeds == tuple(range(2020, 2030))
    assert (options.passes, options.frames, options.videos) == (3, 30, 100)


@pytest.mark.parametrize(
    ("word", "field", "value"),
    [
        ("tasks=t2", "tasks", ("t2",)),
        ("contexts=non_medical, original", "contexts", ("original", "non_medical")),
        ("formats=esv,edv_esv", "formats", ("edv_esv", "esv")),
        ("frames=4", "frames", 4),
        ("frames=512", "frames", 512),
        ("reach=2", "reach", 2.0),
        ("seeds=2020-2029", "seeds", tuple(range(2020, 2030))),
        ("seeds=7", "seeds", (7,)),
        ("seeds=5, 1,3 - 4", "seeds", (1, 3, 4, 5)),
        ("seeds=999999", "seeds", (999_999,)),
        ("passes=1", "passes", 1),
        ("family=interleave", "family", "interleave"),
        ("family=qwen", "family", "structured"),
        ("videos=12", "videos", 12),
        ("split=TEST", "split", "TEST"),
        ("split=all", "split", None),
        ("root=clips", "root", str(Path("clips").absolute())),
    ],
)
def test_an_option_is_read_and_leaves_the_label(word, field, value):
    key, _, text = word.partition("=")
    found, options = BOOK.settings("corrected", {key: text})
    assert getattr(options, field) == value
    assert found.label == "corrected"
    others = [name for name in Options.__struct_fields__ if name != field]
    assert all(getattr(options, name) == getattr(Options(), name) for name in others)


@pytest.mark.parametrize(
    "word",
    [
        "tasks=t3",
        "tasks=",
        "tasks=t1,t1",
        "contexts=original,",
        "formats=edv esv",
        "frames=3",
        "frames=513",
        "reach=0.5",
        "reach=nan",
        "frames=-4",
        "frames=٢٤",
        "frames=" + "9" * 5000,
        "seeds=",
        "seeds=2029-2020",
        "seeds=-1",
        "seeds=1-2-3",
        "seeds=1,1",
        "seeds=1-5,3",
        "seeds=0-1000",
        "seeds=1000000",
        "seeds=x",
        "passes=0",
        "passes=1001",
        "family=llama",
        "videos=0",
        "split=",
        "root=",
        "boot=99",
        "seed=-1",
        "window=third",
        "wording=mine",
        "colour=red",
    ],
)
def test_a_bad_word_is_one_line_that_names_it(word):
    key, _, text = word.partition("=")
    with pytest.raises(BadInput) as raised:
        BOOK.settings("corrected", {key: text})
    said = str(raised.value)
    assert said.startswith(f"--set {word}: ")
    assert "\n" not in said


def test_an_unknown_word_lists_the_known_ones():
    with pytest.raises(BadInput, match='heartbeat has no "px"; it has window, .*seeds'):
        BOOK.settings("corrected", {"px": "224"})
    with pytest.raises(BadInput, match='edition is "x"; the editions are corrected, authors'):
        BOOK.settings("x")


def test_what_readers_are_shown_is_every_setting_but_those_that_judge():
    judging = {"aggregation", "unparsed_t2", "thinking", "beat", "observers", "boot", "seed"}
    assert {*BOOK.rules, *Options.__struct_fields__} - BOOK.shows == {*judging, "specialist"}
