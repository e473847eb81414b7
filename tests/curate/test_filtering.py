"""How hard items are and which are solved blind: by the benchmarks' prompts, corrected for chance."""

from __future__ import annotations

from random import Random
from typing import Any, Literal

import msgspec
import pytest
from tests.support.heard import driven, shown, text_of

from overread.benchmarks.curated import Item
from overread.case import BadInput, Picture, Source
from overread.curate.blind import FLAG, PICKS, blind_report, told
from overread.curate.filtering import ALL_RIGHT, filtered
from overread.curate.questions import Question
from overread.curate.records import Record
from overread.curate.wanted import Models, Wanted

OPTIONS = ("cyst", "mass", "polyp", "ulcer", "scar")


def _item(number: int = 0, **more: Any) -> Item:
    picture = Picture(Source("/nowhere", f"{number}.png"))
    given: dict[str, Any] = {
        "candidates": (f"c{number}",), "pictures": (picture,), "kind": "single",
        "question": f"What is it, {number}?", "options": OPTIONS,
        "answers": (OPTIONS[number % 5],),
    }  # fmt: skip
    return Item(**(given | more))


def _wanted(
    filters: int = 3,
    blind: int = 0,
    edition: Literal["corrected", "authors"] = "corrected",
    **more: Any,
) -> Wanted:
    models = Models(
        filters=tuple(f"openai:f{n}@x" for n in range(filters)),
        blind=tuple(f"openai:b{n}@x" for n in range(blind)),
    )
    return Wanted(name="films", models=models, filter=more, edition=edition)


def _options_in(question: Question) -> dict[str, str]:
    lines = text_of(question).splitlines()
    return {line[0]: line[3:] for line in lines if line[1:3] == ") "}


def _saying(text: str, question: Question) -> str:
    """The letter under which a text is shown."""
    return next(letter for letter, option in _options_in(question).items() if option == text)


def _facts(found: Record) -> dict[str, Any]:
    assert found.item is not None
    return {name: found.item.facts[name] for name in ("filter_right", "filter_n", "difficulty")}


# ---------------------------------------------------------------- filter models


def test_corrected_keeps_what_all_get_right_with_its_difficulty_and_authors_drops_it() -> None:
    items = [_item(0), _item(1)]

    def says(question: Question) -> str:
        easy = question.item == items[0].id or question.to == "filters.1"
        item = next(item for item in items if item.id == question.item)
        return _saying(item.answers[0], question) if easy else "Answer: E"

    kept = driven(filtered(items, _wanted()), says)
    assert [one.verdict for one in kept] == ["kept", "kept"]
    assert _facts(kept[0]) == {"filter_right": 3, "filter_n": 3, "difficulty": 0}
    assert _facts(kept[1]) == {"filter_right": 1, "filter_n": 3, "difficulty": 0.666667}
    assert kept[0].by == ("filters.1", "filters.2", "filters.3")
    dropped = driven(filtered(items, _wanted(edition="authors")), says)
    assert [(one.verdict, one.reason) for one in dropped] == [("dropped", ALL_RIGHT), ("kept", "")]
    # What was measured changes neither an item's name nor a review of it.
    assert [one.id for one in kept] == [item.id for item in items]


def test_models_are_asked_as_the_benchmarks_ask() -> None:
    asked: list[Question] = []
    items = [
        _item(), _item(1, kind="bool", options=(), answers=("true",)),
        _item(2, kind="short", options=(), answers=("left upper lobe",)),
        _item(3, kind="multiple", answers=("cyst", "scar")),
    ]  # fmt: skip
    driven(filtered(items, _wanted(1)), lambda question: "A", asked)
    choice, judged, short, several = (text_of(question) for question in asked)
    assert choice.startswith("Please carefully observe this medical image")
    assert choice.endswith("Answer only with the option letter (A–E).")
    assert "A) True\nB) False" in judged
    assert short.endswith("Please directly provide the final answer without any other output.")
    assert "(Select all that apply)\nA. cyst\nB. mass" in several
    assert [len(shown(question)) for question in asked] == [1, 1, 1, 1]
    assert next(picture.operations for picture in shown(asked[0])) != ()


@pytest.mark.parametrize(
    ("more", "text", "right"),
    [
        ({}, "A", 1),
        ({}, "**A**", 1),
        ({}, "<think>B</think>The answer is (A).", 1),
        ({}, "B", 0),
        ({}, "A or B", 0),
        ({}, "I cannot tell.", 0),
        ({}, None, 0),
        ({"kind": "bool", "options": (), "answers": ("false",)}, "B) false", 1),
        ({"kind": "bool", "options": (), "answers": ("false",)}, "A", 0),
        ({"kind": "short", "options": (), "answers": ("left upper lobe",)},
         "In the left upper lobe", 1),
        ({"kind": "short", "options": (), "answers": ("left upper lobe",)}, "right lobe", 0),
        ({"kind": "multiple", "answers": ("cyst", "scar")}, "A, E", 1),
        ({"kind": "multiple", "answers": ("cyst", "scar")}, "A", 0),
    ],
)  # fmt: skip
def test_replies_are_read_by_the_benchmarks_parsers(more: Any, text: Any, right: int) -> None:
    (found,) = driven(filtered([_item(**more)], _wanted(1)), lambda question: text)
    assert _facts(found)["filter_right"] == right


def test_an_item_that_only_judges_could_read_is_kept_and_nothing_is_said_of_it() -> None:
    asked: list[Question] = []
    wanted = msgspec.structs.replace(_wanted(2, edition="authors"), targets=("medcmr",))
    item = _item(kind="short", options=(), answers=("left upper lobe",))
    (found,) = driven(filtered([item], wanted), lambda question: "left upper lobe", asked)
    assert not asked
    assert (found.verdict, found.item) == ("kept", item)


def test_an_item_whose_answer_is_no_option_is_dropped() -> None:
    odd = [
        _item(0, answers=("heart",)), _item(1, options=()), _item(2, answers=("cyst", "mass")),
        _item(3, kind="bool", options=(), answers=("maybe",)), _item(4),
    ]  # fmt: skip
    found = driven(filtered(odd, _wanted(1)), lambda question: "A")
    assert [one.reason for one in found] == ["no_options"] * 4 + [""]


def test_somebody_must_be_named_and_settings_are_checked() -> None:
    with pytest.raises(BadInput, match=r"\[models\] names 0 under filters"):
        driven(filtered([_item()], _wanted(0)), lambda question: "A")
    with pytest.raises(BadInput, match=r"\[filter\]: orders is 1 to 10"):
        driven(filtered([_item()], _wanted(1, orders=0)), lambda question: "A")


# ---------------------------------------------------------------- blind readers


def _blind(items: list[Item], says: Any, orders: int = 4, readers: int = 3) -> list[Record]:
    return list(driven(filtered(items, _wanted(0, readers, orders=orders)), says))


def _flags(found: list[Record]) -> int:
    return sum(one.item is not None and FLAG in one.item.flags for one in found)


def _set(n: int = 60) -> list[Item]:
    draw = Random(n)
    return [_item(number, answers=(draw.choice(OPTIONS),)) for number in range(n)]


def test_blind_readers_see_no_picture_and_several_orders() -> None:
    asked: list[Question] = []
    driven(filtered([_item()], _wanted(0, 2)), lambda question: "A", asked)
    assert len(asked) == 8
    assert not any(shown(question) for question in asked)
    assert len({tuple(_options_in(question).values()) for question in asked}) == 4


@pytest.mark.slow
def test_who_knows_the_answers_without_looking_is_found() -> None:
    items = _set()
    truth = {item.id: item.answers[0] for item in items[:20]}
    draw = Random(1)

    def says(question: Question) -> str:
        known = truth.get(question.item)
        return _saying(known, question) if known else draw.choice("ABCDE")

    found = _blind(items, says)
    flagged = [one for one in found if one.item and FLAG in one.item.flags]
    assert {one.id for one in flagged} >= set(truth)
    assert len(flagged) <= 22
    assert all((one.verdict, one.reason) == ("flagged", FLAG) for one in flagged)
    report = blind_report([one.item for one in found if one.item])
    assert (report.n, report.replies) == (60, 720)
    assert report.p is not None
    assert report.p < 1e-6
    assert report.low is not None
    assert report.chance is not None
    assert report.low > report.chance
    assert report.above is not None
    assert 0.2 < report.above < 0.5
    assert report.by_luck is not None
    assert report.by_luck < report.flagged / 2


@pytest.mark.slow
def test_who_guesses_is_not_taken_for_one_who_knows() -> None:
    """At a false-discovery rate of a tenth, sets of guesses have a flag in about a tenth."""
    accused = 0
    for seed in range(20):
        draw = Random(seed)
        found = _blind(_set(), lambda question, draw=draw: draw.choice("ABCDE"))
        accused += _flags(found) > 0
        report = blind_report([one.item for one in found if one.item])
        assert report.p is not None
        assert report.p > 0.001
    assert accused <= 5


@pytest.mark.slow
def test_a_liking_for_an_option_is_luck_and_said_to_be() -> None:
    """Three readers who like the same option in every order solve a fifth of the items so."""
    items = _set(100)
    likes = {item.id: Random(item.id).choice(OPTIONS) for item in items}
    found = _blind(items, lambda question: _saying(likes[question.item], question))
    report = blind_report([one.item for one in found if one.item])
    assert 10 <= report.flagged <= 30
    assert report.by_luck == pytest.approx(20)
    assert report.p is not None
    assert report.p > 0.05


def test_who_always_says_one_letter_solves_nothing() -> None:
    found = _blind(_set(50), lambda question: "A", orders=5)
    assert _flags(found) == 0
    report = blind_report([one.item for one in found if one.item])
    assert (report.accuracy, report.p) == (pytest.approx(0.2), pytest.approx(1))


def test_pairs_are_solved_by_nobody_who_does_not_look() -> None:
    asked: list[Question] = []
    pairs = [
        _item(n, question="Which?", pair=str(n // 2), answers=(OPTIONS[n % 2],)) for n in range(40)
    ]
    found = driven(
        filtered(pairs, _wanted(0, 3)), lambda question: _saying("cyst", question), asked
    )  # fmt: skip
    assert _flags(list(found)) == 0
    report = blind_report([one.item for one in found if one.item])
    assert (report.accuracy, report.pairs, report.flagged) == (0.5, 20, 0)
    # Both items of a pair are put in the same words, which the store answers once.
    for two in (pairs[:2], pairs[2:4]):
        ids = {item.id for item in two}
        assert len({text_of(question) for question in asked if question.item in ids}) == 4


def test_who_refuses_to_guess_says_nothing() -> None:
    found = _blind(_set(5), lambda question: None)
    assert _flags(found) == 0
    assert blind_report([one.item for one in found if one.item]).n == 0


def test_the_chance_of_a_set_is_exact() -> None:
    """Two items of two options, taken 3:0 and 2:1 for the right one: one of four at least so."""
    items = [
        _item(n, options=("a", "b"), answers=("a",), facts={PICKS: told(picks)})
        for n, picks in enumerate([(3, 0), (2, 1)])
    ]
    assert blind_report(items).p == pytest.approx(0.25)
    assert blind_report([]).p is None


def test_another_filter_forgets_what_the_one_before_it_found() -> None:
    first = _blind(_set(1), lambda question: _saying("polyp", question))
    assert first[0].item is not None
    again = driven(filtered([first[0].item.marked(FLAG)], _wanted(1)), lambda question: "B")
    assert again[0].item is not None
    assert PICKS not in again[0].item.facts
    assert FLAG not in again[0].item.flags
