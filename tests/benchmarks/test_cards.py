"""The index of cards, and cards as they are dealt."""

from __future__ import annotations

import polars as pl

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.cards import (
    UNKNOWN,
    about_cases,
    deal,
    facet_values,
    index_of,
    rows_by_reader,
    slides_of,
    title_of,
)
from overread.case import Message, Picture, Request, Said, Slide, Source, Trial

CASES = pl.DataFrame(
    {"case": ["c2", "c1", "c3"], "finding": ["edema", "", None], "question": ["Why?", "", "How?"]}
)
ANSWERS = pl.DataFrame(
    {
        "reader": ["b", "a", "a", "a", "nobody"],
        "case": ["c1", "c1", "c2", "c2", "c1"],
        "text": ["no", "yes", "yes", "again", "x"],
    }
)
TABLES = Tables(
    cases=CASES, answers=ANSWERS, readers=(ReaderRecord(name="a"), ReaderRecord(name="b"))
)
FACETS = facet_values(CASES, {"finding": "finding", "view": "view"})
TOLD = pl.DataFrame({"reader": ["a", "a"], "case": ["c1", "c2"], "right": [True, False]})


def test_facets_that_a_set_does_not_say_are_not_known() -> None:
    assert FACETS["finding"].to_list() == ["edema", UNKNOWN, UNKNOWN]
    assert FACETS["view"].to_list() == [UNKNOWN] * 3


def test_the_index_has_a_row_for_each_case_and_reader_that_was_asked() -> None:
    index = index_of(TABLES, FACETS, TOLD)
    assert index.columns == ["case", "reader", "right", "flipped", "finding", "view"]
    assert index.rows() == [
        ("c2", "a", False, None, "edema", UNKNOWN),
        ("c1", "a", True, None, UNKNOWN, UNKNOWN),
        ("c1", "b", None, None, UNKNOWN, UNKNOWN),
    ]
    asked = index_of(
        TABLES, FACETS, TOLD.with_columns(flipped=True), ANSWERS.filter(pl.col("case") == "c2")
    )
    assert asked.rows() == [("c2", "a", False, True, "edema", UNKNOWN)]


def test_cards_are_dealt_in_the_order_chosen() -> None:
    rows = rows_by_reader(ANSWERS, ("text",))
    assert [row["text"] for row in rows["c2", "a"]] == ["yes", "again"]
    cases = {row["case"]: row for row in CASES.iter_rows(named=True)}
    dealt = list(
        deal(
            ["c1", "gone", "c3", "c1", "c2"],
            cases,
            index_of(TABLES, FACETS, TOLD),
            FACETS,
            title=lambda case: title_of(case["question"], case["case"]),
            texts=lambda case: [("question", case["question"])],
            slides=lambda case: (),
            said=lambda case, reader, right, flipped: Said(
                reader=reader, lines=(("said", rows[case["case"], reader][0]["text"]),), right=right
            ),
            conditions={},
        )
    )
    assert [card.case for card in dealt] == ["c1", "c3", "c2"]
    assert [card.title for card in dealt] == ["c1", "How?", "Why?"]
    assert dealt[2].facts == {"finding": "edema", "view": UNKNOWN}
    assert [(one.reader, one.right) for one in dealt[0].said] == [("a", True), ("b", None)]
    assert dealt[1].said == ()


def test_tables_about_some_cases() -> None:
    own = about_cases(TABLES, ["c2", "c2"])
    assert (own.cases.height, own.answers.height, own.verdicts) == (1, 2, None)


def test_each_kind_of_image_is_shown_once_and_several_are_numbered() -> None:
    pictures = [Picture(Source("root", name)) for name in ("a.png", "b.png")]

    def trial(image: str, *shown: Picture) -> Trial:
        return Trial("c", {"image": image}, Request((Message("user", (*shown, "?")),)))

    trials = [
        trial("original", *pictures),
        trial("original", pictures[0]),
        trial("blank", pictures[1]),
    ]
    assert list(slides_of(trials, {"original": "image"})) == [
        Slide(label="image, 1 of 2", picture=pictures[0], shown="original"),
        Slide(label="image, 2 of 2", picture=pictures[1], shown="original"),
        Slide(label="blank", picture=pictures[1], shown="blank"),
    ]
