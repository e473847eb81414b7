"""Exact tests of a paired difference."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import binomial_tail, difference_p, sign_flip_p

DIFFERENCES = st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 5)), min_size=1, max_size=12)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_two_binomial_tails(n10, n01):
    n, most = n10 + n01, max(n10, n01)
    exact = Fraction(sum(math.comb(n, k) for k in range(most, n + 1)), 2**n)
    p = difference_p(n10, n01)
    assert p == float(min(Fraction(1), 2 * exact))
    assert p == pytest.approx(min(1, 2 * binomial_tail(most, n, 0.5)), rel=1e-9)
    assert p == difference_p(n01, n10)


def test_mcnemar_of_thousands_does_not_underflow():
    assert difference_p(1300, 1300) == 1.0
    assert 0 < difference_p(1000, 0) < 1e-300
    assert difference_p(2500, 2400) == pytest.approx(0.157, abs=2e-3)


def test_mcnemar_refuses_a_negative_cell():
    with pytest.raises(ValueError, match="negative"):
        difference_p(-1, 2)


@given(DIFFERENCES)
def test_sign_flips_against_listing_every_assignment(pairs):
    differences, patients = zip(*pairs, strict=True)
    sums: dict[int, int] = {}
    for difference, patient in pairs:
        sums[patient] = sums.get(patient, 0) + difference
    seen = abs(sum(differences))
    totals = [
        abs(sum(sign * d for sign, d in zip(signs, sums.values(), strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    wanted = sum(total >= seen for total in totals) / len(totals)
    assert sign_flip_p(differences, patients) == pytest.approx(wanted, abs=1e-12)


@given(st.lists(st.integers(-1, 1), min_size=1, max_size=60))
def test_sign_flips_of_single_cases_are_mcnemar(differences):
    wanted = difference_p(differences.count(1), differences.count(-1))
    assert sign_flip_p(differences, range(len(differences))) == pytest.approx(wanted, abs=1e-12)


def test_repeating_every_case_gains_nothing():
    differences = [1] * 9 + [-1] * 2 + [0] * 20
    once = sign_flip_p(differences, range(31))
    thrice = sign_flip_p(np.repeat(differences, 3), np.repeat(range(31), 3))
    assert thrice == pytest.approx(once)
    assert difference_p(27, 6) < once / 10


def test_sign_flips_of_nothing():
    assert sign_flip_p([], []) is None
    assert sign_flip_p([0, 0, 1, -1], ["a", "a", "b", "b"]) == 1.0
