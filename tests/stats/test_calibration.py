"""Brier score, bins of confidence and calibration error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import (
    brier,
    calibration_bins,
    design_effect,
    ece,
    informative,
    wilson,
)

PROBABILITIES = st.one_of(st.floats(0, 1), st.integers(0, 20).map(lambda k: k / 20))
CASES = st.lists(
    st.tuples(PROBABILITIES, st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=40
)


def split(cases):
    return tuple(list(column) for column in zip(*cases, strict=True))


# ---------------------------------------------------------------- Brier score


@given(CASES)
def test_brier_is_the_mean_of_squares_with_its_clustered_error(cases):
    c, y, patients = split(cases)
    found = brier(c, y, patients)
    q = [(a - b) ** 2 for a, b in zip(c, y, strict=True)]
    mean = sum(q) / len(q)
    assert found.point == pytest.approx(mean)
    if len(q) < 2:
        assert (found.low, found.high, found.sd) == (None, None, None)
        return
    spread = sum((value - mean) ** 2 for value in q) / len(q)
    wanted = math.sqrt(spread * design_effect(q, patients) / len(q))
    assert found.sd == pytest.approx(wanted, rel=1e-6, abs=1e-12)


@given(CASES)
def test_brier_has_width_and_holds_its_point(cases):
    found = brier(*split(cases))
    if found.low is not None:
        assert 0 <= found.low <= found.point <= found.high <= 1
        assert found.high - found.low >= 1 / (len(cases) + 1) - 1e-12


@given(CASES, st.randoms())
def test_brier_ignores_order_and_names(cases, random):
    found = brier(*split(cases))
    random.shuffle(cases)
    c, y, patients = split(cases)
    other = brier(c, y, [f"p{9 - p}" for p in patients])
    assert (other.point, other.n) == (pytest.approx(found.point), found.n)
    for ours, theirs in ((found.low, other.low), (found.high, other.high), (found.sd, other.sd)):
        assert ours == (None if theirs is None else pytest.approx(theirs, abs=1e-9))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 6)), min_size=2))
def test_brier_of_answers_without_doubt_is_wilson_of_the_wrong_ones(cases):
    c, y, patients = split(cases)
    wrong = [int(a != b) for a, b in zip(c, y, strict=True)]
    effect = design_effect(wrong, patients)
    found = brier([float(a) for a in c], y, patients)
    wanted = wilson(sum(wrong), len(wrong), design_effect=effect)
    n = len(wrong) / effect
    more = wanted.point * n / (n + 1), (wanted.point * n + 1) / (n + 1)
    assert found.low == pytest.approx(min(wanted.low, more[0]), abs=1e-9)
    assert found.high == pytest.approx(max(wanted.high, more[1]), abs=1e-9)
    assert found.sd == pytest.approx(wanted.sd, abs=1e-9)


def test_brier_of_equal_doubt_holds_what_one_more_case_would_make_of_it():
    found = brier([0.5] * 9, [0, 1] * 4 + [0])
    assert (found.point, found.sd) == (0.25, 0.0)
    assert (found.low, found.high) == (0.25 * 9 / 10, (0.25 * 9 + 1) / 10)
    # Nine cases of one patient are worth one.
    alike = brier([0.5] * 9, [0, 1] * 4 + [0], ["p"] * 9)
    assert (alike.low, alike.high) == (0.125, 0.625)


def test_brier_of_numbers_that_are_no_probabilities_has_no_bounds():
    found = brier([1.2, -0.1, 0.5], [1, 0, 1])
    assert found.point == pytest.approx((0.04 + 0.01 + 0.25) / 3)
    assert (found.low, found.high) == (None, None)


def test_brier_of_nothing_and_of_nonsense():
    assert not brier([], []).defined
    for c, y in (([0.1], [0, 1]), ([math.nan], [1]), ([0.5], [2])):
        with pytest.raises(ValueError, match="probabilit|label"):
            brier(c, y)


def test_coverage_with_repeated_patients():
    random = np.random.RandomState(5)
    patients = np.repeat(np.arange(60), 4)
    held = plain = 0
    for _ in range(300):
        skill = random.beta(2, 1, size=60)[patients]
        y = random.randint(0, 2, 240)
        right = random.uniform(size=240) < skill
        c = np.where(right == y, 0.9, 0.1)
        truth = 2 / 3 * 0.01 + 1 / 3 * 0.81
        found, naive = brier(c, y, patients), brier(c, y)
        held += found.low <= truth <= found.high
        plain += naive.low <= truth <= naive.high
    assert held / 300 > 0.92
    assert plain < held


# ---------------------------------------------------------------- bins and calibration error


def slow_bin(c: float, edges: str) -> int | None:
    if edges == "floor":
        return min(math.floor(10 * min(max(c, 0.0), 1.0)), 9)
    marks = np.linspace(0, 1, 11)
    for index in range(10):
        last = index == 9 and c == marks[10]
        if marks[index] <= c < marks[index + 1] or last:
            return index
    return None


@pytest.mark.parametrize("edges", ["floor", "linspace"])
@given(cases=st.lists(st.tuples(PROBABILITIES | st.floats(-1, 2), st.integers(0, 1)), max_size=40))
def test_bins_are_the_obvious_ones(edges, cases):
    c, y = split(cases) if cases else ([], [])
    found = calibration_bins(c, y, edges)
    assert [b.index for b in found] == sorted({b.index for b in found})
    groups: dict[int, list[tuple[float, int]]] = {}
    for value, hit in cases:
        if (index := slow_bin(value, edges)) is not None:
            inside = min(max(value, 0.0), 1.0) if edges == "floor" else value
            groups.setdefault(index, []).append((inside, hit))
    assert {b.index: b.n for b in found} == {i: len(g) for i, g in groups.items()}
    for b in found:
        values, hits = split(groups[b.index])
        assert b.mean_confidence == pytest.approx(sum(values) / b.n)
        assert b.rate == pytest.approx(sum(hits) / b.n)


def test_the_edges_of_the_authors_are_not_where_they_seem():
    tenths = [k / 10 for k in range(11)]
    floor = [calibration_bins([c], [1])[0].index for c in tenths]
    lines = [calibration_bins([c], [1], "linspace")[0].index for c in tenths]
    assert floor == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert lines == [0, 1, 2, 2, 4, 5, 5, 6, 8, 9, 9]


@given(CASES)
def test_calibration_error_against_its_definition(cases):
    c, y, _ = split(cases)
    for edges in ("floor", "linspace"):
        wanted = sum(
            b.n / len(c) * abs(b.mean_confidence - b.rate) for b in calibration_bins(c, y, edges)
        )
        assert ece(c, y, edges=edges) == pytest.approx(wanted)
        assert 0 <= ece(c, y, edges=edges) <= 1


def test_calibration_error_of_nothing_of_the_sure_and_of_the_wrong():
    assert ece([], []) is None
    assert ece([1.0, 0.0], [1, 0]) == 0
    assert ece([1.0, 0.0], [0, 1]) == 1


def test_unknown_edges_are_refused():
    with pytest.raises(ValueError, match="linspace"):
        calibration_bins([0.5], [1], "ten")


# ---------------------------------------------------------------- the gate


@given(st.lists(st.sampled_from([0.0, 1.0, 0.5, 1e-6]), max_size=30), st.floats(0.1, 1))
def test_informative_counts_exact_zeros_and_ones(c, share):
    exactly = sum(value in (0.0, 1.0) for value in c)
    assert informative(c, share) is (bool(c) and exactly / len(c) < share)
