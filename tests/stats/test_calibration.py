"""Bins of confidence and calibration error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import calibration_bins, clustered_mean, ece, informative

PROBABILITIES = st.one_of(st.floats(0, 1), st.integers(0, 20).map(lambda k: k / 20))
CASES = st.lists(
    st.tuples(PROBABILITIES, st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=40
)


def split(cases):
    return tuple(list(column) for column in zip(*cases, strict=True))


# ---------------------------------------------------------------- squares of repeated patients


def test_squares_of_repeated_patients_are_covered():
    random = np.random.RandomState(5)
    patients = np.repeat(np.arange(60), 4)
    held = plain = 0
    for _ in range(300):
        skill = random.beta(2, 1, size=60)[patients]
        squares = np.where(random.uniform(size=240) < skill, 0.01, 0.81)
        truth = 2 / 3 * 0.01 + 1 / 3 * 0.81
        value, limits = float(squares.mean()), (0.0, 1.0)
        found, _ = clustered_mean(value, squares, patients, limits)
        naive, _ = clustered_mean(value, squares, np.arange(240), limits)
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


@pytest.mark.parametrize("n", [1, 7, 40, 300])
@pytest.mark.parametrize("edges", ["floor", "linspace"])
def test_chances_drawn_once_for_several_readers_give_the_same_p(n, edges):
    from overread.stats import calibrated_p

    draw = np.random.default_rng(n)
    said, outcome = draw.random(n).round(1), draw.random(n) < 0.6
    shared = np.random.RandomState(5).random_sample(199 * 300)
    alone = calibrated_p(said, outcome, times=199, seed=5, edges=edges)
    assert calibrated_p(said, outcome, times=199, seed=5, edges=edges, chances=shared) == alone
