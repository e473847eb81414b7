"""Answers laid out over videos, seeds and passes."""

from __future__ import annotations

import numpy as np
import polars as pl

from overread.benchmarks.heartbeat.marks import facts_of, marks_of
from support.heart_answers import rows, tables_of


def marks(some):
    tables = tables_of(some)
    (one,) = marks_of(tables.answers, facts_of(tables.cases))
    return one


def test_the_borders_of_the_frames_shown():
    one = marks(rows([[[-1, 0, 11, 12]]], [[3]], count=12))
    assert one.inside("ed").tolist() == [[[False, True, True, False]]]
    assert one.clipped("ed").tolist() == [[[0, 0, 11, 11]]]


def test_the_frames_shown_are_counted_not_those_the_question_states():
    some = rows([[[11]], [[11]]], [[3], [3]], count=10)
    some[0] |= {"stated": 20}
    some[1] |= {"stated": 20, "count": None}  # not known: what was stated is all there is
    one = marks(some)
    assert one.count.tolist() == [[10], [20]]
    assert one.inside("ed").tolist() == [[[False]], [[True]]]


def test_two_frames_are_two_whatever_the_table_says():
    some = rows([[[2]]], [[1]], task="t2")
    some[0] |= {"count": None, "stated": None}
    assert marks(some).count.tolist() == [[2]]


def test_a_number_in_a_reply_that_is_no_answer_is_not_said():
    some = rows([[[4, 5]]], [[3]])
    some[1] |= {"outcome": "refused"}
    one = marks(some)
    assert np.array_equal(one.said["ed"], [[[4, np.nan]]], equal_nan=True)
    assert one.replied.tolist() == [[[True, True]]]


def test_an_error_is_no_reply_and_a_pass_never_asked_is_none():
    some = rows([[["unanswered"], [4]], [["unanswered"], [None]]], [[3, 3]] * 2)
    one = marks(some[:-1])
    assert one.replied.tolist() == [[[False], [True]], [[False], [False]]]
    assert one.heard.tolist() == [[False, True], [False, False]]


def test_the_stated_ef_goes_before_that_of_the_traced_volumes():
    cases = pl.DataFrame(
        {
            "case": ["a", "b", "c", "d"],
            "ef": [55.0, None, None, None],
            "ed_volume": [100.0, 100.0, 0.0, None],
            "es_volume": [30.0, 30.0, 0.0, 20.0],
        }
    )
    assert np.array_equal(facts_of(cases).ef, [55, 70, np.nan, np.nan], equal_nan=True)
