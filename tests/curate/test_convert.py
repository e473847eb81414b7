"""Items made of labels: right, paired where labels allow, and of no use to who does not look."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from overread.benchmarks.curated import Candidate, Item, LabelledBox
from overread.benchmarks.pairs.cases import READER
from overread.benchmarks.pairs.curated import pair
from overread.case import Box, Overlay, Picture, Source
from overread.curate.ask import Ask
from overread.curate.convert import (
    CONVERSIONS,
    QUADRANTS,
    Conversion,
    converted,
    quadrant_of,
)
from overread.curate.form import TRUTHS
from overread.curate.options import placed

LABELS = ("cyst", "mass", "polyp", "ulcer", "scar", "stone", "clot")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for number in range(24):
        Image.new("L", (100, 80), 10 * number).save(folder / f"{number}.png")
        mask = Image.new("L", (50, 40), 0)
        mask.paste(255, (5 + 25 * (number % 2), 5, 15 + 25 * (number % 2), 15))
        mask.save(folder / f"mask{number}.png")
    (folder / "broken.png").write_bytes(b"no picture")
    return folder


def _candidates(pictures: Path) -> list[Candidate]:
    """Four collections: of one label each, of several, of boxes, of masks; all have grades."""
    found = []
    for number in range(24):
        kind = number % 4
        boxes: tuple[LabelledBox, ...] = ()
        labels: tuple[str, ...] = (LABELS[number // 4],)
        if kind == 1:
            labels = LABELS[number % 5 : number % 5 + 1 + number % 3]
        if kind == 2:
            labels = ()
            left, top = (10 if number % 8 > 3 else 70), (10 if number < 12 else 55)
            boxes = (
                LabelledBox("nodule", Box(left, top, 12, 12)),
                *(LabelledBox("cell", Box(3 * n, 40, 4, 4)) for n in range(number % 7)),
            )
        found.append(
            Candidate(
                picture=Picture(Source(str(pictures), f"{number}.png")),
                source=f"{number:032x}",
                collection=f"set {kind}",
                licence="CC0-1.0",
                labels=labels,
                boxes=boxes,
                mask=Source(str(pictures), f"mask{number}.png") if kind == 3 else None,
                patient=f"p{number // 2}",
                facts={"degree": ("mild", "Moderate ", "severe")[number % 3]},
            )
        )
    return found


ALL = Ask(
    unpaired=True,
    complete=("set 1",),
    grade="degree",
    grades=("mild", "moderate", "severe"),
    converted=9,
)


def _items(pictures: Path, *only: Conversion, seed: int = 0) -> list[Item]:
    asked = msgspec.structs.replace(ALL, conversions=only or CONVERSIONS)
    made = converted(_candidates(pictures), seed, asked)
    return placed([one.item for one in made if one.item is not None], seed)


def _pairs(items: Sequence[Item]) -> list[list[Item]]:
    found: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.pair:
            found[item.pair].append(item)
    return list(found.values())


def _choices(item: Item) -> list[tuple[str, ...]]:
    """Everything that can be answered."""
    if item.kind == "bool":
        return [(text,) for text in TRUTHS]
    if item.kind == "single":
        return [(text,) for text in item.options]
    drawn = product((False, True), repeat=len(item.options))
    return [tuple(t for t, taken in zip(item.options, one, strict=True) if taken) for one in drawn]


def test_every_conversion_makes_items_of_all_four_question_types_but_short(pictures: Path) -> None:
    items = _items(pictures)
    assert {item.template for item in items} == {f"rule.{name}" for name in CONVERSIONS}
    assert {item.kind for item in items} == {"single", "multiple", "bool"}
    for item in items:
        assert item.task
        assert item.dimension
        assert item.licences == ("CC0-1.0",)
        if item.kind != "bool":
            assert set(item.answers) < set(item.options)
            assert len(item.options) <= 10
            assert len(set(item.options)) == len(item.options)


def test_no_reader_who_does_not_look_gets_more_than_half_of_the_pairs(pictures: Path) -> None:
    """All that can be said without the picture is a function of question and options."""
    pairs = _pairs(_items(pictures))
    assert len(pairs) > 20
    for two in pairs:
        assert len(two) == 2
        asked = {(item.question, item.kind, item.options, len(item.pictures)) for item in two}
        assert len(asked) == 1  # whoever does not look is asked the same twice
        for said in _choices(two[0]):
            assert sum(set(said) == set(item.answers) for item in two) <= 1
    blind: Callable[[Item], tuple[str, ...]] = lambda item: _choices(item)[-1]  # noqa: E731
    items = [item for two in pairs for item in two]
    assert sum(set(blind(item)) == set(item.answers) for item in items) <= len(items) / 2


def test_both_items_of_a_pair_are_about_pictures_of_one_collection(pictures: Path) -> None:
    for two in _pairs(_items(pictures)):
        assert two[0].collections == two[1].collections
        if two[0].template == "rule.grading":
            assert two[0].pictures == two[1].pictures[::-1]
        else:
            assert two[0].pictures != two[1].pictures
            assert two[0].candidates != two[1].candidates


def test_answers_are_true_of_the_pictures(pictures: Path) -> None:
    known = {one.id: one for one in _candidates(pictures)}
    for item in _items(pictures):
        one = known[item.candidates[0]]
        match item.template.removeprefix("rule."):
            case "classification" | "segmentation":
                assert item.answers == one.labels
                assert all(text in LABELS for text in item.options)
            case "judgement":
                label = next(label for label in LABELS if f" {label}?" in item.question)
                assert item.answers == (str(label in one.labels).lower(),)
            case "multiple":
                assert set(item.answers) == set(one.labels)
            case "location":
                assert item.answers[0] in QUADRANTS
                if one.boxes:
                    assert item.answers == (quadrant_of(_boxed(item, one), 100, 80),)
                else:
                    number = int(one.picture.source.name.split(".")[0])  # type: ignore[union-attr]
                    assert item.answers == (f"upper {'right' if number % 2 else 'left'}",)
            case "counting":
                label = item.question.removesuffix("?").split()[-1]
                assert int(item.answers[0]) == sum(box.label == label for box in one.boxes)
            case "box":
                box = _boxed(item, one)
                assert item.answers[0].startswith(f"{box.x} to {box.x + box.w} % of the width")
            case "grading":
                order = ("mild", "moderate", "severe")
                grades = [
                    order.index(known[_of(known, shown)].facts["degree"].strip().lower())
                    for shown in item.pictures
                ]
                assert item.answers == (
                    ("the first picture" if grades[0] > grades[1] else "the second picture"),
                )


def _boxed(item: Item, one: Candidate) -> Box:
    (found,) = [box.box for box in one.boxes if f": {box.label}?" in item.question]
    return found


def _of(known: dict[str, Candidate], picture: Picture) -> str:
    return next(name for name, one in known.items() if one.picture == picture)


def test_a_mask_is_laid_over_a_second_picture(pictures: Path) -> None:
    for item in _items(pictures, "segmentation"):
        plain, marked = item.pictures
        assert marked.source == plain.source
        assert isinstance(marked.operations[-1], Overlay)


def test_nothing_is_said_of_labels_that_need_not_be_all(pictures: Path) -> None:
    unsure = msgspec.structs.replace(ALL, complete=(), conversions=("judgement", "multiple"))
    made = converted([c for c in _candidates(pictures) if c.collection == "set 1"], 0, unsure)
    assert made == []


def test_a_picture_is_in_so_many_items_at_most_and_conversions_take_turns(pictures: Path) -> None:
    few = msgspec.structs.replace(ALL, converted=2)
    items = [one.item for one in converted(_candidates(pictures), 0, few) if one.item]
    used = Counter(name for item in items if not item.pair for name in item.candidates)
    pairs = Counter(
        name for two in _pairs(items) for name in {n for i in two for n in i.candidates}
    )
    assert max((used + pairs).values()) == 2
    assert {item.template for item in items} >= {"rule.classification", "rule.grading"}


def test_places_are_balanced_over_the_set(pictures: Path) -> None:
    items = [item for item in _items(pictures, "classification", "counting") if not item.pair]
    many = [
        msgspec.structs.replace(item, pair="", question=f"{item.question} {n}")
        for n in range(20)
        for item in _items(pictures, "location")
    ]
    places = Counter(item.options.index(item.answers[0]) for item in placed([*items, *many], 1))
    assert max(places.values()) - min(places[at] for at in range(4)) <= 2


def test_a_picture_that_cannot_be_opened_costs_its_items_alone(pictures: Path) -> None:
    broken = msgspec.structs.replace(
        _candidates(pictures)[2], picture=Picture(Source(str(pictures), "broken.png"))
    )
    made = converted([*_candidates(pictures), broken], 0, ALL)
    (lost,) = {(one.reason, one.candidates[0].id) for one in made if one.item is None}
    assert lost == ("picture_unreadable", broken.id)
    assert len([one for one in made if one.item]) >= len(_items(pictures))


def test_the_same_candidates_give_the_same_items_whatever_their_order(pictures: Path) -> None:
    found = converted(_candidates(pictures), 3, ALL)
    assert found == converted(_candidates(pictures)[::-1], 3, ALL)
    assert found != converted(_candidates(pictures), 4, ALL)


def test_pairs_load_as_the_benchmark_of_pairs(pictures: Path, tmp_path: Path) -> None:
    rows = []
    for first, second in _pairs(_items(pictures)):
        names = [
            one.source.name
            for one in (*first.pictures, *second.pictures)
            if isinstance(one.source, Source)
        ]
        made = pair(first, second, names)
        shows_one = len(first.pictures) == len(first.answers) == len(second.answers) == 1
        assert (made is not None) == shows_one
        rows += [made] if made else []
    assert len(rows) > 15
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for shown in pictures.glob("*.png"):
        (tmp_path / shown.name).write_bytes(shown.read_bytes())
    for case, row in zip(READER.load(tmp_path, None).cases, rows, strict=True):
        answers = [case.options[at] for at in case.answers]
        assert answers == [row["answer_1"], row["answer_2"]]


def test_what_finds_no_partner_is_left_out_for_it_would_give_its_answer_away(
    pictures: Path,
) -> None:
    """Nine of ten are cysts: the eight without a partner would all be answered "cyst"."""
    ten = [
        msgspec.structs.replace(
            one, collection="c", labels=("mass" if n == 3 else "cyst",), boxes=(), mask=None
        )
        for n, one in enumerate(_candidates(pictures)[:10])
    ]
    asked = msgspec.structs.replace(ALL, unpaired=False, conversions=("classification",))
    made = converted(ten, 0, asked)
    assert [one.item.answers[0] for one in made if one.item] in (["cyst", "mass"], ["mass", "cyst"])
    assert {one.reason for one in made if one.item is None} == {"no_partner"}
    assert len(made) == 10
    more = converted(ten, 0, msgspec.structs.replace(asked, unpaired=True))
    assert len([one for one in more if one.item]) == 10
