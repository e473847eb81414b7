"""Rank correlation, against its definition and against every order."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import rank_sum_p, spearman, spearman_asymptotic_p, spearman_exact_p

# Few different values, so that ties are the rule.
VALUES = st.sampled_from([0.0, 0.25, 1.0, 1.0 + 1e-12, 7.5, -3.0])
PAIRS = st.lists(st.tuples(VALUES, VALUES), max_size=5)


def split(pairs):
    return tuple(list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [])


def mid_ranks(values) -> list[Fraction]:
    return [
        Fraction(sum(b < a for b in values) + sum(b <= a for b in values) + 1, 2) for a in values
    ]


def products(x, y) -> Fraction:
    """Covariance of the ranks, times n²."""
    r, s = mid_ranks(x), mid_ranks(y)
    return len(x) * sum(a * b for a, b in zip(r, s, strict=True)) - sum(r) * sum(s)


@given(PAIRS)
def test_rho_is_the_correlation_of_mid_ranks(pairs):
    x, y = split(pairs)
    spread = products(x, x) * products(y, y) if pairs else 0
    if not spread:
        assert spearman(x, y) is None
        assert spearman_exact_p(x, y) == (None, "undefined")
        return
    assert spearman(x, y) == pytest.approx(float(products(x, y)) / math.sqrt(spread), abs=1e-12)
    assert -1 <= spearman(x, y) <= 1
    assert spearman(x, x) == 1.0
    assert spearman(x, [-a for a in x]) == -1.0


@given(PAIRS)
def test_p_counts_every_order(pairs):
    x, y = split(pairs)
    p, how = spearman_exact_p(x, y)
    if p is None:
        return
    seen = abs(products(x, y))
    far = [abs(products(x, list(order))) >= seen for order in permutations(y)]
    assert (p, how) == (sum(far) / len(far), "exact")


@given(PAIRS, st.randoms())
def test_neither_order_nor_scale_matters(pairs, random):
    found = spearman_exact_p(*split(pairs))
    random.shuffle(pairs)
    x, y = split(pairs)
    assert spearman_exact_p([3 * a - 5 for a in x], [-b for b in y]) == found


def test_nine_readers_are_counted_exactly():
    x = list(range(9))
    assert spearman_exact_p(x, x) == (2 / math.factorial(9), "exact")
    # A tie halves the orders that can be told apart.
    assert spearman_exact_p(x, [0, 0, *x[2:]]) == (4 / math.factorial(9), "exact")


def test_more_than_nine_are_drawn_with_a_seed():
    random = np.random.RandomState(0)
    x, y = random.uniform(size=14), random.uniform(size=14)
    p, how = spearman_exact_p(x, y, seed=3, n_perm=5_000)
    assert how == "permutation:5000:3"
    assert spearman_exact_p(x, y, seed=3, n_perm=5_000) == (p, how)
    seen = abs(spearman(x, y))
    far = sum(abs(spearman(x, random.permutation(y))) >= seen - 1e-12 for _ in range(1_500))
    assert p == pytest.approx(far / 1_500, abs=4 * math.sqrt(p * (1 - p) / 1_500))
    assert spearman_exact_p(x, x, n_perm=999)[0] == 1 / 1_000


def test_drawn_and_counted_agree(monkeypatch):
    x, y = [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 4, 3, 8, 6, 7]
    exact, _ = spearman_exact_p(x, y)
    monkeypatch.setattr("overread.stats._ranks._LISTED", 0)
    drawn, how = spearman_exact_p(x, y, n_perm=50_000)
    assert how.startswith("permutation")
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact / 50_000))


@given(st.floats(-0.999, 0.999), st.integers(3, 200))
def test_the_asymptotic_p_is_students(rho, n):
    """Student's t tail by Simpson's rule, after t = sqrt(nu) tan(angle)."""
    nu = n - 2
    t = abs(rho) * math.sqrt(nu / (1 - rho * rho))
    angles = np.linspace(math.atan(t / math.sqrt(nu)), math.pi / 2, 20_001)
    heights = np.cos(angles) ** (nu - 1)
    step = angles[1] - angles[0]
    area = (
        step
        / 3
        * (heights[0] + heights[-1] + 4 * heights[1:-1:2].sum() + 2 * heights[2:-1:2].sum())
    )
    constant = math.exp(math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2)) / math.sqrt(math.pi)
    assert spearman_asymptotic_p(rho, n) == pytest.approx(2 * constant * area, rel=1e-6, abs=1e-12)


def test_where_the_asymptotic_p_ends():
    assert spearman_asymptotic_p(1.0, 9) == spearman_asymptotic_p(-1.0, 9) == 0.0
    assert spearman_asymptotic_p(0.0, 9) == 1.0
    assert spearman_asymptotic_p(None, 9) is None
    assert spearman_asymptotic_p(0.3, 2) is None


@pytest.mark.parametrize(("x", "y"), [([1], [1, 2]), ([1, math.nan], [1, 2])])
def test_nonsense_is_refused(x, y):
    with pytest.raises(ValueError, match="value"):
        spearman(x, y)


# ----------------------------------- The exact rank-sum test against every way to choose the group

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
def test_neither_order_nor_scale_matters_to_rank_sums(larger, smaller, shuffle) -> None:
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
