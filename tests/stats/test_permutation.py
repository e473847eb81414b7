"""Permutation tests, against permuting one by one and against listing everything."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import groups_p, permutation_k_groups, permutation_two_groups

OUTCOMES = st.lists(st.integers(0, 1), max_size=12)


def squares(groups) -> Fraction:
    return sum((Fraction(sum(g) ** 2, len(g)) for g in groups), Fraction(0))


# ---------------------------------------------------------------- the authors' streams


@given(OUTCOMES, OUTCOMES, st.integers(0, 50))
def test_two_groups_permuted_one_by_one(a, b, seed):
    p = permutation_two_groups(a, b, 60, seed)
    if len(a) < 2 or len(b) < 2:
        assert p is None
        return

    def apart(values) -> Fraction:
        first, second = values[: len(a)], values[len(a) :]
        return abs(Fraction(sum(first), len(first)) - Fraction(sum(second), len(second)))

    draw = np.random.RandomState(seed)
    pooled = np.array(a + b)
    c = sum(apart(draw.permutation(pooled).tolist()) >= apart(a + b) for _ in range(60))
    assert p == (c + 1) / 61


@given(st.lists(OUTCOMES, max_size=5), st.integers(0, 50))
def test_k_groups_permuted_one_by_one(groups, seed):
    kept = [g for g in groups if len(g) >= 2]
    p = permutation_k_groups(groups, 40, seed)
    if len(kept) < 2:
        assert p is None
        return
    draw = np.random.RandomState(seed)
    pooled = np.concatenate(kept)
    cuts = np.cumsum([len(g) for g in kept])[:-1]
    seen = squares(kept)
    c = sum(
        squares([part.tolist() for part in np.split(draw.permutation(pooled), cuts)]) >= seen
        for _ in range(40)
    )
    assert p == (c + 1) / 41


@given(st.lists(OUTCOMES, max_size=4), st.integers(0, 50))
def test_rounding_loses_ties_and_never_makes_them(groups, seed):
    exact = permutation_k_groups(groups, 40, seed)
    rounded = permutation_k_groups(groups, 40, seed, exact_ties=False)
    assert (exact is None) == (rounded is None)
    assert exact is None or 1 / 41 <= rounded <= exact


def test_two_groups_are_k_groups():
    random = np.random.RandomState(1)
    a, b = random.randint(0, 2, 30), random.randint(0, 2, 17)
    assert permutation_two_groups(a, b) == permutation_k_groups([a, b])


def test_many_groups_of_awkward_sizes_outgrow_64_bits():
    random = np.random.RandomState(4)
    sizes = [31, 37, 41, 43, 47, 53, 59, 61, 67, 71]
    groups = [random.randint(0, 2, n).tolist() for n in sizes]
    draw, pooled = np.random.RandomState(0), np.concatenate(groups)
    cuts, seen = np.cumsum(sizes)[:-1], squares(groups)
    c = sum(
        squares([part.tolist() for part in np.split(draw.permutation(pooled), cuts)]) >= seen
        for _ in range(30)
    )
    assert permutation_k_groups(groups, 30) == (c + 1) / 31


def test_outcomes_are_zero_or_one():
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        permutation_two_groups([0.5, 1], [0, 1])
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        permutation_k_groups([[2, 1], [0, 1]])
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        groups_p([2, 1, 0, 1], list("aabb"), range(4))


# ---------------------------------------------------------------- exchanging patients


def test_what_cannot_be_told_apart():
    assert groups_p([], [], []) is None
    assert groups_p([1, 0, 1], list("aab"), range(3)) is None
    assert groups_p([1, 1, 1, 1], list("aabb"), range(4)) == 1.0
    assert groups_p([0, 0, 0, 0], list("aabb"), [1, 1, 2, 2]) == 1.0
    # One patient in each group: whoever stands where, the difference is as large.
    assert groups_p([1, 1, 0, 0], list("aabb"), [1, 1, 2, 2]) == 1.0


def test_repeating_every_case_gains_nothing():
    x, groups = [1] * 9 + [0] * 3 + [1] * 3 + [0] * 9, ["a"] * 12 + ["b"] * 12
    once = groups_p(x, groups, range(24))
    thrice = groups_p(np.repeat(x, 3), np.repeat(groups, 3), np.repeat(range(24), 3))
    as_if_new = groups_p(np.repeat(x, 3), np.repeat(groups, 3), range(72))
    assert thrice == pytest.approx(once, abs=0.01)
    assert as_if_new < once / 10


def test_false_alarms_with_repeated_patients_stay_at_five_percent():
    random = np.random.RandomState(8)
    patients = np.repeat(np.arange(40), 4)
    groups = (np.arange(40) % 2)[patients]
    alarms = plain = 0
    for _ in range(200):
        x = (random.uniform(size=160) < random.beta(0.5, 0.5, size=40)[patients]).astype(int)
        alarms += groups_p(x, groups, patients, n_perm=200) <= 0.05
        plain += groups_p(x, groups, range(160)) <= 0.05
    assert alarms / 200 < 0.1
    assert plain / 200 > 0.15


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="groups"):
        groups_p([1, 0], ["a"], [1, 2])
