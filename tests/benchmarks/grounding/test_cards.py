"""Cases one by one: the index against the obvious, cards, and the pictures as readers saw them."""

from __future__ import annotations

import csv

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.cards import FACETS
from overread.benchmarks.grounding.cases import truth
from overread.case import BadInput, Box, Fill, Traits
from overread.imaging import pixels, render
from support.phantom_asked import phantom_asked
from support.timing import cpu_seconds

IMAGES = ("original", "swap", "target_mask", "irrelevant_mask", "repeat", "matched_1")
MARKS = st.sampled_from([1, 0, 1, 0, -1, -2, -3])
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "label": st.integers(0, 1),
        "view": st.sampled_from(["PA", "AP"]),
        "gender": st.sampled_from(["M", "F"]),
        "finding": st.sampled_from(["edema", "no_finding", None]),
        "source": st.sampled_from(["ms_cxr", "rexerr", "mine"]),
        "error_present": st.integers(0, 1),
        "box": st.none(),
    },
)


@st.composite
def runs(draw, bench):
    facts = draw(st.lists(FACTS, max_size=5))
    cases = [bench.case(f"c{at}", **fact) for at, fact in enumerate(facts)]
    some = dict.fromkeys([case.case_id for case in cases], MARKS)
    answers = {
        reader: {image: draw(st.fixed_dictionaries({}, optional=some)) for image in IMAGES}
        for reader in ("sees", "text", "vision")
    }
    traits = {name: Traits(modality=name) for name in ("text", "vision")}
    return cases, answers, bench.tables(cases, answers, traits, {"c0": 0.25})


def slowly(cases, answers, rules):
    rows = []
    for case in cases:
        for reader, conditions in answers.items():
            own = {image: marks.get(case.case_id) for image, marks in conditions.items()}
            blind = reader == "vision" and rules.vision_on_sentences == "no"
            if (blind and case.source == "rexerr") or set(own.values()) == {None}:
                continue
            o, t = own["original"], own["target_mask"]
            o, t = (None if mark is None or mark < 0 else mark for mark in (o, t))
            key = truth(case, rules)
            right = None if o is None or key < 0 else o == key
            flipped = None if o is None or t is None else o != t
            unknown = "not known"
            label = {1: "Yes", 0: "No"}.get(key, "no key")
            facts = (case.finding, case.view, case.gender, label, case.source)
            rows.append((case.case_id, reader, right, flipped, *(f or unknown for f in facts)))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["corrected", "authors"])
@given(data=st.data())
@settings(max_examples=60)
def test_the_index_and_the_cards_are_the_obvious_ones(bench, edition, data):
    cases, answers, tables = data.draw(runs(bench))
    made = Grounding.of_run("set@0", "open", edition)
    index = made.card_index(tables)
    assert index.columns == ["case", "reader", "right", "flipped", *made.facets]
    assert index.rows() == slowly(cases, answers, made.rules)
    names = [case.case_id for case in reversed(cases)]
    cards = list(made.cards(tables, [*names, "nobody"]))
    assert [card.case for card in cards] == names
    told = {
        (card.case, said.reader): (said.right, said.flipped, *card.facts.values())
        for card in cards
        for said in card.said
    }
    assert told == {(row[0], row[1]): row[2:] for row in index.rows()}
    for card in cards:
        assert tuple(card.facts) == FACETS
        assert card.slides == ()
        for said in card.said:
            own = {image: marks.get(card.case) for image, marks in answers[said.reader].items()}
            assert len(said.answers) == sum(mark is not None for mark in own.values())
            assert {answer.shown for answer in said.answers} <= dict(card.conditions).keys()


def test_it_is_a_browsed_benchmark():
    assert Grounding.of_run("set@0", "open").facets


def test_each_condition_has_its_answer_and_how_sure_the_reader_was(bench):
    answers = {"original": {"c": 1}, "target_mask": {"c": 0}, "irrelevant_mask": {"c": -1}}
    answers |= {"swap": {"c": -2}, "repeat": {"c": 1}, "matched_1": {"c": -3}}
    tables = bench.tables([bench.case("c")], {"r": answers}, p_yes={"c": 0.9})
    (card,) = Grounding.of_run("set@0", "open").cards(tables, ["c", "c"])
    assert card.title == "pulmonary edema"
    assert dict(card.texts)["question"].startswith("Is pulmonary edema present")
    (said,) = card.said
    assert card.conditions == (
        ("original", "original"),
        ("target_mask", "finding covered"),
        ("irrelevant_mask", "covered elsewhere"),
        ("matched_1", "covered elsewhere in the body"),
        ("swap", "another patient's image, same finding and label"),
    )
    told = [(one.shown, one.asked, one.text, one.right, one.changed) for one in said.answers]
    assert told == [
        ("original", "", "Yes", True, None),
        ("target_mask", "", "No", None, True),
        ("irrelevant_mask", "", "unparsed", None, None),
        ("matched_1", "", "unanswered", None, None),
        ("swap", "", "refused", None, None),
        ("original", "asked again", "Yes", None, None),
    ]
    sure = [one.sure for one in said.answers]
    assert sure == [0.9, pytest.approx(0.1), None, None, None, 0.9]
    assert (said.right, said.flipped, said.lines) == (True, True, ())


def test_a_confidence_that_nobody_stated_is_not_shown(bench):
    """The authors' edition fills in 0 or 1 where no log-probabilities came."""
    tables = bench.tables([bench.case("c")], {"r": {"original": {"c": 1}}}, p_yes={"c": 1.0})
    answers = tables.answers.with_columns(p_reason=pl.lit("no_logprobs"))
    tables = msgspec.structs.replace(tables, answers=answers)
    (card,) = Grounding.of_run("set@0", "open", "authors").cards(tables, ["c"])
    (answer,) = card.said[0].answers
    assert (answer.text, answer.sure) == ("Yes", None)


def test_words_are_kept_where_they_say_more(bench):
    tables = bench.tables([bench.case("c")], {"r": {"original": {"c": -1}}})
    endless = "<script>" * 20_000
    for text, kept in (("Hm", "Hm"), (endless, endless), (None, "")):
        answers = tables.answers.with_columns(text=pl.lit(text, pl.String))
        again = msgspec.structs.replace(tables, answers=answers)
        (card,) = Grounding.of_run("set@0", "open").cards(again, ["c"])
        assert card.said[0].answers[0].reply == kept


def test_report_text_stands_in_texts_alone(bench):
    """A page of a credentialed set leaves texts out."""
    words = "There is a secret effusion."
    case = bench.case(
        "c", source="rexerr", error_sentence=words, original_sentence=words, error_present=1
    )
    tables = bench.tables([case], {"r": {"original": {"c": 1}}})
    (card,) = Grounding.of_run("set@0", "open").cards(tables, ["c"])
    assert words in dict(card.texts)["question"]
    rest = msgspec.structs.replace(card, texts=())
    assert "secret" not in repr(rest)


# ---------------------------------------------------------------- over its cases


N = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("set")


@pytest.fixture(scope="module")
def run(folder):
    return phantom_asked("grounding", folder, N, ["looks", "prior"])


def test_pictures_are_those_the_readers_saw(run):
    made, tables = run
    cases = {case.case_id: case for case in made.cases()}
    cards = list(made.cards(tables, list(cases)))
    assert len(cards) == N
    boxed = 0
    for card in cards:
        case = cases[card.case]
        asked = {t.condition["image"]: t.request.pictures[0] for t in made.trials(case, Traits())}
        order = ("original", "target_mask", "irrelevant_mask", "matched_1", "swap")
        assert {slide.shown: slide.picture for slide in card.slides} == asked
        assert [slide.shown for slide in card.slides] == [one for one in order if one in asked]
        if case.box is None:
            assert all(slide.boxes == () for slide in card.slides)
            continue
        boxed += 1
        shown = {slide.shown: slide for slide in card.slides}
        target = shown["target_mask"]
        covered = (shown["original"], target, shown["irrelevant_mask"])
        assert {slide.boxes for slide in covered} == {(("finding", case.box),)}
        assert shown["swap"].boxes == ()
        # The box lies where the mask is, in the pixels that were shown.
        ((_, box),) = target.boxes
        seen = pixels(render(target.picture))
        assert not seen[box.y : box.y + box.h, box.x : box.x + box.w].any()
    assert boxed
    assert made.card_index(tables).rows() == sorted(
        made.card_index(tables).rows(), key=lambda row: list(cases).index(row[0])
    )


def test_boxes_are_in_the_pixels_shown_at_any_size(folder):
    made, tables = phantom_asked("grounding", folder, N, ["prior"], words={"px": "448"})
    sizes = [
        (case.box, slide)
        for case, card in zip(made.cases(), made.cards(tables, tables.cases["case"]), strict=True)
        for slide in card.slides
        if case.box is not None and slide.boxes
    ]
    for box, slide in sizes:
        assert slide.boxes == (("finding", Box(*(2 * v for v in (box.x, box.y, box.w, box.h)))),)
    covered = [slide for box, slide in sizes if slide.label == "finding covered"]
    assert covered
    for slide in covered:
        assert isinstance(slide.picture.operations[-1], Fill)
        assert slide.picture.operations[-1].box == slide.boxes[0][1]


def test_what_was_asked_has_its_picture_and_nothing_else_has(folder):
    words = {"conditions": "original,target_mask,swap,matched", "draws": "1"}
    made, tables = phantom_asked("grounding", folder, N, ["prior"], words=words)
    labels = {slide.label for c in made.cards(tables, tables.cases["case"]) for slide in c.slides}
    assert "covered elsewhere in the body" in labels
    assert "covered elsewhere" not in labels


def test_a_run_without_its_cases_has_cards_without_slides(run):
    made, tables = run
    kept = Grounding.of_run(made.dataset, "open")
    with_slides = list(made.cards(tables, tables.cases["case"]))
    without = list(kept.cards(tables, tables.cases["case"]))
    assert [msgspec.structs.replace(card, slides=()) for card in with_slides] == without
    assert all(card.slides for card in with_slides)


def test_ten_times_the_answers_take_about_ten_times_as_long_to_index(bench):
    cases = [bench.case(f"c{at}") for at in range(5000)]
    one = bench.tables(cases, {"r": {i: {c.case_id: 1 for c in cases} for i in IMAGES[:4]}})
    names = [f"r{k}" for k in range(10)]
    tables = Tables(
        cases=one.cases,
        answers=pl.concat([one.answers.with_columns(reader=pl.lit(name)) for name in names]),
        readers=tuple(ReaderRecord(name=name) for name in names),
    )
    assert tables.answers.height == 200_000
    made = Grounding.of_run("set@0", "open")
    tenth = msgspec.structs.replace(tables, answers=one.answers, readers=tables.readers[:1])
    few, _ = cpu_seconds(lambda: made.card_index(tenth), 3)
    many, index = cpu_seconds(lambda: made.card_index(tables))
    cards = list(made.cards(tables, [case.case_id for case in cases[100:120]]))
    assert index.height == 50_000
    assert len(cards) == 20
    assert many < 50 * few  # a comparison of all with all would take a hundred times as long


# ---------------------------------------------------------------- answers for a person to look at
# Right answers that stayed when the finding was hidden, on a sheet for a person.


@pytest.fixture
def tables(bench):
    findings = ["edema", "edema", "edema", "pneumonia", "pneumonia", "pneumonia", "edema"]
    cases = [bench.case(f"c{n}", finding=finding) for n, finding in enumerate(findings)]
    cases.append(bench.case("unboxed", box=None, irrelevant_box=None))
    cases.append(bench.case("absent", label=0))
    names = [case.case_id for case in cases]
    answers = {
        # c3 is wrong, c4 flips, c5 is unparsed under the mask.
        "original": dict(zip(names, (1, 1, 1, 0, 1, 1, 1, 1, 0), strict=True)),
        "target_mask": dict(zip(names, (1, 1, 1, 0, 0, -1, 1, 1, 0), strict=True)),
    }
    return bench.tables(cases, {"r": answers})


def test_it_has_the_correct_yes_that_the_mask_left_and_no_other(tables, tmp_path):
    made = Grounding.of_run("nih@0", "open")
    assert made.error_sheet().file == "ungrounded.csv"
    rows = made.errors(tables, "r", 100, 0)
    assert {row.case for row in rows} == {"c0", "c1", "c2", "c6"}
    made.write_errors(tmp_path / "sheet.csv", rows)
    with (tmp_path / "sheet.csv").open(encoding="utf-8", newline="") as file:
        first = next(iter(csv.DictReader(file)))
    assert first["finding"] == "edema"
    assert first["box"] == "10 20 60 70"
    assert (first["reply"], first["reply_with_the_finding_hidden"]) == ("Yes", "Yes")
    assert (
        first["question"].startswith("Is pulmonary edema present") or "edema" in first["question"]
    )
    assert (first["label"], first["note"]) == ("", "")


def test_fewer_rows_are_a_part_of_more_and_a_seed_gives_the_same(tables):
    made = Grounding.of_run("nih@0", "open")
    most, few = (made.errors(tables, "r", n, 3) for n in (4, 2))
    assert few == most[:2] == made.errors(tables, "r", 2, 3)
    orders = {tuple(row.case for row in made.errors(tables, "r", 4, seed)) for seed in range(8)}
    assert len(orders) > 1


def test_who_is_not_there_and_how_many_is_none_are_said(tables):
    made = Grounding.of_run("nih@0", "open")
    with pytest.raises(BadInput, match='reader is "s"; the readers of this run are r'):
        made.errors(tables, "s", 1, 0)
    with pytest.raises(BadInput, match="give 1 or more"):
        made.errors(tables, "r", 0, 0)
