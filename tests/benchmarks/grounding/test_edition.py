"""Editions and settings."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.grounding.conditions import PAPER as CONDITIONS
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED, Edition
from overread.case import BadInput


def test_every_rule_can_be_set():
    fields = set(Edition.__struct_fields__) - {"name"}
    assert fields == set(BOOK.rules)


@pytest.mark.parametrize("rule", BOOK.rules)
def test_the_other_editions_value_can_be_set_and_shows_in_the_label(rule):
    for this, other in ((CORRECTED, AUTHORS), (AUTHORS, CORRECTED)):
        word = str(getattr(other, rule))
        found = BOOK.edition(this.name, {rule: word})
        assert getattr(found, rule) == getattr(other, rule)
        same = getattr(this, rule) == getattr(other, rule)
        assert found.label == (this.name if same else f"{this.name}+{rule}={word}")


def test_the_label_lists_changes_in_a_fixed_order():
    one = BOOK.edition("corrected", {"masks": "closed", "normals": "yes"})
    other = BOOK.edition("corrected", {"normals": "yes", "masks": "closed"})
    assert one == other
    assert one.label == "corrected+normals=yes+masks=closed"
    assert BOOK.edition("corrected", {"normals": "no"}).label == "corrected"


def test_editions_are_frozen():
    with pytest.raises(AttributeError):
        CORRECTED.parser = 1
    assert msgspec.structs.replace(CORRECTED, parser=1).label == "corrected+parser=1"


def test_options_do_not_change_the_label(tmp_path):
    rules, options = BOOK.settings(
        "authors",
        {"px": "512", "phrasing": "brief", "conditions": "swap,original", "root": str(tmp_path)},
    )
    assert rules.label == "authors"
    assert (options.px, options.phrasing) == (512, "brief")
    assert options.conditions == ("original", "swap")
    assert options.root == str(tmp_path)
    assert BOOK.settings("authors")[1].conditions == CONDITIONS


def test_the_first_size_and_phrasing_are_the_headline_and_the_others_are_further_ones():
    _, options = BOOK.settings("corrected", {"px": "224, 512,448", "phrasing": "brief,default"})
    assert (options.px, options.more_px) == (224, (512, 448))
    assert (options.phrasing, options.more_phrasings) == ("brief", ("default",))
    assert BOOK.settings("corrected")[1].subset == 100
    assert BOOK.settings("corrected", {"subset": "0", "draws": "20"})[1].subset == 0
    assert BOOK.settings("corrected", {"draws": "20"})[1].draws == 20


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"normal": "yes"}, 'has no "normal"; it has parser, normals, masks'),
        ({"normals": "maybe"}, "--set normals=maybe: normals is yes or no."),
        ({"parser": "3"}, "parser is 1 or 2."),
        ({"minimum_n": "-1"}, "a whole number from 0 to 1000000"),
        ({"minimum_n": "1.5"}, "a whole number"),
        ({"minimum_n": "٣"}, "a whole number"),
        ({"boot": "10"}, "a whole number from 100"),
        ({"seed": str(2**32)}, "a whole number from 0 to 4294967295"),
        ({"wire": "jpeg"}, "png or jpeg:QUALITY"),
        ({"wire": "jpeg:0"}, "png or jpeg:QUALITY"),
        ({"wire": "webp:80"}, "png or jpeg:QUALITY"),
        ({"px": "0"}, "a whole number from 16"),
        ({"px": "224,8"}, "a whole number from 16"),
        ({"px": "224,"}, "a whole number from 16"),
        ({"px": "224,224"}, "each value once"),
        ({"phrasing": "rude"}, "default or brief or clinical"),
        ({"phrasing": "brief,default,brief"}, "each value once"),
        ({"subset": "-1"}, "a whole number from 0"),
        ({"draws": "0"}, "a whole number from 1 to 20"),
        ({"draws": "21"}, "a whole number from 1 to 20"),
        ({"conditions": "swap"}, "original, and any of swap"),
        ({"conditions": "original,sideways"}, "original, and any of swap"),
        ({"root": " "}, "root is a folder."),
    ],
)
def test_a_bad_setting_is_one_clear_line(words, says):
    with pytest.raises(BadInput) as error:
        BOOK.settings("corrected", words)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_edition_lists_the_known():
    with pytest.raises(BadInput, match="the editions are corrected, authors"):
        BOOK.edition("mine")
