"""The vocabulary of conditions: words, the images they stand for, and how they are chosen."""

from __future__ import annotations

from itertools import combinations

import pytest

from overread.benchmarks.grounding.conditions import (
    EXTRAS,
    FILLS,
    MOST_DRAWS,
    PAPER,
    WORDS,
    image_of,
    images_of,
    read_conditions,
)
from overread.benchmarks.grounding.edition import BOOK
from overread.case import BadInput


def test_the_papers_four_come_first_and_are_their_own_images():
    assert PAPER == ("original", "swap", "target_mask", "irrelevant_mask")
    assert WORDS == PAPER + EXTRAS
    assert images_of(PAPER) == PAPER


@pytest.mark.parametrize(
    ("word", "images"),
    [
        ("opposite_swap", ("opposite_swap",)),
        ("blank", ("blank",)),
        ("no_image", ("no_image",)),
        *((fill, (f"target_{fill}", f"irrelevant_{fill}")) for fill in FILLS),
        ("matched", ("matched_1", "matched_2", "matched_3")),
        ("repeat", ()),
    ],
)
def test_a_word_stands_for_its_images(word, images):
    assert images_of((word,)) == images


def test_images_come_in_one_order_however_the_words_are_ordered():
    assert images_of(("blur", "original")) == ("original", "target_blur", "irrelevant_blur")
    assert images_of(reversed(WORDS)) == images_of(WORDS)


def test_as_many_matched_boxes_as_are_drawn():
    for draws in (1, 7, MOST_DRAWS):
        assert images_of(("matched",), draws) == tuple(f"matched_{k + 1}" for k in range(draws))


def test_every_image_says_what_it_is():
    for name in images_of(WORDS, MOST_DRAWS):
        image = image_of(name)
        assert image.name == name
        assert (image.fill is not None) == (image.kind in ("target", "irrelevant", "matched"))
        assert (image.draw > 0) == (image.kind == "matched")
    assert image_of("target_mask").fill == image_of("matched_2").fill == "black"
    assert image_of("irrelevant_inpaint").fill == "inpaint"
    assert image_of("matched_12").draw == 12
    with pytest.raises(KeyError):
        image_of("sideways")


# ---------------------------------------------------------------- choosing


def test_a_plain_list_is_exactly_what_is_asked():
    for k in range(len(EXTRAS) + 1):
        for some in combinations(EXTRAS, k):
            assert read_conditions(",".join((*some, "original"))) == ("original", *some)


def test_a_leading_plus_adds_to_the_papers_four():
    assert read_conditions("+blur,+matched") == (*PAPER, "blur", "matched")
    assert read_conditions(" + blur , matched ") == (*PAPER, "blur", "matched")
    assert read_conditions("+original") == PAPER


def test_a_leading_minus_takes_away_from_what_is_asked_anyway():
    asked = (*PAPER, "matched")
    assert read_conditions("+original", asked) == asked
    assert read_conditions("-matched", asked) == PAPER
    assert read_conditions("+blur, - matched", asked) == (*PAPER, "blur")
    assert read_conditions("-swap", asked) == tuple(word for word in asked if word != "swap")


@pytest.mark.parametrize(
    ("edition", "chosen", "conditions", "where_there", "draws"),
    [
        ("corrected", None, (*PAPER, "matched"), ("matched",), 1),
        ("corrected", "+blur", (*PAPER, "blur", "matched"), ("matched",), 1),
        ("corrected", "-matched", PAPER, (), 3),
        ("corrected", "+matched", (*PAPER, "matched"), (), 3),
        ("corrected", "original,swap", ("original", "swap"), (), 3),
        ("authors", None, PAPER, (), 3),
        ("authors", "+matched", (*PAPER, "matched"), (), 3),
    ],
)
def test_one_matched_box_is_asked_where_the_set_has_any_unless_somebody_says_otherwise(
    edition, chosen, conditions, where_there, draws
):
    words = {} if chosen is None else {"conditions": chosen}
    options = BOOK.settings(edition, words)[1]
    assert (options.conditions, options.where_there) == (conditions, where_there)
    assert options.draws == draws


def test_all_is_every_word():
    assert read_conditions("all") == read_conditions("+all") == read_conditions("all,swap") == WORDS


@pytest.mark.parametrize(
    "text",
    [
        *("", "+", "swap", "original,sideways", "original,+blur", "blur,+original", "+blur,,mean"),
        *("-original", "-sideways", "original,-swap"),
    ],
)
def test_a_bad_choice_says_what_can_be_chosen(text):
    with pytest.raises(BadInput) as error:
        BOOK.settings("corrected", {"conditions": text})
    said = str(error.value)
    assert "original, and any of swap, target_mask" in said
    assert "+blur,-matched" in said
    assert "\n" not in said


# ---------------------------------------------------------------- the second asking


@pytest.mark.parametrize(
    ("edition", "chosen", "repeat"),
    [
        ("corrected", None, "sampled"),
        ("corrected", "+blur", "sampled"),
        ("corrected", "original,swap", "never"),
        ("corrected", "original,repeat", "always"),
        ("corrected", "+repeat", "always"),
        ("corrected", "all", "always"),
        ("corrected", "-matched", "sampled"),
        ("corrected", "-repeat", "never"),
        ("authors", None, "never"),
        ("authors", "+blur", "never"),
        ("authors", "+repeat", "always"),
    ],
)
def test_whether_the_original_is_asked_again(edition, chosen, repeat):
    words = {} if chosen is None else {"conditions": chosen}
    assert BOOK.settings(edition, words)[1].repeat == repeat
