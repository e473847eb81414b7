"""What clusters do to shares and means: by hand, as laws, and by how often intervals hold."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit
from scipy.stats import beta, binom

from overread.stats import (
    Z95,
    clustered_mean,
    clustered_share,
    counted_from_zero,
    unlike_sizes,
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
def test_independent_cases_have_wilsons_interval_no_further_in_than_an_exact_bound(hits):
    found, effect = clustered_share(hits, range(len(hits)))
    k, n = sum(hits), len(hits)
    plain = wilson(k, n)
    low = beta.ppf(0.07, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.93, k + 1, n - k) if k < n else 1.0
    assert effect == 1
    expected = (
        (plain.low if k == n else min(plain.low, low)),
        (plain.high if not k else max(plain.high, high)),
    )
    assert (found.low, found.high) == pytest.approx(expected)
    if 6 <= k <= n - 6:
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


@pytest.mark.parametrize("n", [20, 50, 300])
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.95])
def test_of_independent_cases_it_holds_the_truth_as_often_as_promised(n, rate):
    """Exactly. Wilson's own holds 0.95 of 20 in 92.5 % of studies and 0.02 of 50 in 92.2 %."""
    ends = [clustered_share(np.arange(n) < k, range(n))[0] for k in range(n + 1)]
    held = [k for k, found in enumerate(ends) if found.low <= rate <= found.high]
    assert 0.93 <= float(binom.pmf(held, n, rate).sum()) <= 0.985


sizes = st.one_of(
    st.tuples(st.integers(2, 12), st.integers(1, 6)).map(lambda both: [both[1]] * both[0]),
    st.lists(st.sampled_from([1, 1, 1, 2, 3, 5, 20]), min_size=2, max_size=10),
)


@given(sizes, st.booleans(), st.randoms(use_true_random=False))
def test_one_hit_more_never_lowers_a_bound(sizes, by_cluster, random):
    """However unlike the clusters are in size, and whether hits come one here and one there."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.zeros(owners.size, dtype=int)
    names = random.sample(range(len(sizes)), len(sizes))
    order = list(range(owners.size))
    random.shuffle(order)
    if by_cluster:
        order.sort(key=lambda place: names[owners[place]])
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


def test_the_mean_of_even_independent_amounts_has_students_interval():
    from scipy import stats

    half = np.random.default_rng(0).normal(0, 2, 6)
    x = 3 + np.concatenate([half, -half])
    found, spread = clustered_mean(float(x.mean()), x, range(12))
    low, high = stats.t.interval(0.95, 11, x.mean(), stats.sem(x))
    assert (found.low, found.high, spread.df) == pytest.approx((low, high, 11))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_a_mean_between_limits_stays_there_and_has_width(values):
    found, _ = clustered_mean(float(np.mean(values)), values, range(len(values)), (0.0, 1.0))
    assert 0 <= found.low <= found.point <= found.high <= 1
    assert found.low < found.high


panels = st.tuples(st.integers(2, 5), st.integers(1, 3)).flatmap(
    lambda both: st.lists(
        st.integers(0, both[0]).map(lambda k, judges=both[0]: k / judges),
        min_size=2 * both[1],
        max_size=12 * both[1],
    ).map(lambda values, each=both[1]: (values, each))
)


def panel_bounds(values, owners):
    found, _ = clustered_mean(float(np.mean(values)), values, owners, (0.0, 1.0))
    return found.low, found.high


@given(panels)
def test_nobody_comes_nearer_to_an_end_than_who_is_all_there(both):
    """49 and two thirds of 50 had a lower bound of 0.962, 50 of 50 one of 0.929.

    Of repeated patients: than as many independent cases as these are worth. How alike a patient's
    cases are cannot be seen where all agree, and is taken to be much.
    """
    values, each = both
    owners = np.arange(len(values)) // each
    if owners[-1] == 0:
        return
    low, high = panel_bounds(values, owners)
    _, spread = clustered_mean(float(np.mean(values)), values, owners, (0.0, 1.0))
    worth = len(values) / spread.effect
    assert low <= worth / (worth + Z95**2) + 1e-12
    assert high >= Z95**2 / (worth + Z95**2) - 1e-12
    if each == 1:
        assert low <= panel_bounds(np.ones(len(values)), owners)[0] + 1e-12
        assert high >= panel_bounds(np.zeros(len(values)), owners)[1] - 1e-12


@given(st.lists(st.integers(0, 3), min_size=3, max_size=25), st.integers(0, 24))
def test_a_mark_more_never_lowers_the_end_on_its_side(thirds, place):
    """Both ends cannot be held: who has 0.9 throughout is known better than who has some 0.

    But a value below the mean that rises never lowers the lower end, nor one above it the upper.
    Marks alone have the normal quantile, values between them Student's: so much is allowed for
    where the last of these turns into a mark.
    """
    values = np.array(thirds) / 3
    place %= values.size
    if values[place] == 1:
        return
    more = values.copy()
    more[place] += 1 / 3
    owners = np.arange(values.size)
    before, after = panel_bounds(values, owners), panel_bounds(more, owners)
    turned = np.isin(values, (0, 1)).all() != np.isin(more, (0, 1)).all()
    wider = stdtrit(values.size - 1, 0.975) / Z95 - 1 if turned else 0.0
    slack = 1e-9 + wider * (before[1] - before[0])
    if more[place] <= more.mean():
        assert after[0] >= before[0] - slack
    if values[place] >= values.mean():
        assert after[1] >= before[1] - slack


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


def test_bounds_of_skewed_amounts_are_where_halls_statistic_is_students_quantile():
    from scipy import stats

    x = np.random.default_rng(1).lognormal(0, 0.7, 25)
    found, _ = clustered_mean(float(x.mean()), x, range(25))
    skew, n = float(stats.skew(x)), 25

    def transformed(mean):
        t = (x.mean() - mean) / stats.sem(x)
        return t + skew * t**2 / (3 * n**0.5) + skew**2 * t**3 / (27 * n) + skew / (6 * n**0.5)

    quantile = stats.t.ppf(0.975, 24)
    assert transformed(found.low) == pytest.approx(quantile)
    assert transformed(found.high) == pytest.approx(-quantile)
    assert found.high - x.mean() > x.mean() - found.low


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=3, max_size=60))
def test_no_set_with_fewer_of_the_hits_has_a_larger_upper_bound(rows):
    """What is left out because it cannot be the largest is none that is."""
    from scipy.special import stdtrit

    from overread.stats import _clusters as clusters
    from overread.stats._spread import drawn_effect

    hits, owners = (np.array(part) for part in zip(*rows, strict=True))
    where = counted_from_zero(owners)
    sizes = np.bincount(where)
    of = np.bincount(where, weights=hits).astype(np.int64)
    n, count = int(sizes.sum()), sizes.size
    if count in (1, n):
        return
    factor, others = unlike_sizes(sizes)
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
        raw = factor * float(((own - p * sizes) ** 2).sum()) / mass if mass else 1.0
        effect = drawn_effect(raw, mass, sizes, n)
        t = stdtrit(1 / max((1 - 1 / effect) ** 2 / others, 1e-12), 0.975)
        bounds.append(clusters.wilson_bounds(p, n / effect * (clusters.Z95 / t) ** 2)[1])
    found = clusters._upper(of, sizes)[1]
    assert found >= max(bounds) - 1e-12
    if sizes.min() == sizes.max():
        assert found == pytest.approx(max(bounds), abs=1e-12)


def test_patients_of_unlike_sizes_take_little_more_memory_than_those_of_one():
    """Of 20,000 films; every number of hits against every kind of patient would be 300 MB."""
    draw = np.random.default_rng(0)

    def peak(owners):
        hits = draw.random(owners.max() + 1)[owners] > draw.random(owners.size)
        clustered_share(hits[:2], owners[[0, -1]])  # what is imported once
        tracemalloc.start()
        clustered_share(hits, owners)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    alike = np.repeat(np.arange(1_000), 20)
    unlike = np.repeat(np.arange(2_000), draw.integers(1, 40, 2_000))[:20_000]
    assert peak(unlike) < 10 * peak(alike)


def test_two_patients_of_ten_thousand_cases_do_not_fill_the_memory():
    hits, owners = np.arange(10_000) < 6_000, np.arange(10_000) >= 6_000
    tracemalloc.start()
    clustered_share(hits, owners)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50e6
