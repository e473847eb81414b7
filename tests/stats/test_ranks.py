"""The exact rank-sum test against every way to choose the group."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import rank_sum_p

# Few different values, so that ties are the rule.
GROUPS = st.lists(st.sampled_from([0.0, 0.25, 1.0, 1.0 + 1e-12, 7.5]), min_size=1, max_size=6)


def by_enumeration(larger: list[float], smaller: list[float]) -> Fraction:
    """Mid-ranks; the share of all groups whose ranks sum to at least as much."""
    pooled = larger + smaller
    ranks = [
        Fraction(sum(b < a for b in pooled) + sum(b <= a for b in pooled) + 1, 2) for a in pooled
    ]
    seen = sum(ranks[: len(larger)])
    sums = [sum(group) for group in combinations(ranks, len(larger))]
    return Fraction(sum(total >= seen for total in sums), len(sums))


@given(GROUPS, GROUPS)
def test_it_counts_what_enumeration_counts(larger: list[float], smaller: list[float]) -> None:
    assert rank_sum_p(larger, smaller) == float(by_enumeration(larger, smaller))


@given(GROUPS, GROUPS, st.randoms())
def test_neither_order_nor_scale_matters(larger, smaller, shuffle) -> None:
    p = rank_sum_p(larger, smaller)
    mixed = sorted(larger, key=lambda _: shuffle.random())
    assert rank_sum_p([3 * x - 5 for x in mixed], [3 * x - 5 for x in smaller]) == p


@given(GROUPS, GROUPS)
def test_the_two_sides_cover_everything(larger: list[float], smaller: list[float]) -> None:
    one, other = rank_sum_p(larger, smaller), rank_sum_p(smaller, larger)
    assert one is not None
    assert other is not None
    assert one + other >= 1 or one + other == pytest.approx(1)


def test_an_empty_group_has_no_p() -> None:
    assert rank_sum_p([], [1.0]) is None
    assert rank_sum_p([1.0], []) is None


def test_twelve_against_twelve_is_quick_and_exact() -> None:
    assert rank_sum_p([1.0] * 12, [0.0] * 12) == 1 / 2704156
