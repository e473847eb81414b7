"""What clusters do to shares and means: by hand, as laws, and by how often intervals hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import (
    clustered_mean,
    clustered_share,
    counted_from_zero,
    spread_of_mean,
    wilson,
)

clustered = st.integers(2, 12).flatmap(
    lambda count: st.lists(
        st.tuples(st.integers(0, count - 1), st.integers(0, 1)), min_size=2, max_size=40
    )
)


def apart(rows: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [hit for _, hit in rows], [owner for owner, _ in rows]


@given(clustered)
def test_a_share_lies_within_its_bounds_which_have_width(rows):
    hits, owners = apart(rows)
    found, effect = clustered_share(hits, owners)
    assert found.point == sum(hits) / len(hits)
    assert 1 <= effect <= len(hits)
    if len(set(owners)) < 2:
        assert (found.low, found.high) == (None, None)
        return
    assert 0 <= found.low <= found.point <= found.high <= 1
    assert found.low < found.high


@given(st.lists(st.integers(0, 1), min_size=2, max_size=60))
def test_independent_cases_have_wilsons_interval(hits):
    found, effect = clustered_share(hits, range(len(hits)))
    plain = wilson(sum(hits), len(hits))
    assert effect == 1
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


@given(st.integers(2, 12), st.integers(1, 6), st.randoms(use_true_random=False))
def test_one_hit_more_never_lowers_a_bound(count, size, random):
    owners = np.repeat(np.arange(count), size)
    hits = np.zeros(owners.size, dtype=int)
    order = list(range(owners.size))
    random.shuffle(order)
    before, _ = clustered_share(hits, owners)
    for place in order:
        hits[place] = 1
        after, _ = clustered_share(hits, owners)
        assert after.low >= before.low - 1e-12
        assert after.high >= before.high - 1e-12
        before = after


def test_no_hits_say_no_more_than_one():
    """300 films of 75 patients: none had an upper bound of 0.049, one of 0.019."""
    owners = np.arange(300) // 4
    highs = [clustered_share(np.arange(300) < k, owners)[0].high for k in range(3)]
    assert highs == sorted(highs)


@given(clustered, st.permutations(range(12)))
def test_neither_order_nor_names_of_clusters_matter(rows, names):
    hits, owners = apart(rows)
    again = sorted((names[owner], hit) for hit, owner in zip(hits, owners, strict=True))
    one, two = clustered_share(hits, owners), clustered_share(*apart(again))
    assert one[1] == pytest.approx(two[1])
    assert (one[0].low, one[0].high) == pytest.approx((two[0].low, two[0].high))


def test_the_mean_of_independent_amounts_has_students_interval():
    from scipy import stats

    x = np.random.default_rng(0).normal(3, 2, 12)
    found, spread = clustered_mean(float(x.mean()), x, range(12))
    low, high = stats.t.interval(0.95, 11, x.mean(), stats.sem(x))
    assert (found.low, found.high, spread.df) == pytest.approx((low, high, 11))


def test_clusters_that_are_alike_count_as_one_each():
    x = np.random.default_rng(1).normal(0, 1, 40)
    plain = spread_of_mean(x, range(40))
    alike = spread_of_mean(np.repeat(x, 5), np.repeat(np.arange(40), 5))
    assert alike.variance == pytest.approx(plain.variance, rel=0.15)
    assert 39 <= alike.df <= 70


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_a_mean_between_limits_stays_there_and_has_width(values):
    found, _ = clustered_mean(float(np.mean(values)), values, range(len(values)), (0.0, 1.0))
    assert 0 <= found.low <= found.point <= found.high <= 1
    assert found.low < found.high


def test_amounts_that_all_agree_have_no_interval():
    found, _ = clustered_mean(2.0, [2.0, 2.0, 2.0], range(3))
    assert (found.low, found.high) == (None, None)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "size"), [(20, 1), (10, 2), (25, 2), (10, 5), (60, 5)])
@pytest.mark.parametrize("alike", [0.0, 0.6])
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.95])
def test_a_share_is_covered_as_often_as_promised(count, size, alike, rate):
    draw, held, times = np.random.default_rng(7), 0, 400
    owners = np.repeat(np.arange(count), size)
    for _ in range(times):
        chance = np.full(count, rate)
        if alike:
            chance = draw.beta(rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1), count)
        found, _ = clustered_share(draw.random(owners.size) < chance[owners], owners)
        held += found.low <= rate <= found.high
    # 400 times: 0.93 less three standard errors of a coverage of 0.93.
    assert held / times >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / times)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=3, max_size=60))
def test_the_upper_bound_is_the_largest_of_all_with_fewer_hits(rows):
    """What is left out because it cannot be the largest is none that is."""
    from scipy.special import stdtrit

    from overread.stats import _clusters as clusters

    hits, owners = (np.array(part) for part in zip(*rows, strict=True))
    where = clusters.counted_from_zero(owners)
    sizes = np.bincount(where)
    of = np.bincount(where, weights=hits).astype(np.int64)
    n, count = int(sizes.sum()), sizes.size
    if count in (1, n):
        return
    order = np.lexsort((sizes, -of))
    bounds = []
    for k in range(int(of.sum()) + 1):
        own = np.zeros_like(of)
        left = k
        for place in order:
            own[place] = min(left, of[place])
            left -= own[place]
        p = k / n
        mass = n * p * (1 - p)
        raw = count / (count - 1) * float(((own - p * sizes) ** 2).sum()) / mass if mass else 1.0
        effect = clusters._effect(raw, mass, sizes, n)
        t = stdtrit(1 / max((1 - 1 / effect) ** 2 / (count - 1), 1e-12), 0.975)
        bounds.append(clusters.wilson_bounds(p, n / effect * (clusters.Z95 / t) ** 2)[1])
    assert clusters._upper(of, sizes)[1] == pytest.approx(max(bounds), abs=1e-12)


@pytest.mark.parametrize("kind", [np.int64, np.int32, str])
def test_labels_are_counted_in_their_sorted_order(kind):
    labels = np.array([7, 3, 9, 3, 1_000_000, 7]).astype(kind)
    expected = np.unique(labels, return_inverse=True)[1]
    assert (counted_from_zero(labels) == expected).all()
    assert (counted_from_zero(labels[:4]) == np.unique(labels[:4], return_inverse=True)[1]).all()
