"""Whether a set's form gives its answers away: what is planted is found, what is not is not."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from overread.benchmarks.curated import Item
from overread.curate.form import LEAST, check_form, choices_of
from overread.stats import binomial_tail, hits_pmf, two_sided

KINDS = [
    "opacity",
    "nodule",
    "effusion",
    "fracture",
    "edema",
    "mass",
    "cyst",
    "lesion",
    "polyp",
    "ulcer",
    "stenosis",
]
PLACES = [
    "left",
    "right",
    "upper",
    "lower",
    "medial",
    "lateral",
    "anterior",
    "posterior",
    "apical",
    "basal",
]


def _set(seed: int, planted: str = "", n: int = 60, share: float = 0.6) -> list[Item]:
    """Items of five options of one form, two to a picture, and a shortcut in some of them."""
    draw = Random(f"{planted}{seed}")
    found = []
    for number in range(n):
        right, options = draw.randrange(5), list[str]()
        while len(options) < 5:
            words = [*draw.sample(PLACES, draw.randint(1, 3)), draw.choice(KINDS)]
            if " ".join(words) not in options:
                options.append(" ".join(words))
        if planted == "long" and draw.random() < share:
            options[right] += f" with {' '.join(draw.sample(PLACES, 3))}"
        if planted == "word":
            for place in range(5):
                if draw.random() < (share if place == right else 0.1):
                    options[place] = f"diffuse {options[place]}"
        found.append(
            Item(
                candidates=(f"picture {number // 2}",),
                pictures=(),
                question=f"What is seen in the {draw.choice(PLACES)} part?",
                kind="single",
                options=tuple(options),
                answers=(options[right],),
            )
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("planted", "family"), [("long", "traits"), ("word", "words")])
def test_a_planted_shortcut_is_found_for_twenty_seeds(planted: str, family: str) -> None:
    trained = 0
    for seed in range(20):
        found = check_form(_set(seed, planted), seed).found
        assert family in {check.family for check in found}, seed
        cue = {"long": "the longest option", "word": "diffuse"}[planted]
        assert any(check.cue == cue and check.share > check.chance for check in found)
        trained += any(check.family == "classifier" for check in found)
    assert trained >= 18


@pytest.mark.slow
def test_a_set_without_a_shortcut_is_not_accused_for_twenty_seeds() -> None:
    for seed in range(20):
        assert not check_form(_set(seed), seed).found, seed


def test_the_right_option_too_often_at_one_place_is_found() -> None:
    items = [
        Item(candidates=(str(n),), pictures=(), question="What?", kind="bool", answers=("true",))
        for n in range(40)
    ]
    found = check_form(items).found
    assert {check.cue for check in found} >= {"place A", "place B", "true"}
    share = next(check for check in found if check.cue == "place B")
    assert share.right == 0
    assert share.high is not None
    assert share.high < 0.5 == share.chance


def test_a_classifier_is_trained_on_no_item_of_the_pictures_it_is_tried_on() -> None:
    """Options that tell nothing, but repeat within a picture: who learns them by heart gets them."""
    draw = Random(3)
    items = []
    for picture in range(30):
        words = [f"word{draw.randrange(10**6)}" for _ in range(5)]
        items += [
            Item(
                candidates=(f"{picture}",), pictures=(), question=f"What, {n}?", kind="single",
                options=tuple(words), answers=(words[picture % 5],),
            )
            for n in range(3)
        ]  # fmt: skip
    (trained,) = [one for one in check_form(items).checks if one.family == "classifier"]
    assert trained.right <= trained.n * 0.4
    assert not trained.found


def test_pairs_keep_different_answers_when_they_are_drawn_anew() -> None:
    items = []
    for number in range(30):
        two = ("cyst", "mass") if number % 2 else ("mass", "cyst")
        items += [
            Item(
                candidates=(f"{number} {answer}",), pictures=(), question="Which?", kind="single",
                options=two, answers=(answer,), pair=str(number),
            )
            for answer in two
        ]  # fmt: skip
    report = check_form(items)
    (trained,) = [one for one in report.checks if one.family == "classifier"]
    # Whatever is said of a pair, one of the two is right.
    assert trained.right == 30
    assert trained.p == 1
    assert not report.found


def test_little_is_said_of_few_items_and_nothing_of_several_right_options() -> None:
    assert check_form(_set(0, "long", LEAST - 1)).checks == ()
    several = [
        Item(candidates=("a",), pictures=(), question="Which?", kind="multiple",
             options=("a", "b", "c"), answers=("a", "b"))
    ]  # fmt: skip
    report = check_form([*_set(0), *several])
    assert (report.n, report.left_out) == (60, 1)
    assert choices_of(several) == []


def test_the_same_set_is_told_the_same_whatever_the_order() -> None:
    items = _set(1, "word", n=30)
    assert check_form(items, 5) == check_form(items[::-1], 5)


def test_hits_of_unequal_chances_are_exact() -> None:
    pmf = hits_pmf([0.2] * 12)
    assert pmf[5:].sum() == pytest.approx(binomial_tail(5, 12, 0.2), abs=1e-12)
    chances = [0.1, 0.5, 0.5, 0.9, 1.0, 0.0]
    drawn = np.random.default_rng(0).random((200_000, 6)) < chances
    counted = np.bincount(drawn.sum(axis=1), minlength=7) / 200_000
    assert hits_pmf(chances) == pytest.approx(counted, abs=0.005)
    assert hits_pmf([]).tolist() == [1.0]
    assert two_sided(0, hits_pmf([])) == 1
    assert two_sided(3, hits_pmf([0.5] * 3)) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="0 to 1"):
        hits_pmf([1.5])
