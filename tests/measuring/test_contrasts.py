"""Sign flips by seeded coins, beside the exact test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.measuring.contrasts import FLIPS, flip_ps, signs
from overread.stats import sign_flip_p


def test_coins_are_fair_and_always_the_same() -> None:
    coins = signs(50, FLIPS, 3)
    assert coins.shape == (FLIPS, 50)
    assert set(np.unique(coins)) == {-1, 1}
    assert abs(coins.mean()) < 0.01
    assert (coins == signs(50, FLIPS, 3)).all()
    assert (coins != signs(50, FLIPS, 4)).any()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
def test_p_is_near_the_exact_share_and_never_0(sums: list[int]) -> None:
    table = np.array([sums, [0] * len(sums)], dtype=float).T
    p, nothing = flip_ps(table, signs(len(sums), FLIPS, 0))
    assert p == pytest.approx(sign_flip_p(sums, range(len(sums))), abs=0.025)
    assert p > 0
    assert nothing == 1


def test_the_observed_signs_are_one_of_those_counted() -> None:
    assert flip_ps(np.ones((60, 1)), signs(60, FLIPS, 0)) == [1 / (FLIPS + 1)]


def test_thirds_that_add_up_alike_are_ties() -> None:
    """What only the rounding of sums tells apart counts as equally far from nothing."""
    sums = np.array([[1 / 3], [1 / 3], [1 / 3], [-0.1], [-0.2], [-0.7]])
    coins = signs(6, FLIPS, 0)
    whole = np.array([[10.0], [10.0], [10.0], [-3.0], [-6.0], [-21.0]])
    assert flip_ps(sums, coins) == flip_ps(whole, coins)
