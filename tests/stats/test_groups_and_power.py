"""Groups of patients, calibration and sizes of studies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import (
    calibrated_p,
    cases_for_half_width,
    cases_to_settle,
    cases_to_tell_apart,
    cases_within_margin,
    debiased_ece,
    difference_p,
    ece,
    flip_p,
    groups_p,
    paired_values,
    smallest_difference,
    wilson,
)

# ---------------------------------------------------------------- groups of patients


def test_patients_with_many_films_are_no_difference_between_groups():
    """6 patients with 10 films each against 60 with one: 0.126 before, by exchanging them."""
    draw, rejected = np.random.default_rng(0), 0
    owners = np.r_[np.repeat(np.arange(6), 10), np.arange(6, 66)]
    groups = np.repeat([0, 1], 60)
    for _ in range(200):
        chance = draw.beta(1, 1, 66)[owners]
        rejected += groups_p(draw.random(120) < chance, groups, owners, n_perm=199) <= 0.05
    assert rejected / 200 <= 0.09


def test_patients_in_both_groups_are_their_own_comparison():
    draw, found = np.random.default_rng(1), 0
    owners, groups = np.repeat(np.arange(40), 4), np.tile([0, 0, 1, 1], 40)
    for _ in range(60):
        chance = np.clip(draw.beta(1, 1, 40)[owners] + 0.2 * groups, 0, 1)
        found += groups_p(draw.random(160) < chance, groups, owners, n_perm=199) <= 0.05
    assert found / 60 >= 0.6


@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ABC"), st.integers(0, 8)), max_size=25)
)
def test_order_and_names_do_not_matter(rows):
    values, groups, owners = ([row[i] for row in rows] for i in range(3))
    renamed = {"A": "z", "B": "y", "C": "x"}
    back = rows[::-1]
    p = groups_p(values, groups, owners, n_perm=99)
    assert p is None or 0 < p <= 1
    same = groups_p([r[0] for r in back], [r[1] for r in back], [r[2] for r in back], n_perm=99)
    assert p == same
    other = groups_p(values, [renamed[g] for g in groups], [-o for o in owners], n_perm=99)
    assert (p is None) == (other is None)


# ---------------------------------------------------------------- calibration


def test_a_calibrated_reader_has_less_error_left_and_is_rarely_called_uncalibrated():
    draw, plain, left, rejected = np.random.default_rng(3), 0.0, 0.0, 0
    for _ in range(100):
        said = draw.beta(2, 1, 200)
        outcome = draw.random(200) < said
        plain += ece(said, outcome, edges="floor")
        left += debiased_ece(said, outcome)
        rejected += calibrated_p(said, outcome, times=199) <= 0.05
    assert left < 0.65 * plain
    assert rejected <= 12


def test_who_is_sure_of_everything_is_found_out():
    outcome = np.arange(100) % 2
    assert debiased_ece(np.full(100, 0.95), outcome) == pytest.approx(0.45, abs=0.01)
    assert calibrated_p(np.full(100, 0.95), outcome, times=199) == 0.005


# ---------------------------------------------------------------- sizes of studies


@pytest.mark.parametrize(("rate", "half"), [(0.5, 0.1), (0.9, 0.03), (0.0, 0.01)])
def test_the_half_width_is_reached_there_and_not_before(rate, half):
    n = cases_for_half_width(rate, half)
    at, before = (wilson(round(rate * m * 1000), m * 1000, design_effect=1000) for m in (n, n - 1))
    assert (at.high - at.low) / 2 <= half * 1.01
    assert (before.high - before.low) / 2 > half * 0.97


def test_as_many_cases_as_said_tell_readers_apart_as_often_as_said():
    n, draw = cases_to_tell_apart(0.85, 0.75), np.random.default_rng(4)
    found = sum(
        difference_p(int((one & ~two).sum()), int((two & ~one).sum())) <= 0.05
        for one, two in ((draw.random(n) < 0.85, draw.random(n) < 0.75) for _ in range(400))
    )
    assert 0.72 <= found / 400 <= 0.87


def test_as_many_cases_as_said_settle_a_bound_as_often_as_said():
    n, draw = cases_to_settle(0.9, 0.8), np.random.default_rng(5)
    found = sum(wilson(int(k), n).low > 0.8 for k in draw.binomial(n, 0.9, 1000))
    assert 0.74 <= found / 1000 <= 0.9


def test_repeated_patients_need_more_cases_and_nothing_settles_what_is_equal():
    assert cases_to_tell_apart(0.8, 0.7, effect=3) > 2.9 * cases_to_tell_apart(0.8, 0.7)
    assert cases_to_tell_apart(0.8, 0.8) is None
    assert cases_to_settle(0.8, 0.8) is None
    assert cases_within_margin(0.8, 0.9, 0.05) is None
    with pytest.raises(ValueError, match="discordant"):
        cases_to_tell_apart(0.8, 0.7, discordant=0.01)


def test_readers_that_all_but_agree_need_more_than_a_case():
    """As few as an exact test, or Wilson's interval where all agree, can show anything by."""
    assert cases_to_tell_apart(1.0, 0.0) == 6
    assert flip_p([1] * 6, range(6)) <= 0.05 < flip_p([1] * 5, range(5))
    n = cases_within_margin(0.0, 0.0, 0.05)
    at, before = (paired_values([0] * m, [0] * m, range(m), (-1, 1)) for m in (n, n - 1))
    assert at.interval.low >= -0.05 > before.interval.low


def test_equivalence_has_no_cliff_at_equal_rates():
    at = [
        cases_within_margin(0.8 + d, 0.8, 0.05, discordant=0.15, both_sides=True)
        for d in (0.0, 1e-6, 0.002, 0.01, 0.02)
    ]
    assert at[0] == at[1]
    assert at == sorted(at)
    alone = cases_within_margin(0.78, 0.8, 0.05, discordant=0.15)
    both = cases_within_margin(0.78, 0.8, 0.05, discordant=0.15, both_sides=True)
    assert alone <= both <= 1.02 * alone, "one margin decides where rates lie near it"


def test_as_many_cases_as_said_show_equivalence_as_often_as_said():
    """Of a normal difference: its interval lies within the margins."""
    n, draw = (
        cases_within_margin(0.81, 0.8, 0.05, discordant=0.15, both_sides=True),
        np.random.default_rng(6),
    )
    sd = np.sqrt((0.15 - 0.01**2) / n)
    found = 0.01 + sd * draw.standard_normal(20_000)
    assert (np.abs(found) + 1.96 * sd < 0.05).mean() == pytest.approx(0.8, abs=0.015)


@pytest.mark.parametrize("effect", [1.0, 2.5])
@pytest.mark.parametrize("cases", [20, 110, 2_000])
def test_the_smallest_difference_needs_just_as_many_cases(cases, effect):
    least = smallest_difference(cases, effect=effect)
    half = least / 2
    assert cases_to_tell_apart(0.5 + half, 0.5 - half, effect=effect) == cases


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "discordant", "margin"), [(0.9, 0.05, 0.1), (0.95, 0.02, 0.02), (0.8, 0.3, 0.1)]
)
@pytest.mark.parametrize("both_sides", [False, True])
def test_a_margin_is_reached_as_often_as_was_asked(rate, discordant, margin, both_sides):
    """Also where few cases differ: by the formula for many it was in 0.33 to 0.65 of studies."""
    n = cases_within_margin(rate, rate, margin, discordant=discordant, both_sides=both_sides)
    draw, reached = np.random.default_rng(3), 0
    parts = rate - discordant / 2, discordant / 2, discordant / 2
    for _ in range(400):
        both, first, second, _ = draw.multinomial(n, [*parts, 1 - sum(parts)])
        one = np.repeat([1, 1, 0, 0], [both, first, second, n - both - first - second])
        two = np.repeat([1, 0, 1, 0], [both, first, second, n - both - first - second])
        at = paired_values(one, two, np.arange(n), (-1, 1)).interval
        reached += at.low >= -margin and (at.high <= margin or not both_sides)
    assert 0.74 <= reached / 400 <= 0.88
