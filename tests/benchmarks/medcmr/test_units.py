"""What judges judged, cut into single scores for a person."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.medcmr.components import COMPONENTS
from overread.benchmarks.medcmr.units import CHOICES, units_of
from support.med_tables import mcq, opened, tables_of, wrote
from support.med_verdicts import scored, verdicts_of

CASES = [
    opened(1, question="What?", answer="a mass", caption="round"),
    mcq(2),
    opened(3, caption=None),
]
ANSWERS = [
    wrote("r", 1, "It is round."),
    wrote("r", 1, "Black.", image="blank"),
    wrote("r", 2, "bbbb", form="reformulated"),
    wrote("r", 3, "said"),
]


def units(*rows):
    return units_of(msgspec.structs.replace(tables_of(CASES, ANSWERS), verdicts=verdicts_of(rows)))


def test_every_score_is_a_unit_with_its_grid():
    made = units(
        scored("j", "r", "open-1", (1, 0.5, 3, 4)), scored("k", "r", "open-1", (1, 1, 2, 4))
    )
    assert [one.question for one in made] == list(COMPONENTS)
    assert [one.verdicts for one in made] == [
        {"j": "1", "k": "1"},
        {"j": "0.5", "k": "1"},
        {"j": "3", "k": "2"},
        {"j": "4", "k": "4"},
    ]
    assert all(one.choices == CHOICES[one.question] for one in made)
    assert {(one.item, one.reader, one.asked, one.reply) for one in made} == {
        ("open-1", "r", "What?", "It is round.")
    }


def test_a_person_sees_what_the_score_is_compared_with_and_no_more():
    made = units(scored("j", "r", "open-1", (1, 1, 1, 1)))
    assert [one.gold for one in made] == ["", "", "round", "a mass"]
    made = units(scored("j", "r", "mcq-2", (1, 1, 1, 1), form="reformulated"))
    assert made[-1].gold == "aa"


def test_replies_under_other_images_are_units_of_their_own():
    made = units(
        scored("j", "r", "open-1", (1, 1, 1, 1)),
        scored("j", "r", "open-1", (1, 1, 0, 0), image="blank"),
    )
    assert {one.reply for one in made} == {"It is round.", "Black."}
    assert len({one.key for one in made}) == 8


def test_without_a_caption_there_are_three():
    made = units(scored("j", "r", "open-3", (1, 1, None, 0), question="score_uncaptioned"))
    assert [one.question for one in made] == ["clarity", "coherence", "truth"]


@pytest.mark.parametrize(
    "row",
    [
        scored("j", "r", "open-1", None),
        scored("j", "r", "open-1", (1, 1, 1, 1), check=True),
        scored("j", "r", "open-7", (1, 1, 1, 1)),
        scored("j", "stranger", "open-1", (1, 1, 1, 1)),
    ],
    ids=["not readable", "a check", "another item", "no such reply"],
)
def test_what_a_person_is_not_asked(row):
    assert units(row) == []


def test_without_verdicts_there_is_nothing():
    assert units_of(tables_of(CASES, ANSWERS)) == []


def test_choices_are_the_grids_as_they_are_written():
    assert CHOICES["clarity"] == CHOICES["coherence"] == ("0", "0.5", "1")
    assert CHOICES["visual"] == CHOICES["truth"] == ("0", "1", "2", "3", "4")
