"""Judged numbers without the judges' errors: by known truths, and by cases that people checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from overread.stats import (
    Interval,
    clustered_mean,
    corrected_rate,
    prediction_powered,
    wilson,
)

SHARE = (0.0, 1.0)

# ---------------------------------------------------------------- by known truths


def test_a_perfect_judge_changes_no_rate_and_widens_it_a_little():
    rate = wilson(80, 100)
    found = corrected_rate(rate, wilson(500, 500), wilson(500, 500))
    assert found.point == pytest.approx(0.8)
    assert found.sd == pytest.approx(rate.sd, rel=0.02)


def test_a_judge_that_tosses_coins_says_nothing():
    assert corrected_rate(wilson(50, 100), wilson(50, 100), wilson(50, 100)) is None
    assert corrected_rate(Interval(None, None, None, None, 0), wilson(9, 10), wilson(9, 10)) is None


# ---------------------------------------------------------------- by cases that people checked


def judged_cases(rng, n=300, checked=60, *, each=1, alike=0.0, rate=0.6, right=(0.9, 0.7)):
    """Of n replies, so many of a patient, whether the judge and people call them right.

    `right` are the judge's sensitivity and specificity; people judged those drawn by lot.
    """
    patients = np.repeat(np.arange(n // each), each)
    shared, own = rng.standard_normal(n // each)[patients], rng.standard_normal(n)
    true = np.sqrt(alike) * shared + np.sqrt(1 - alike) * own < ndtri(rate)
    correct = rng.random(n) < np.where(true, *right)
    people = np.full(n, np.nan)
    drawn = rng.permutation(n)[:checked]
    people[drawn] = true[drawn]
    return np.where(correct, true, ~true).astype(float), people, patients


@st.composite
def cases(draw):
    n = draw(st.integers(4, 40))
    scores = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    some = st.lists(scores, min_size=n, max_size=n)
    patients = draw(st.lists(st.integers(0, n), min_size=n, max_size=n))
    return np.array(draw(some)), np.array(draw(some)), np.array(patients)


@given(cases())
def test_where_people_checked_everything_the_judge_is_not_asked(found):
    judged, people, patients = found
    made = prediction_powered(judged, people, patients, SHARE).found
    alone, _ = clustered_mean(float(people.mean()), people, patients, SHARE)
    assert made == alone


@given(cases(), st.integers(3, 39))
def test_a_perfect_judge_keeps_its_number_and_no_sample_makes_it_more_certain(found, m):
    judged, _, patients = found
    m = min(m, judged.size - 1)
    people = np.where(np.arange(judged.size) < m, judged, np.nan)
    made = prediction_powered(judged, people, patients, SHARE)
    if np.ptp(judged[:m]) > 0:
        assert made.weight == pytest.approx(1)
        assert made.found.point == pytest.approx(judged.mean())
        if np.unique(patients[:m]).size > 1:
            _, spread = clustered_mean(float(judged.mean()), judged, np.arange(judged.size), SHARE)
            assert made.found.sd > np.sqrt(spread.variance) * (1 - 1e-9)
    else:
        assert made.weight == 0
        assert made.found.point == pytest.approx(judged[:m].mean())


def test_the_more_a_perfect_judge_is_checked_the_nearer_its_interval_is_to_the_judged_one():
    judged = np.tile([1.0, 1.0, 0.0], 100)
    alone, _ = clustered_mean(float(judged.mean()), judged, range(300), SHARE)
    widths = []
    for m in (10, 30, 100, 299):
        people = np.where(np.arange(300) < m, judged, np.nan)
        found = prediction_powered(judged, people, range(300), SHARE).found
        assert found.low < alone.low < alone.high < found.high
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(alone.high - alone.low, rel=0.02)


@pytest.mark.slow
@given(cases(), st.integers(1, 39), st.randoms())
def test_neither_order_nor_scale_nor_names_matter_and_it_stays_within_the_limits(found, m, random):
    judged, people, patients = found
    people = np.where(np.arange(people.size) < m, people, np.nan)
    made = prediction_powered(judged, people, patients, SHARE)
    if made.found.low is not None:
        assert 0 <= made.found.low <= made.found.point <= made.found.high <= 1
        assert made.found.low < made.found.high
    order = list(range(judged.size))
    random.shuffle(order)
    other = prediction_powered(judged[order], people[order], -patients[order], SHARE).found
    scaled = prediction_powered(10 * judged + 5, 10 * people + 5, patients, (5.0, 15.0)).found
    for name in ("point", "low", "high"):
        one = getattr(made.found, name)
        if one is None:
            assert getattr(other, name) is None
            assert getattr(scaled, name) is None
        else:
            assert getattr(other, name) == pytest.approx(one, abs=1e-9)
            assert getattr(scaled, name) == pytest.approx(10 * one + 5, abs=1e-7)


def test_a_judge_that_says_one_thing_leaves_what_people_say():
    people = np.where(np.arange(100) < 20, np.tile([1.0, 0.0], 50), np.nan)
    found, _, weight = prediction_powered(np.ones(100), people, range(100), SHARE)
    assert (found.point, weight) == (0.5, 0.0)
    alone = wilson(10, 20)
    assert found.high - found.low == pytest.approx(alone.high - alone.low, rel=0.02)
    # All right in twenty checks is no more than twenty checks say.
    sure = prediction_powered(
        np.ones(100), np.where(np.arange(100) < 20, 1.0, np.nan), range(100), SHARE
    )
    assert (sure.found.low, sure.found.high) == pytest.approx((wilson(20, 20).low, 1.0))


def test_what_needs_no_judge_is_counted_and_not_put_right():
    judged = np.concatenate((np.tile([1.0, 0.0], 50), np.zeros(100)))
    people = np.full(200, np.nan)
    people[:20] = np.tile([1.0, 1.0], 10)  # the judge calls half of what is right wrong
    settled = np.arange(200) >= 100
    found = prediction_powered(judged, people, range(200), SHARE, settled).found
    assert found.point == 0.5
    assert found.n == 200
    assert prediction_powered(judged, people, range(200), SHARE).found.point == 1.0


def test_without_limits_it_is_students_and_undefined_where_nothing_varies():
    rng = np.random.default_rng(0)
    true = rng.normal(50, 10, 400)
    judged, people = true + rng.normal(5, 3, 400), np.where(np.arange(400) < 50, true, np.nan)
    found, spread, weight = prediction_powered(judged, people, range(400))
    assert found.point == pytest.approx(true.mean(), abs=3 * found.sd)
    assert found.high - found.point == pytest.approx(found.point - found.low)
    assert 0.8 < weight <= 1
    assert 48 <= spread.df <= 448
    flat = prediction_powered(np.ones(9), np.where(np.arange(9) < 4, 2.0, np.nan), range(9)).found
    assert (flat.point, flat.low, flat.high) == (2.0, None, None)


def test_nothing_checked_has_no_value_and_two_checks_no_interval():
    judged = np.tile([1.0, 0.0], 10)
    nobody = prediction_powered(judged, np.full(20, np.nan), range(20), SHARE).found
    assert (nobody.point, nobody.low, nobody.n) == (None, None, 20)
    people = np.where(np.arange(20) < 2, judged, np.nan)
    two = prediction_powered(judged, people, range(20), SHARE).found
    assert two.point is not None
    assert (two.low, two.high) == (None, None)
    people = np.where(np.arange(20) < 8, judged, np.nan)
    one_patient = prediction_powered(judged, people, np.arange(20) // 10, SHARE).found
    assert (one_patient.low, one_patient.high) == (None, None)


@pytest.mark.slow
@pytest.mark.parametrize(("each", "alike"), [(1, 0.0), (3, 0.3)])
@pytest.mark.parametrize("right", [(0.9, 0.7), (0.7, 0.95), (0.98, 0.98)])
def test_the_interval_holds_under_a_biased_judge_and_is_narrower_than_that_of_people_alone(
    right, each, alike
):
    rng = np.random.default_rng(3)
    held, judges_hold, width, alone = 0, 0, 0.0, 0.0
    for _ in range(500):
        judged, people, patients = judged_cases(rng, each=each, alike=alike, right=right)
        made = prediction_powered(judged, people, patients, SHARE).found
        there = ~np.isnan(people)
        some, _ = clustered_mean(float(people[there].mean()), people[there], patients[there], SHARE)
        every, _ = clustered_mean(float(judged.mean()), judged, patients, SHARE)
        held += made.low <= 0.6 <= made.high
        judges_hold += every.low <= 0.6 <= every.high
        width, alone = width + made.high - made.low, alone + some.high - some.low
    assert 0.925 <= held / 500 <= 0.985
    assert right == (0.98, 0.98) or judges_hold / 500 < 0.8
    assert width < 0.93 * alone
