"""Intervals: which videos and patients stand behind them, and how often they are drawn."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.measures import measure
from overread.measuring.notes import FEW_CLUSTERS, ONE_CLUSTER
from overread.stats import wilson
from support.heart_answers import found, rows, tables_of

QUICK = msgspec.structs.replace(CORRECTED, boot=200)
BY = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}
OFF = [1, 3, 0, 2, 5, 1, 0, 4]
TRUTH = [3, 9, 4, 8, 2, 7, 5, 6]


def measured(name, off=OFF, patients=None, rules=QUICK, seeds=1, truth=TRUTH):
    said = [
        [["unanswered" if x is None else t + x]] * seeds for t, x in zip(truth, off, strict=True)
    ]
    tables = tables_of(rows(said, [[t] * seeds for t in truth], count=20), patients)
    return found(measure(tables, rules), name, reader="r", **BY)


def test_the_resamples_follow_the_seed():
    rules = [msgspec.structs.replace(QUICK, seed=seed) for seed in range(4)]
    got = [measured("r", rules=each) for each in rules]
    assert len({(one.low, one.high) for one in got}) > 1
    assert [one.how.seed for one in got] == [0, 1, 2, 3]


def test_an_interval_of_many_columns_is_drawn_from_a_fifth_of_the_resamples():
    assert measured("r", seeds=1).how.boot == 200
    assert measured("r", seeds=2).how.boot == 40


@pytest.mark.parametrize("patients", [None, list("aabbccdd")])
def test_where_all_videos_agree_wilsons_bound_counts_the_patients(patients):
    got = measured("mae", [0] * 8, patients)
    many = 8 if patients is None else 4
    assert (got.low, got.value, got.high) == (0, 0, pytest.approx(wilson(0, many).high))


def test_one_patient_with_several_clips_has_no_interval():
    for name in ("mae", "parsed"):
        got = measured(name, patients=["p"] * 8)
        assert (got.low, got.high) == (None, None)
        assert ONE_CLUSTER in got.flags


def test_videos_without_an_answer_make_no_interval_possible():
    got = measured("mae", [2, *[None] * 7])
    assert (got.value, got.n, got.low) == (2, 1, None)
    assert ONE_CLUSTER in got.flags


def test_a_little_spread_never_gets_a_narrower_interval_than_none():
    none, some = (measured("mae", [*[0] * 7, x]) for x in (0, 1))
    assert none.high <= some.high
    assert some.low == 0


@pytest.mark.parametrize("name", ["mae", "mae_median", "skill", "r", "parsed"])
def test_intervals_of_few_patients_are_flagged_whatever_made_them(name):
    off, truth = [*OFF, *OFF], [*TRUTH, *TRUTH]
    assert FEW_CLUSTERS in measured(name, off, list("aabbccddeeffgghh"), truth=truth).flags
    assert FEW_CLUSTERS not in measured(name, off, list("abcdefghijklmnop"), truth=truth).flags
