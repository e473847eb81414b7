"""How means of clustered cases vary, and how many clusters they stand on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import (
    counted_from_zero,
    differing_cases,
    differing_clusters,
    spread_of_mean,
    stands_on_few,
    unlike_sizes,
    worth_in_clusters,
)


def test_clusters_that_are_alike_count_as_one_each():
    x = np.random.default_rng(1).normal(0, 1, 40)
    plain = spread_of_mean(x, range(40))
    alike = spread_of_mean(np.repeat(x, 5), np.repeat(np.arange(40), 5))
    assert alike.variance == pytest.approx(plain.variance, rel=0.15)
    assert 39 <= alike.df <= 70


def test_unlike_sizes_leave_fewer_degrees_of_freedom_and_cost_no_more_than_they_must():
    """Of independent cases and of alike ones the variance is right on average."""
    sizes = np.array([12, 5, 3, 1, 1, 1, 1, 1])
    owners = np.repeat(np.arange(8), sizes)
    draw = np.random.default_rng(5)
    for alike in (0.0, 0.5):
        own = alike**0.5 * draw.standard_normal((4_000, 8))[:, owners]
        x = own + (1 - alike) ** 0.5 * draw.standard_normal((4_000, owners.size))
        off = x - x.mean(axis=1, keepdims=True)
        sums = np.stack([off[:, owners == one].sum(axis=1) for one in range(8)], axis=1)
        factor, others = unlike_sizes(sizes, alike)
        found = factor * (sums**2).sum(axis=1).mean() / owners.size**2
        assert found == pytest.approx(x.mean(axis=1).var(), rel=0.06)
        assert others < 7
    assert unlike_sizes(np.full(8, 3)) == pytest.approx((8 / 7, 7))


@given(st.lists(st.integers(0, 1), min_size=2, max_size=50))
def test_of_marks_as_many_differ_as_binomial_variance_says(hits):
    x = np.array(hits, dtype=float)
    p = x.mean()
    assert differing_cases(x - p) == pytest.approx(x.size * p * (1 - p))


@pytest.mark.parametrize(("count", "rough"), [(10, True), (11, False)])
def test_ten_patients_are_few_however_many_cases_they_have(count, rough):
    owners = np.repeat(np.arange(count), 7)
    assert stands_on_few(owners) is rough
    assert stands_on_few(owners, np.arange(owners.size) % 2) is rough
    assert stands_on_few(owners, np.arange(owners.size) < 2)


def test_a_patient_with_most_of_the_cases_leaves_few():
    assert stands_on_few([0] * 100 + list(range(1, 40)))
    assert worth_in_clusters([0] * 100 + list(range(1, 40))) < 2


@given(st.integers(2, 60), st.integers(1, 59))
def test_of_a_rare_outcome_as_many_differ_as_have_it(n, k):
    hits = min(k, n - 1)
    found = differing_clusters([1] * hits + [0] * (n - hits), range(n))
    p = hits / n
    wanted = n * p * (1 - p) / (1 - 2 * p) ** 2 if 2 * hits != n else n
    assert found == pytest.approx(min(n, wanted))
    assert found == pytest.approx(differing_clusters([0] * hits + [1] * (n - hits), range(n)))
    assert differing_clusters([1] * n, range(n)) == n


@pytest.mark.parametrize("kind", [np.int64, np.int32, str])
def test_labels_are_counted_in_their_sorted_order(kind):
    labels = np.array([7, 3, 9, 3, 1_000_000, 7]).astype(kind)
    expected = np.unique(labels, return_inverse=True)[1]
    assert (counted_from_zero(labels) == expected).all()
    assert (counted_from_zero(labels[:4]) == np.unique(labels[:4], return_inverse=True)[1]).all()


def test_how_many_differ_is_the_same_in_any_unit():
    values = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.2])
    for unit in (1e-120, 1e-3, 1e3, 1e120):
        assert differing_clusters(values * unit, range(6)) == pytest.approx(
            differing_clusters(values, range(6))
        )
