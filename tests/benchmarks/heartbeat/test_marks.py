"""Answers laid out over videos, seeds and passes, and means over them."""

from __future__ import annotations

import math
import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from overread.benchmarks.heartbeat.marks import (
    Average,
    aggregate,
    facts_of,
    marks_of,
    mean_over,
    median_bounds,
    others_median,
    pearson,
    spread_of,
    spread_over,
)
from support.heart_answers import rows, tables_of

# --------------------------------------------------- Answers laid out over videos, seeds and passes


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


# ------------------------------------------------ From passes to one answer, from answers to a mean

answer = st.one_of(st.just(math.nan), st.integers(-50, 2000).map(float))
cube = arrays(float, st.tuples(*(st.integers(1, 6),) * 3), elements=answer)
table = arrays(float, st.tuples(st.integers(1, 7), st.integers(1, 4)), elements=answer)


def known(values):
    return [x for x in values if not math.isnan(x)]


@given(cube)
def test_aggregation_against_the_obvious(said):
    for how in ("plain", "truncated"):
        got = aggregate(said, how)
        for video, seed in np.ndindex(*got.shape):
            there = known(said[video, seed])
            if not there:
                assert math.isnan(got[video, seed])
                continue
            mean = sum(there) / len(there)
            assert got[video, seed] == (mean if how == "plain" else int(mean))


def test_a_mean_beyond_64_bits_becomes_what_the_cast_makes_of_it():
    # 2^63 - 1, which a table holds, is 2^63 as a float.
    for beyond in (1e30, -1e30, float(2**63 - 1)):
        assert aggregate(np.array([[[beyond]]]), "truncated")[0, 0] == -(2.0**63)


@given(table)
def test_both_means_against_the_obvious(values):
    seeds = [statistics.fmean(c) for column in values.T if (c := known(column))]
    videos = [statistics.fmean(r) for row in values if (r := known(row))]
    for over, each in (("seeds", seeds), ("videos", videos)):
        got = Average(values, over)
        assert got.point == (pytest.approx(statistics.fmean(each)) if each else None)
        assert got.n == len(videos)
        several = len(seeds) > 1
        assert got.sd_seeds == (pytest.approx(statistics.stdev(seeds)) if several else None)
        several = len(videos) > 1
        assert got.sd_videos == (pytest.approx(statistics.stdev(videos)) if several else None)


@given(table)
def test_the_mean_of_the_data_is_the_mean_of_a_resample_that_takes_each_video_once(values):
    for over in ("seeds", "videos"):
        average = Average(values, over)
        again = Average.again(average.columns.sum(axis=0)[None])[0]
        if average.point is None:
            assert math.isnan(again)
        else:
            assert again == pytest.approx(average.point)


@given(table, st.data())
def test_the_best_constant_against_the_obvious(truth, data):
    videos = len(truth)
    patients = np.array(data.draw(st.lists(st.integers(0, 3), min_size=videos, max_size=videos)))
    patients = data.draw(st.sampled_from([patients, np.arange(videos)]))
    got = np.abs(truth - others_median(truth, patients.astype(np.int64)))
    for video, seed in np.ndindex(*truth.shape):
        others = known(truth[patients != patients[video], seed])
        if math.isnan(truth[video, seed]) or not others:
            assert math.isnan(got[video, seed])
        else:
            assert got[video, seed] == abs(truth[video, seed] - statistics.median(others))


@given(table)
def test_spread_along_an_axis(values):
    for axis in (0, 1):
        rows = values.T if axis == 0 else values
        for got, row in zip(spread_over(values, axis), rows, strict=True):
            want = spread_of(row)
            assert math.isnan(got) if want is None else got == pytest.approx(want)
            there = known(row)
            assert want == (pytest.approx(statistics.stdev(there)) if len(there) > 1 else None)


pairs = st.lists(st.tuples(answer, answer), max_size=12)


@given(pairs)
def test_correlation_against_the_standard_library(points):
    x, y = (np.array([p[i] for p in points], dtype=float) for i in (0, 1))
    both = [(a, b) for a, b in points if not (math.isnan(a) or math.isnan(b))]
    got = pearson(x, y, least=3)
    if len(both) < 3 or len({a for a, _ in both}) < 2 or len({b for _, b in both}) < 2:
        assert got is None
    else:
        assert got == pytest.approx(statistics.correlation(*zip(*both, strict=True)), abs=1e-9)


def test_two_points_correlate_only_where_two_are_asked_for():
    x, y = np.array([4.0, 9.0]), np.array([5.0, 30.0])
    assert pearson(x, y, least=3) is None
    assert pearson(x, y, least=2) == pytest.approx(1.0)


def test_rounding_takes_no_correlation_beyond_1():
    x = np.array([33.0, 7, 3, 34, 0, 21])
    assert pearson(x, 3 * x + 1, least=3) == 1
    assert pearson(x, -3 * x - 1, least=3) == -1


def test_absurd_answers_do_not_overflow():
    x = np.array([1e300, 2.0, 3.0])
    assert pearson(x, np.array([9.0, 1.0, 2.0]), least=3) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@given(st.lists(st.floats(0, 100), min_size=2, max_size=60))
def test_the_bounds_of_a_median_hold_it(values):
    low, middle, high = median_bounds(np.array(values), 1.0)
    assert low <= middle <= high
    wide_low, _, wide_high = median_bounds(np.array(values), 3.0)
    assert wide_low <= low
    assert wide_high >= high


def test_nothing_has_no_mean():
    assert np.isnan(mean_over(np.full((2, 3), np.nan), axis=1)).all()
    assert Average(np.full((2, 3), np.nan), "videos").point is None


@pytest.mark.parametrize("effect", [1.0, 4.0])
def test_the_bounds_of_a_median_are_wilsons_of_one_half(effect):
    values = np.arange(401.0)
    z, n = 1.959963984540054, 401 / effect
    half = z / (2 * (n + z * z) ** 0.5)
    low, middle, high = median_bounds(values, effect)
    assert (low, middle, high) == pytest.approx((400 * (0.5 - half), 200, 400 * (0.5 + half)))


def test_the_bounds_of_a_median_are_no_wider_for_a_video_more():
    """Of evenly spread errors, at any number of videos that has bounds within their range."""
    widths = []
    for n in range(5, 61):
        low, _, high = median_bounds(np.arange(n) / (n - 1), 1.0)
        widths.append(high - low)
    ratios = np.array(widths[1:]) / widths[:-1]
    assert ratios.max() <= 1
    assert ratios.min() >= 0.9
