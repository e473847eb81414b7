"""Do the answers follow the truths, in the data and in every resample of the videos?"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.frame_measures import _CORRELATION_METRICS
from overread.benchmarks.heartbeat.marks import mean_over, pearson
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.study import Study
from support.heart_answers import found, rows, tables_of

QUICK = msgspec.structs.replace(CORRECTED, boot=200)
BY = {"task": "t1", "context": "original", "format": "edv_esv"}
MAKE = {metric.name: metric.make for metric in _CORRELATION_METRICS}


def some_run(videos=12, seeds=3):
    """Pairs with holes; the truths of the two phases differ, and answers follow them loosely."""
    rng = np.random.default_rng(4)
    truth = [[(int(a), int(a + b))] * seeds for a, b in rng.integers(2, 20, (videos, 2))]
    said = [
        [
            [None if rng.random() < 0.2 else tuple(int(t + rng.integers(-6, 7)) for t in true)]
            for true in row
        ]
        for row in truth
    ]
    return tables_of(rows(said, truth, wanted="edv_esv", count=50))


@pytest.mark.parametrize("name", ["r", "r2"])
def test_a_resample_is_the_correlation_of_its_videos(name):
    study = Study(some_run(), QUICK)
    (marks,) = study.marks
    often = np.random.default_rng(1).integers(0, 3, (20, study.facts.n))
    for made in MAKE[name](marks, study):
        phase = made.record.by["phase"]
        said, truth = mean_over(marks.said[phase], axis=2), marks.truth[phase]
        got = made.again(often.astype(float) @ made.columns)
        for times, value in zip(often, got, strict=True):
            taken = np.repeat(np.arange(times.size), times)
            each = [pearson(said[taken, s], truth[taken, s], least=3) for s in range(3)]
            power = 2 if name == "r2" else 1
            assert value == pytest.approx(np.mean([r**power for r in each]))
            assert made.limits[0] <= value <= made.limits[1]


def test_whoever_answers_the_other_way_round_has_an_interval_below_0():
    truth = [3, 9, 4, 8, 2, 7, 5, 6]
    off = [1, 0, 2, 0, 1, 0, 1, 2]
    said = [[[12 - t + o]] for t, o in zip(truth, off, strict=True)]
    tables = tables_of(rows(said, [[t] for t in truth], count=20))
    got = found(measure(tables, QUICK), "r", **BY | {"format": "edv", "phase": "ed"})
    assert -1 <= got.low < got.value < got.high < 0


def test_the_mean_over_seeds_leaves_out_those_without_one():
    said = [[[1], [5], [4]], [[2], [5], [1]], [[3], [5], [3]], [[4], [5], [2]]]
    tables = tables_of(rows(said, [[1] * 3, [2] * 3, [3] * 3, [4] * 3], count=20))
    got = found(measure(tables, QUICK), "r", **BY | {"format": "edv", "phase": "ed"})
    assert got.value == pytest.approx((1 - 0.4) / 2)
    assert "not defined at 1 of 3 seeds" in got.note


def test_the_mean_answer_where_the_truth_is_this_frame():
    truth = [[(3, 9)], [(3, 8)], [(5, 9)]]
    said = [[[(1, 7)]], [[(2, 5)]], [[(6, 11)]]]
    got = measure(tables_of(rows(said, truth, wanted="edv_esv", count=20)), QUICK)
    for phase, true, mean, n in (("ed", 3, 1.5, 2), ("ed", 5, 6, 1), ("es", 9, 9, 2),
                                 ("es", 8, 5, 1)):  # fmt: skip
        one = found(got, "predicted", **BY | {"phase": phase, "truth": str(true)})
        assert (one.value, one.n) == (mean, n)
