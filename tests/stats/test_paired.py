"""Paired differences: one test, and an interval that never contradicts it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import difference_p, flip_p, paired_values, sign_flip_p

thirds = st.integers(0, 3).map(lambda k: k / 3)
values = st.sampled_from([st.integers(0, 1).map(float), thirds, st.floats(-3, 3)])
pairs = values.flatmap(
    lambda one: st.lists(st.tuples(one, one, st.integers(0, 9)), min_size=1, max_size=30)
)


@given(pairs)
def test_the_interval_holds_0_exactly_where_p_is_above_the_level(rows):
    one, two, owners = map(np.array, zip(*rows, strict=True))
    shares = bool((one >= 0).all() and (one <= 1).all() and (two >= 0).all() and (two <= 1).all())
    found = paired_values(one, two, owners, (-1.0, 1.0) if shares else (-np.inf, np.inf))
    at = found.interval
    assert 0 < found.p <= 1
    if at.low is None:
        return
    assert at.low <= at.point <= at.high
    assert at.low < at.high
    assert (at.low <= 0 <= at.high) == (found.p > 0.05)


@given(st.lists(st.integers(-1, 1), min_size=1, max_size=40))
def test_marks_of_independent_cases_have_mcnemars_p(each):
    p = flip_p(each, range(len(each)))
    assert p == difference_p(each.count(1), each.count(-1))


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 5)), min_size=1, max_size=30))
def test_marks_of_repeated_patients_flip_by_patient(rows):
    each, owners = zip(*rows, strict=True)
    assert flip_p(each, owners) == pytest.approx(sign_flip_p(each, owners))


@given(st.lists(st.integers(-20, 20).map(lambda k: k / 7), min_size=1, max_size=9))
def test_few_amounts_have_the_share_of_all_signs(each):
    p = flip_p(each, range(len(each)))
    totals = [
        sum(s * x for s, x in zip(signs, each, strict=True))
        for signs in product((1, -1), repeat=len(each))
    ]
    scale = sum(map(abs, each))
    exact = sum(abs(t) >= abs(sum(each)) - 1e-9 * scale for t in totals) / len(totals)
    assert p == pytest.approx(exact)


def test_many_amounts_are_near_the_normal_tail_and_always_the_same():
    from scipy.stats import norm

    each = np.random.default_rng(0).normal(0.12, 1, 300)
    p = flip_p(each, range(300))
    assert p == flip_p(each[::-1], range(300))
    assert p == pytest.approx(2 * norm.sf(abs(each.sum()) / np.sqrt((each**2).sum())), abs=0.01)


def test_who_is_compared_with_himself_differs_by_nothing_and_by_little_at_most():
    same = np.arange(40) % 2
    found = paired_values(same, same, range(40), (-1.0, 1.0))
    assert (found.interval.point, found.p) == (0.0, 1.0)
    assert -0.15 < found.interval.low < 0 < found.interval.high < 0.15


def test_without_cases_nothing_is_said():
    found = paired_values([], [], [])
    assert (found.interval.point, found.p) == (None, None)
