"""Editions and settings of the M3CoT benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.m3cot.edition import (
    AUTHORS,
    BOOK,
    CORRECTED,
    Edition,
    Options,
)
from overread.case import BadInput


def test_every_rule_and_every_option_can_be_set():
    assert set(Edition.__struct_fields__) - {"name"} == set(BOOK.rules)
    given = {"modes": "cot", "images": "original,swap", "follow": "truncated", "px": "512"}
    given |= {"max_tokens": "128", "temperature": "0.7", "timing": "9", "checks": "3"}
    given |= {"variants": "2", "rubrics": "w", "root": "r", "people": "p"}
    assert set(given) == set(Options.__struct_fields__)
    assert set(given) - BOOK.shows == {"people"}
    found, options = BOOK.settings("corrected", given)
    assert found == CORRECTED
    assert options == Options(
        modes=("cot",),
        images=("original", "swap"),
        follow=("truncated",),
        px=512,
        max_tokens=128,
        temperature=0.7,
        timing=9,
        checks=3,
        variants=2,
        rubrics=str(Path("w").absolute()),
        root=str(Path("r").absolute()),
        people=str(Path("p").absolute()),
    )


@pytest.mark.parametrize("rule", BOOK.rules)
def test_the_other_editions_value_can_be_set_and_shows_in_the_label(rule):
    for this, other in ((CORRECTED, AUTHORS), (AUTHORS, CORRECTED)):
        word = str(getattr(other, rule))
        found = BOOK.edition(this.name, {rule: word})
        assert getattr(found, rule) == getattr(other, rule)
        same = getattr(this, rule) == getattr(other, rule)
        assert found.label == (this.name if same else f"{this.name}+{rule}={word}")


def test_the_label_lists_changes_in_a_fixed_order():
    words = {"seed": "3", "match": "truthy"}
    found, _ = BOOK.settings("corrected", words)
    assert found.label == "corrected+match=truthy+seed=3"
    assert found == BOOK.settings("corrected", dict(reversed(words.items())))[0]


def test_without_words_the_paper_is_asked():
    for name, standard in (("authors", AUTHORS), ("corrected", CORRECTED)):
        assert BOOK.settings(name) == (standard, Options())
        assert standard.label == name
    options = Options()
    assert (options.modes, options.images, options.follow) == (("direct", "cot"), ("original",), ())
    assert (options.px, options.max_tokens, options.temperature) == (768, 3000, 0.1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"modes": "fast"}, "modes is one or more of direct, cot"),
        ({"images": "black"}, "images is one or more of original, blank, swap"),
        ({"follow": "both"}, "follow is one or more of truncated, answer_first"),
        ({"px": "8"}, "px is a whole number from 16"),
        ({"temperature": "3"}, "temperature is a number from 0 to 2"),
        ({"window": "fixed"}, 'm3cot has no "window"; it has options, denominator'),
        ({"follow": "truncated", "modes": "direct"}, "Add cot to modes"),
        ({"follow": "truncated", "images": "blank"}, "original to images"),
        ({"variants": "21"}, "variants are made of the items of checks, here 20"),
        ({"variants": "1", "checks": "0"}, "or more checks"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, told):
    with pytest.raises(BadInput) as caught:
        BOOK.settings("corrected", words)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_edition_lists_the_known_ones():
    with pytest.raises(BadInput, match="the editions are corrected, authors"):
        BOOK.settings("published")
