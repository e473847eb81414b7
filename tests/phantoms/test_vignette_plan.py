"""The plan of a vignette set: complete, balanced, and nothing in the text tells the answer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, MODALITIES, SYSTEMS
from overread.phantoms.vignette import EACH, LEAST, Plan, Vignette, plan_vignettes
from overread.phantoms.vignette_views import QUESTIONS, VIEWS


@pytest.fixture(scope="module")
def large() -> Plan:
    return plan_vignettes(16_000, 1)


@pytest.fixture(scope="module")
def mcqs(large: Plan) -> tuple[Vignette, ...]:
    return large.of("mcq")


def within_chance(right: int, n: int, share: float) -> bool:
    """A count within four standard errors of what chance gives."""
    return abs(right - n * share) < 4 * np.sqrt(n * share * (1 - share))


# ---------------------------------------------------------------- what there is


@settings(max_examples=30, deadline=None)
@given(st.integers(LEAST, 300), st.integers(0, 2**32 - 1))
def test_every_dimension_has_items_of_both_kinds_to_swap(n, seed):
    plan = plan_vignettes(n, seed)
    assert len(plan.vignettes) == n
    for kind in ("mcq", "open"):
        some = plan.of(kind)
        assert [one.index for one in some] == list(range(1, len(some) + 1))
        for dimension in DIMENSIONS:
            pictures = [one.picture for one in some if one.dimension == dimension]
            assert len(pictures) == len(set(pictures)) >= EACH
    assert {one.asked.ability for one in plan.vignettes} == set(ABILITIES)
    assert len({one.question for one in plan.vignettes}) == n
    assert len({picture.name for picture in plan.pictures}) == len(plan.pictures)
    assert {one.picture for one in plan.vignettes} == set(range(len(plan.pictures)))


def test_three_quarters_are_multiple_choice_and_dimensions_are_alike():
    plan = plan_vignettes(280, 0)
    assert len(plan.of("mcq")) == 210
    for kind in ("mcq", "open"):
        counts = Counter(one.dimension for one in plan.of(kind))
        assert len(set(counts.values())) == 1


def test_every_question_is_put_in_both_kinds_by_and_by():
    met = {(one.dimension, one.asked.subtype, one.kind) for one in plan_vignettes(280, 2).vignettes}
    ways = {(d, way.subtype) for d, some in QUESTIONS.items() for way in some}
    assert met == {(*way, kind) for way in ways for kind in ("mcq", "open")}
    assert min(map(len, QUESTIONS.values())) >= 3


def test_the_vocabulary_is_that_of_the_release():
    assert list(QUESTIONS) == list(DIMENSIONS)
    for view in VIEWS.values():
        assert view.words.modality in MODALITIES
        assert view.words.system in SYSTEMS
    assert len({view.words.modality for view in VIEWS.values()}) >= 6
    assert len({view.words.system for view in VIEWS.values()}) >= 5


def test_now_and_then_two_items_of_different_dimensions_share_a_picture():
    users: dict[int, set[str]] = {}
    for one in plan_vignettes(80, 0).vignettes:
        users.setdefault(one.picture, set()).add(one.dimension)
    shared = [some for some in users.values() if len(some) == 2]
    assert 3 <= len(shared) <= 20
    assert max(map(len, users.values())) == 2


# ---------------------------------------------------------------- truth


def test_answers_are_true_of_their_pictures_and_other_options_are_not(large):
    for one in large.vignettes:
        picture = large.pictures[one.picture]
        assert picture.view == one.asked.view
        said = one.asked.answers[picture.facts[one.asked.facet]]
        if one.kind == "open":
            assert (one.answer, one.options) == (said, ())
        else:
            assert len(set(one.options)) == 5
            assert [LETTERS[k] for k, text in enumerate(one.options) if text == said] == [
                one.answer
            ]


def test_every_picture_has_a_value_of_every_facet_of_its_view(large):
    for picture in large.pictures:
        facets = VIEWS[picture.view].facets
        assert list(picture.facts) == list(facets)
        assert all(picture.facts[facet] in values for facet, values in facets.items())


@pytest.mark.parametrize("dimension", list(QUESTIONS))
def test_a_question_offers_five_answers_or_more_and_does_not_contain_them(dimension):
    for way in QUESTIONS[dimension]:
        assert set(way.answers) <= set(VIEWS[way.view].facets[way.facet])
        said = set(way.answers.values())
        assert len(said) >= 5
        for ask in way.asks:
            assert not any(text.casefold() in ask.casefold() for text in said)


# ---------------------------------------------------------------- nothing is told by the text


def test_letters_are_even(mcqs):
    counts = Counter(one.answer for one in mcqs)
    assert max(counts.values()) - min(counts.values()) <= 1
    # And so they are within small sets.
    few = Counter(one.answer for one in plan_vignettes(80, 3).of("mcq"))
    assert max(few.values()) - min(few.values()) <= 1


@pytest.mark.parametrize("pick", [max, min])
def test_length_tells_nothing(mcqs, pick):
    """The first of the longest (or shortest) options is right as often as any."""
    right = sum(pick(one.options, key=len) == one.truth for one in mcqs)
    assert within_chance(right, len(mcqs), 1 / 5)


@pytest.mark.parametrize("dimension", list(DIMENSIONS))
def test_length_tells_nothing_of_any_dimension(mcqs, dimension):
    some = [one for one in mcqs if one.dimension == dimension]
    right = sum(max(one.options, key=len) == one.truth for one in some)
    assert within_chance(right, len(some), 1 / 5)


def test_place_among_sorted_options_tells_nothing(mcqs):
    """Numbers in the middle of what is offered are right no more often than those at the ends."""
    ranks = Counter(sorted(one.options).index(one.truth) for one in mcqs)
    assert all(within_chance(ranks[k], len(mcqs), 1 / 5) for k in range(5))


def test_words_shared_with_the_other_options_tell_nothing(mcqs):
    """The option most like the others, word by word, is the right one only by chance."""

    def likeness(one, text):
        return sum(len(set(text.split()) & set(other.split())) for other in one.options)

    right = sum(max(one.options, key=lambda t, o=one: likeness(o, t)) == one.truth for one in mcqs)
    assert within_chance(right, len(mcqs), 1 / 5)


def test_common_answers_tell_nothing(mcqs):
    """Half of the set learned by heart is of no use for the other half."""
    half = len(mcqs) // 2
    known = Counter((one.asked.subtype, one.truth) for one in mcqs[:half])
    right = sum(
        max(one.options, key=lambda t, o=one: known[o.asked.subtype, t]) == one.truth
        for one in mcqs[half:]
    )
    assert within_chance(right, len(mcqs) - half, 1 / 5)


def test_record_numbers_tell_nothing(mcqs):
    at = [int("".join(c for c in one.question.split(".")[0] if c.isdigit())) for one in mcqs]
    letters = [LETTERS.index(one.answer) for one in mcqs]
    assert abs(np.corrcoef(at, letters)[0, 1]) < 4 / np.sqrt(len(mcqs))


# ---------------------------------------------------------------- captions


def test_captions_say_what_is_asked_for_in_the_words_of_a_judge():
    words = ("densit", "boundar", "textur", "shape", "round", "sharp", "smooth", "narrow", "wide")
    for view in VIEWS.values():
        facts = {facet: values[-1] for facet, values in view.facets.items()}
        caption = view.caption(facts)
        assert sum(word in caption for word in words) >= 2
        assert caption.endswith(".")
        assert "{" not in caption


@pytest.mark.parametrize("name", list(VIEWS))
def test_another_fact_is_another_caption(name):
    view = VIEWS[name]
    facts = {facet: values[0] for facet, values in view.facets.items()}
    asked = {way.facet for some in QUESTIONS.values() for way in some if way.view == name}
    for facet in asked:
        captions = {view.caption({**facts, facet: value}) for value in view.facets[facet]}
        assert len(captions) == len(view.facets[facet])
