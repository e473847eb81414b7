"""One bootstrap of patients for everything: totals, ratios and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import (
    PatientWeights,
    ratio_interval,
    resample_interval,
)

TABLES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(-1, 1), st.integers(0, 3)), min_size=1, max_size=25
)


def unpacked(rows):
    table = np.array(rows)
    return table[:, 0], table[:, 1:]


@given(TABLES)
def test_totals_are_the_weights_times_the_values(rows):
    patients, columns = unpacked(rows)
    weights = PatientWeights(patients, n_boot=30)
    # The weight of a patient is the total of a column that holds 1 in one of its cases.
    names = np.unique(patients)
    marks = np.zeros((len(rows), names.size))
    for column, name in enumerate(names):
        marks[np.flatnonzero(patients == name)[0], column] = 1
    drawn = weights.totals(marks)
    assert (drawn >= 0).all()
    assert (drawn == np.rint(drawn)).all()
    assert (drawn.sum(axis=1) == names.size).all()
    sums = np.array([columns[patients == name].sum(axis=0) for name in names])
    assert np.array_equal(weights.totals(columns), drawn @ sums)


@given(TABLES, st.randoms())
def test_the_order_of_the_cases_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    totals = [PatientWeights(p, 20, 3).totals(c) for p, c in map(unpacked, (rows, shuffled))]
    assert np.array_equal(*totals)


@given(TABLES, st.integers(-5, 5), st.integers(1, 9))
def test_only_the_order_of_the_codes_matters(rows, shift, scale):
    patients, columns = unpacked(rows)
    moved = PatientWeights(patients * scale + shift, 20).totals(columns)
    assert np.array_equal(moved, PatientWeights(patients, 20).totals(columns))


def test_columns_asked_for_apart_see_the_same_resamples():
    random = np.random.RandomState(0)
    patients, columns = random.randint(0, 50, 200), random.randint(0, 5, (200, 6))
    weights = PatientWeights(patients, 500, 7)
    together = weights.totals(columns)
    for column in range(6):
        assert np.array_equal(weights.totals(columns[:, column]), together[:, column])
    assert not np.array_equal(PatientWeights(patients, 500, 8).totals(columns), together)


def test_the_first_resamples_do_not_depend_on_how_many_are_drawn(monkeypatch):
    monkeypatch.setattr("overread.stats._weights._CHUNK", 64)
    patients = np.arange(10)
    few = PatientWeights(patients, 7).totals(patients)
    assert np.array_equal(PatientWeights(patients, 40).totals(patients)[:7], few)
    # Chunks differ from each other.
    assert len({tuple(row) for row in PatientWeights(patients, 40).totals(np.eye(10))}) > 30


def test_single_and_double_precision_stand_side_by_side():
    random = np.random.RandomState(1)
    patients = np.repeat(np.arange(300), 2)
    whole, part = random.randint(0, 2, 600), random.uniform(size=600)
    large = whole * (1 << 20)
    drawn = PatientWeights(patients, 200).totals(np.eye(300)[patients] / 2)
    totals = PatientWeights(patients, 200).totals(np.column_stack((whole, part, large)))
    for column, values in enumerate((whole, part, large)):
        sums = np.bincount(patients, weights=values)
        assert totals[:, column] == pytest.approx(drawn @ sums, rel=1e-12)
    assert np.array_equal(totals[:, 2], totals[:, 0] * (1 << 20))


def test_patients_come_up_as_often_as_chance_has_it():
    """Weights of n draws: mean 1, variance 1 - 1/n, covariance -1/n, Poisson-like shares."""
    n, n_boot = 40, 20_000
    drawn = PatientWeights(np.arange(n), n_boot).totals(np.eye(n))
    assert drawn.mean(axis=0) == pytest.approx(np.ones(n), abs=5 / math.sqrt(n_boot))
    covariance = np.cov(drawn.T)
    assert np.diag(covariance) == pytest.approx(np.full(n, 1 - 1 / n), abs=0.08)
    off = covariance[~np.eye(n, dtype=bool)]
    assert off.mean() == pytest.approx(-1 / n, abs=1e-3)
    for times in range(4):
        chance = math.comb(n, times) * (1 / n) ** times * (1 - 1 / n) ** (n - times)
        assert (drawn == times).mean() == pytest.approx(chance, abs=3e-3)


def test_the_resamples_are_frozen():
    """Measures of two installations agree only while these stay what they are."""
    assert PatientWeights(np.arange(6), 4).totals(np.eye(6)).astype(int).tolist() == [
        [1, 1, 0, 0, 3, 1],
        [1, 1, 1, 1, 1, 1],
        [1, 1, 2, 0, 1, 1],
        [1, 1, 0, 2, 1, 1],
    ]


@pytest.mark.slow
def test_a_ratio_agrees_with_resampling_patients_one_by_one():
    random = np.random.RandomState(3)
    patients = np.repeat(np.arange(60), random.randint(1, 5, 60))
    asked = random.randint(0, 2, patients.size)
    hits = asked * random.randint(0, 2, patients.size)
    ratios = []
    for _ in range(4_000):
        places = np.concatenate([np.flatnonzero(patients == p) for p in random.randint(0, 60, 60)])
        ratios.append(hits[places].sum() / asked[places].sum())
    num, den = PatientWeights(patients).totals(np.column_stack((hits, asked))).T
    low, high, sd = ratio_interval(num, den, hits.sum() / asked.sum())
    assert sd == pytest.approx(np.std(ratios, ddof=1), rel=0.06)
    assert [low, high] == pytest.approx(np.percentile(ratios, [2.5, 97.5]), abs=0.02)


def test_nobody_and_one_patient():
    assert PatientWeights([]).totals(np.empty((0, 2))).shape == (10_000, 2)
    only = PatientWeights([4, 4], 10)
    assert (only.patients, only.cases, only.n_boot) == (1, 2, 10)
    assert only.totals([1, 2]).tolist() == [3.0] * 10


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="whole numbers"):
        PatientWeights(["a", "b"])
    with pytest.raises(ValueError, match="rows"):
        PatientWeights([1, 2]).totals([1, 2, 3])


# ---------------------------------------------------------------- intervals from resamples


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30),
    st.one_of(st.none(), st.floats(0, 5)),
)
def test_ratio_interval_leaves_out_what_has_no_denominator(pairs, point):
    num, den = zip(*pairs, strict=True) if pairs else ((), ())
    ratios = [a / b for a, b in pairs if b > 0]
    found = ratio_interval(num, den, point)
    if point is None or len(ratios) < 2:
        assert found == (None, None, None)
        return
    low, high = np.percentile(ratios, [2.5, 97.5])
    assert found == (min(low, point), max(high, point), np.std(ratios, ddof=1))


def test_resample_interval_passes_over_what_is_undefined():
    assert resample_interval([math.nan, 1.0, math.nan], 1.0) == (None, None, None)
    assert resample_interval([math.nan, 1.0, 2.0], 3.0)[1] == 3.0
