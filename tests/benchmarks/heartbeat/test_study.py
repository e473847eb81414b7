"""Intervals: which videos and patients stand behind them, and how often they are drawn."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.marks import facts_of
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.study import proportion
from overread.case import Measure
from overread.stats import design_effect, wilson
from support.heart_answers import found, rows, tables_of

QUICK = msgspec.structs.replace(CORRECTED, boot=200)
BY = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}
OFF = [1, 3, 0, 2, 5, 1, 0, 4]
TRUTH = [3, 9, 4, 8, 2, 7, 5, 6]


def measured(name, off=OFF, patients=None, rules=QUICK, seeds=1):
    said = [
        [["unanswered" if x is None else t + x]] * seeds for t, x in zip(TRUTH, off, strict=True)
    ]
    tables = tables_of(rows(said, [[t] * seeds for t in TRUTH], count=20), patients)
    return found(measure(tables, rules), name, reader="r", **BY)


def test_the_resamples_follow_the_seed():
    rules = [msgspec.structs.replace(QUICK, seed=seed) for seed in range(4)]
    got = [measured("r", rules=each) for each in rules]
    assert len({(one.low, one.high) for one in got}) > 1
    assert [one.method.rpartition(":")[2] for one in got] == ["0", "1", "2", "3"]


def test_an_interval_of_many_columns_is_drawn_from_a_fifth_of_the_resamples():
    assert measured("r", seeds=1).method == "bootstrap of videos:200:0"
    assert measured("r", seeds=2).method == "bootstrap of videos:40:0"


@pytest.mark.parametrize("patients", [None, list("aabbccdd")])
def test_where_all_videos_agree_wilsons_bound_counts_the_patients(patients):
    got = measured("mae", [0] * 8, patients)
    many = 8 if patients is None else 4
    assert (got.low, got.value, got.high) == (0, 0, pytest.approx(wilson(0, many).high))


def test_one_patient_with_several_clips_has_no_interval():
    for name, note in (("mae", "one patient only"), ("parsed", "one video has no interval")):
        got = measured(name, patients=["p"] * 8)
        assert (got.low, got.high) == (None, None)
        assert note in got.note


def test_videos_without_an_answer_make_no_interval_possible():
    got = measured("mae", [2, *[None] * 7])
    assert (got.value, got.n, got.low) == (2, 1, None)
    assert "one video has no interval" in got.note


def test_a_share_is_worth_as_many_replies_as_the_design_effect_leaves():
    tables = tables_of(rows([[[1]]] * 8, [[1]] * 8), list("aabbccdd"))
    facts = facts_of(tables.cases)
    hits = np.array([True, True, False, False, True, True, False, False])[:, None]
    got = proportion(Measure(reader="r", measure="m"), hits, np.ones((8, 1), bool), facts)
    effect = design_effect(hits[:, 0], facts.patients)
    want = wilson(4, 8, design_effect=effect)
    assert effect > 1.5
    assert (got.k, got.n, got.low, got.high) == (4, 8, want.low, want.high)
