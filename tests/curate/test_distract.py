"""Wrong options: surely wrong, of one form with the right one, chosen by people where they did."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.heard import driven, told

from overread.benchmarks.curated import Item
from overread.case import BadInput
from overread.curate.distract import UNREVIEWED, distract, to_choose
from overread.curate.form import check_form
from overread.curate.options import Proposal, bare_option, kept_proposals, placed
from overread.curate.questions import Question
from overread.curate.wanted import Models, Wanted

GOOD = ("pulmonary embolism", "lobar pneumonia", "pleural effusion", "rib fracture")


def _item(number: int = 0, answer: str = "tuberculosis", **more: Any) -> Item:
    return Item(
        candidates=(f"c{number}",), pictures=(), question=f"What is it, {number}?", kind="short",
        answers=(answer,), **more,
    )  # fmt: skip


def _wanted(at: Path | None = None, models: int = 3, **more: Any) -> Wanted:
    seats = tuple(f"openai:d{n}@http://x" for n in range(models))
    return Wanted(
        name="films", models=Models(distractors=seats), distract={"open": 0.0, **more},
        home=at or Path(),
    )  # fmt: skip


def _says(question: Question) -> str:
    """Each model proposes words of its own length."""
    draw = Random(question.item + question.to)
    tail = " ".join(["lesion", "nodule"][: int(question.to[-1]) - 1])
    names = draw.sample(["apical", "basal", "central", "diffuse", "focal", "hilar", "miliary"], 4)
    return json.dumps({"distractors": [f"{name} {tail}".strip() for name in names]})


def test_three_models_propose_and_four_stand_beside_the_answer() -> None:
    asked: list[Question] = []
    (found,) = driven(distract([_item(caption="An old scar.")], _wanted()), _says, asked)
    item = found.item
    assert item is not None
    assert item.kind == "single"
    assert len(item.options) == len(set(item.options)) == 5
    assert item.answers[0] in item.options
    assert UNREVIEWED in item.flags
    assert found.by == ("distractors.1", "distractors.2", "distractors.3")
    assert len(item.pool) + 4 == found.facts["proposed"] - sum(
        int(n) for name, n in found.facts.items() if name.startswith("excluded")
    )
    assert [told(question)["caption"] for question in asked] == ["An old scar."] * 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Tuberculosis.", "same_as_answer"),
        ("B) tuberculosis", "same_as_answer"),
        ("active tuberculosis", "part_of_answer"),
        ("tuberculosys", "near_answer"),
        ("none of the above", "speaks_of_options"),
        ("it cannot be determined", "speaks_of_options"),
        ("...", "no_words"),
        ("x" * 161, "too_long"),
        ("old scar", "said_in_caption"),
    ],
)
def test_what_may_be_true_or_is_no_option_is_excluded(text: str, why: str) -> None:
    proposals = [Proposal(text), Proposal("pneumothorax")]
    kept, excluded = kept_proposals(proposals, ["tuberculosis"], "There is an old scar.")
    assert [one.text for one in kept] == ["pneumothorax"]
    assert excluded == {why: 1}


def test_left_may_stand_beside_right_and_twos_of_one_meaning_may_not() -> None:
    texts = ["right upper lobe", "left lower lobe", "Left lower lobes", "lobe, left lower"]
    kept, excluded = kept_proposals([Proposal(t) for t in texts], ["left upper lobe"])
    assert [one.text for one in kept] == texts[:2]
    assert excluded == {"same_as_another": 2}


def test_options_are_of_one_form() -> None:
    assert bare_option("A. Pleural effusion.", like="cyst") == "pleural effusion"
    assert bare_option("CT angiography", like="x-ray") == "CT angiography"
    assert bare_option("- mass;", like="Cyst") == "Mass"
    # A genus is no letter of an option.
    assert bare_option("E. coli", like="E. coli") == "E. coli"
    assert bare_option("C. difficile", like="E. coli") == "C. difficile"


def test_form_does_not_give_the_answer_away_where_the_pool_allows() -> None:
    draw = Random(4)
    items = [
        _item(n, " ".join(draw.sample(["granuloma", "tuberculosis", "sarcoid", "abscess"],
                                      draw.randint(1, 2))))
        for n in range(60)
    ]  # fmt: skip
    found = driven(distract(items, _wanted()), _says)
    made = [one.item for one in found if one.item]
    assert len(made) == 60
    places = Counter(item.options.index(item.answers[0]) for item in made)
    assert set(places.values()) == {12}
    report = check_form(made)
    cues = {check.cue: check for check in report.checks if check.family == "traits"}
    assert not cues["the longest option"].found
    assert not cues["the shortest option"].found
    assert not [check for check in report.found if check.cue.startswith("place")]


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (lambda question: None, "refused"),
        (lambda question: "no", "malformed"),
        (lambda question: '{"distractors": ["tuberculosis", "old tuberculosis"]}',
         "too_few_distractors"),
    ],
)  # fmt: skip
def test_who_gets_too_few_is_dropped_with_the_reason(says: Any, reason: str) -> None:
    items = [_item(), _item(1)]
    found = driven(
        distract(items, _wanted()), lambda q: says(q) if q.item == items[0].id else _says(q)
    )  # fmt: skip
    assert [(one.verdict, one.reason) for one in found] == [("dropped", reason), ("changed", "")]


def test_one_model_that_refuses_costs_nothing_where_others_propose() -> None:
    found = driven(
        distract([_item()], _wanted()), lambda q: None if q.to == "distractors.1" else _says(q)
    )  # fmt: skip
    assert found[0].passes


def test_items_that_have_options_and_a_share_of_open_ones_stay_as_they_are() -> None:
    ready = Item(
        candidates=("x",), pictures=(), question="Which?", kind="single", options=("a", "b"),
        answers=("a",),
    )  # fmt: skip
    items = [ready, *(_item(n) for n in range(10))]
    found = driven(distract(items, _wanted(open=0.3)), _says)
    kept = [one for one in found if one.verdict == "kept"]
    assert found[0].item == ready
    assert [one.item.kind for one in kept if one.item].count("short") == 3
    assert len(found) == 11


def test_several_right_answers_get_wrong_ones_beside_them() -> None:
    several = Item(
        candidates=("x",), pictures=(), question="Which?", kind="multiple",
        answers=("cavity", "fibrosis", "calcified granuloma"),
    )  # fmt: skip
    (found,) = driven(distract([several], _wanted()), _says)
    assert found.item is not None
    assert len(found.item.wrong) == 2
    assert set(found.item.answers) == set(several.answers)


def test_what_people_chose_stands_and_the_item_is_no_longer_marked(tmp_path: Path) -> None:
    item = _item()
    (first,) = driven(distract([item], _wanted(tmp_path)), _says)
    assert first.item is not None
    all_proposed = sorted((*first.item.pool, *first.item.wrong))
    rows = [f"{item.id},p{n},{text}" for n in range(3) for text in all_proposed[:3]]
    rows += [f"{item.id},p1,{all_proposed[5]}", f"{item.id},p2,{all_proposed[5]}"]
    rows += [f"{item.id},p1,{all_proposed[4]}"]
    (tmp_path / "chosen.csv").write_text("\n".join(["item,person,distractor", *rows]) + "\n")
    (second,) = driven(distract([item], _wanted(tmp_path, chosen="chosen.csv")), _says)
    assert second.item is not None
    assert set(second.item.wrong) == {*all_proposed[:3], all_proposed[5]}
    assert UNREVIEWED not in second.item.flags
    assert second.by[-3:] == ("person:p0", "person:p1", "person:p2")
    assert to_choose([second]) == []
    rows = to_choose([first])
    assert [row["distractor"] for row in rows] == all_proposed
    assert {(row["item"], row["person"]) for row in rows} == {(item.id, "")}


def test_a_choice_of_something_else_is_said_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "chosen.csv"
    file.write_text("item,person,distractor\nnobody,p1,mass\n")
    with pytest.raises(BadInput, match=r'chosen.csv row 2: item "nobody" is none that gets'):
        driven(distract([_item()], _wanted(tmp_path, chosen="chosen.csv")), _says)


def test_the_same_replies_give_the_same_options_and_another_seed_others() -> None:
    items = [_item(n) for n in range(8)]
    once = driven(distract(items, _wanted()), _says)
    assert driven(distract(items, _wanted()), _says) == once
    turned = driven(distract(items[::-1], _wanted()), _says)
    assert {one.id for one in turned} == {one.id for one in once}
    assert placed([one.item for one in once if one.item], 1) != placed(
        [one.item for one in once if one.item], 2
    )
