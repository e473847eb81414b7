"""Permutation tests, against permuting one by one and against listing everything."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import exchangeable_groups_p, permutation_k_groups, permutation_two_groups

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
        exchangeable_groups_p([2, 1, 0, 1], list("aabb"), range(4))


# ---------------------------------------------------------------- exchanging patients


def units_of(outcomes, groups, patients) -> list[list[tuple[int, int]]]:
    """(cases, hits) of every patient in every group of at least two cases."""
    found = []
    for group in sorted(set(groups)):
        inside = [(x, p) for x, g, p in zip(outcomes, groups, patients, strict=True) if g == group]
        if len(inside) >= 2:
            hits: dict[int, list[int]] = {}
            for x, p in inside:
                hits.setdefault(p, []).append(x)
            found.append([(len(h), sum(h)) for h in hits.values()])
    return found


def statistic(groups) -> Fraction:
    """Σ (h - n p)² / n, by its definition."""
    n = sum(cases for group in groups for cases, _ in group)
    rate = Fraction(sum(hits for group in groups for _, hits in group), n)
    total = Fraction(0)
    for group in groups:
        cases, hits = (sum(column) for column in zip(*group, strict=True))
        total += (hits - cases * rate) ** 2 / cases
    return total


def dealt(units, numbers):
    groups, start = [], 0
    for number in numbers:
        groups.append(units[start : start + number])
        start += number
    return groups


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=14))
def test_single_cases_in_two_groups_are_counted_exactly(pairs):
    x = [outcome for outcome, _ in pairs]
    groups = [group for _, group in pairs]
    p = exchangeable_groups_p(x, groups, range(len(x)))
    units = units_of(x, groups, range(len(x)))
    if len(units) < 2:
        assert p is None
        return
    n, first = len(x), len(units[0])
    seen, hits = sum(h for _, h in units[0]), sum(x)
    far = [
        abs(sum(x[i] for i in chosen) * n - first * hits) >= abs(seen * n - first * hits)
        for chosen in combinations(range(n), first)
    ]
    assert p == pytest.approx(sum(far) / len(far), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_draw_agrees_with_listing_every_deal(seed):
    random = np.random.RandomState(seed)
    patients = np.concatenate((np.arange(7), random.randint(0, 7, 8)))
    groups = np.array([0, 0, 1, 1, 1, 2, 2])[patients]
    x = random.randint(0, 2, 15)
    units = units_of(x.tolist(), groups.tolist(), patients.tolist())
    numbers, pool = [len(unit) for unit in units], [u for unit in units for u in unit]
    seen = statistic(units)
    far = [statistic(dealt(order, numbers)) >= seen for order in permutations(pool)]
    share = sum(far) / len(far)
    p = exchangeable_groups_p(x, groups, patients, n_perm=20_000)
    assert p == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 20_000) + 1e-4)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_draw_agrees_with_permuting_patients_one_by_one(k):
    random = np.random.RandomState(k)
    patients, groups = random.randint(0, 40, 120), random.randint(0, k, 120)
    x = (random.uniform(size=120) < 0.3 + 0.2 * (groups == 0)).astype(int)
    units = units_of(x.tolist(), groups.tolist(), patients.tolist())
    numbers, pool = [len(unit) for unit in units], [u for unit in units for u in unit]
    seen = statistic(units)
    far = sum(
        statistic(dealt([pool[i] for i in random.permutation(len(pool))], numbers)) >= seen
        for _ in range(1_500)
    )
    share = far / 1_500
    p = exchangeable_groups_p(x, groups, patients)
    assert p == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 1_500) + 1e-3)


def test_a_draw_of_single_cases_agrees_with_the_exact_count():
    random = np.random.RandomState(3)
    x, groups = random.randint(0, 2, 60), random.randint(0, 2, 60)
    exact = exchangeable_groups_p(x, groups, range(60))
    # Every patient twice over with equal outcomes: the same question, now by random deals.
    drawn = exchangeable_groups_p(
        np.repeat(x, 2), np.repeat(groups, 2), np.repeat(range(60), 2), n_perm=20_000
    )
    assert drawn == pytest.approx(exact, abs=0.02)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 6)), max_size=30),
    st.randoms(),
)
def test_neither_order_nor_names_matter(cases, random):
    def p(some, rename):
        columns = zip(*some, strict=True) if some else ([], [], [])
        x, groups, patients = (list(column) for column in columns)
        if rename:
            groups, patients = [f"g{5 - g}" for g in groups], [f"p{9 - q}" for q in patients]
        return exchangeable_groups_p(x, groups, patients, n_perm=200)

    shuffled = list(cases)
    random.shuffle(shuffled)
    found = p(cases, False)
    assert found == p(shuffled, True)
    assert found is None or 0 < found <= 1


def test_what_cannot_be_told_apart():
    assert exchangeable_groups_p([], [], []) is None
    assert exchangeable_groups_p([1, 0, 1], list("aab"), range(3)) is None
    assert exchangeable_groups_p([1, 1, 1, 1], list("aabb"), range(4)) == 1.0
    assert exchangeable_groups_p([0, 0, 0, 0], list("aabb"), [1, 1, 2, 2]) == 1.0
    # One patient in each group: whoever stands where, the difference is as large.
    assert exchangeable_groups_p([1, 1, 0, 0], list("aabb"), [1, 1, 2, 2]) == 1.0


def test_repeating_every_case_gains_nothing():
    x, groups = [1] * 9 + [0] * 3 + [1] * 3 + [0] * 9, ["a"] * 12 + ["b"] * 12
    once = exchangeable_groups_p(x, groups, range(24))
    thrice = exchangeable_groups_p(np.repeat(x, 3), np.repeat(groups, 3), np.repeat(range(24), 3))
    as_if_new = exchangeable_groups_p(np.repeat(x, 3), np.repeat(groups, 3), range(72))
    assert thrice == pytest.approx(once, abs=0.01)
    assert as_if_new < once / 10


def test_false_alarms_with_repeated_patients_stay_at_five_percent():
    random = np.random.RandomState(8)
    patients = np.repeat(np.arange(40), 4)
    groups = (np.arange(40) % 2)[patients]
    alarms = plain = 0
    for _ in range(200):
        x = (random.uniform(size=160) < random.beta(0.5, 0.5, size=40)[patients]).astype(int)
        alarms += exchangeable_groups_p(x, groups, patients, n_perm=200) <= 0.05
        plain += exchangeable_groups_p(x, groups, range(160)) <= 0.05
    assert alarms / 200 < 0.1
    assert plain / 200 > 0.15


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="groups"):
        exchangeable_groups_p([1, 0], ["a"], [1, 2])
