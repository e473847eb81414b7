"""A run as arrays: which items there are, what ties them, and what each reader said."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from overread.benchmarks.medcmr.benchmark import MedCMR
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.benchmarks.medcmr.study import (
    GROUPS,
    MCQ,
    OPEN,
    REFORMULATED,
    Asking,
    Study,
    facts_of,
)
from support.med_tables import chose, mcq, opened, tables_of, wrote


def facts(cases, clusters="image"):
    return facts_of(tables_of(cases, []).cases, clusters)


def codes(cases):
    return facts(cases).clusters.tolist()


def test_multiple_choice_comes_first_then_by_index():
    made = facts([opened(2), mcq(10), mcq(9), opened(1)])
    assert made.cases == ("mcq-9", "mcq-10", "open-1", "open-2")
    assert made.of("mcq").tolist() == [True, True, False, False]


def test_the_right_and_the_longest_option_are_places():
    made = facts([mcq(1, "D"), mcq(2, "A", options=("x", "y")), opened(3)])
    assert made.answer.tolist() == [3, 0, -1]
    assert made.longest.tolist() == [1, 0, -1]  # the first of several
    assert made.options.tolist() == [5, 2, 0]


def test_length_is_counted_in_characters():
    assert facts([mcq(1, options=("ééé", "xxxx"))]).longest.tolist() == [1]


def test_items_that_share_an_image_or_a_patient_are_one_cluster():
    cases = [
        mcq(1, images=["a.png"]),
        mcq(2, images=["b.png"]),
        mcq(3, images=["c.png", "a.png"]),
        mcq(4, images=["d.png"], patient="p"),
        mcq(5, images=["c.png"]),  # by way of item 3
        mcq(6, images=[], patient="p"),
        mcq(7, images=[]),
        mcq(8, images=["p"]),  # an image named as a patient is
        opened(1, images=["b.png"]),
    ]
    assert codes(cases) == [0, 1, 0, 2, 0, 2, 3, 4, 1]


def test_without_anything_shared_every_item_is_its_own():
    cases = [mcq(1, images=["a.png"]), mcq(2, images=["a.png"])]
    assert facts(cases, "item").clusters.tolist() == [0, 1]
    assert codes([mcq(1, images=[]), mcq(2, images=[])]) == [0, 1]


def test_no_items_are_no_trouble():
    assert facts([]).n == 0
    assert facts([]).clusters.tolist() == []


def marks(cases, answers, reader="one"):
    study = Study(tables_of(cases, answers), None, AUTHORS)
    return next(one for one in study.marks if one.reader == reader)


def test_what_was_said_stands_at_the_item():
    cases = [mcq(1, "B"), mcq(2, "C"), mcq(3), mcq(4), opened(1)]
    rows = [chose("one", 1, "B"), chose("one", 2, "?"), chose("one", 3, "!"), wrote("one", 1)]
    made = marks(cases, rows)
    said = made.said[MCQ]
    assert said.choice.tolist() == [1, -1, -1, -1, -1]
    assert [said.had(o)[:4].tolist().index(True) for o in ("answered", "unparsed", "refused")] == [
        0,
        1,
        2,
    ]
    assert made.right(MCQ).tolist() == [True, False, False, False, False]
    assert made.asked(OPEN).tolist() == [False] * 4 + [True]


def test_an_item_without_a_row_was_asked_plainly_and_has_no_answer():
    made = marks([mcq(1), mcq(2)], [chose("one", 1, "A")])
    assert made.asked(MCQ).tolist() == [True, True]
    assert made.said[MCQ].had("unanswered").tolist() == [False, True]


@pytest.mark.parametrize(
    "cell", [Asking("mcq", "blank"), Asking("mcq", "original", 1), REFORMULATED]
)
def test_elsewhere_only_items_with_a_row_were_asked(cell):
    rows = [
        chose("one", 1, "A", image="blank"),
        chose("one", 1, "A", order=1),
        wrote("one", 1, form="reformulated"),
    ]
    made = marks([mcq(1), mcq(2)], rows)
    assert made.asked(cell).tolist() == [True, False]
    assert MCQ not in made.said
    assert not made.asked(MCQ).any()
    assert not made.right(MCQ).any()


def test_a_letter_of_a_reply_that_was_not_read_does_not_count():
    made = marks([mcq(1)], [chose("one", 1, "A", outcome="refused")])
    assert made.said[MCQ].choice.tolist() == [-1]


def test_probabilities_stand_by_option_and_a_gap_leaves_none():
    cases = [mcq(1), mcq(2, options=("x", "y")), mcq(3, options=("x", "y")), mcq(4)]
    rows = [
        chose("one", 1, "A", probabilities=[0.5, 0.2, 0.1, 0.1, 0.1]),
        chose("one", 2, "A", probabilities=[0.75, 0.25]),
        chose("one", 3, "A", probabilities=[0.75, None]),
        chose("one", 4, "A", probabilities=[0.5, 0.5]),  # of five options
    ]
    found = marks(cases, rows).said[MCQ].probabilities
    assert found[0].tolist() == [0.5, 0.2, 0.1, 0.1, 0.1]
    assert found[1, :2].tolist() == [0.75, 0.25]
    assert np.isnan(found[1, 2:]).all()
    assert np.isnan(found[2:]).all()
    assert marks(cases[:1], [chose("one", 1, "A")]).said[MCQ].probabilities is None


def test_rows_about_other_items_or_readers_stay_out():
    tables = tables_of([mcq(1)], [chose("one", 1, "A"), chose("one", 7, "A")], ["one", "none"])
    study = Study(tables, None, CORRECTED)
    assert [len(one.said) for one in study.marks] == [1, 0]
    assert study.marks[0].said[MCQ].rows.tolist() == [True]


def test_replies_are_read_where_they_are_looked_at(tmp_path):
    tables = tables_of([mcq(1), opened(2)], [chose("one", 1, "A"), wrote("one", 2)], ["one"])
    tables.answers.write_parquet(tmp_path / "answers.parquet")
    tables.cases.write_parquet(tmp_path / "cases.parquet")
    left = msgspec.structs.replace(
        tables,
        answers=tables.answers.select("reader", "case"),
        cases=tables.cases.drop(MedCMR.left_in_files["cases"]),
        files={name: tmp_path / f"{name}.parquet" for name in ("cases", "answers")},
    )
    for held in (tables, left):
        study = Study(held, None, CORRECTED)
        (row,) = study.replies("one", OPEN).iter_rows(named=True)
        assert study.cases[row["place"]] == tables.cases["case"][1]
        assert row["text"] == tables.answers["text"][1]
        assert study.marks[0].said[OPEN].spoke.tolist() == [False, True]


def test_groups_are_named_in_the_papers_order_and_others_after():
    cases = [
        mcq(1, dimension="MSI", subtype="b", system="of its own"),
        mcq(2, dimension="SOD", subtype="a", system="Urinary"),
        mcq(3, dimension=None, ability="DX"),
        opened(1, "FDD"),
    ]
    study = Study(tables_of(cases, []), None, CORRECTED)
    assert [one.by for one in study.groups(*GROUPS)] == [
        {},
        {"dimension": "SOD"},
        {"dimension": "FDD"},
        {"dimension": "MSI"},
        {"family": "visual"},
        {"family": "reasoning"},
        {"ability": "DX"},
        {"system": "Urinary"},
        {"system": "of its own"},
        {"dimension": "SOD", "subtype": "a"},
        {"dimension": "MSI", "subtype": "b"},
    ]
    families = facts_of(
        tables_of(
            [mcq(n, dimension=name) for n, name in enumerate(("SU", "CR", "of its own"))], []
        ).cases,
        "item",
    )
    assert families.columns["family"].tolist() == ["visual", "reasoning", ""]
