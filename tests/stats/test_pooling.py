"""Groups drawn together: against a slow way to the same numbers, as laws, and what is gained."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from scipy.optimize import brentq

from overread.stats import FEWEST_GROUPS, pooled_groups

SHARE = (0.0, 1.0)
counted = st.lists(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=FEWEST_GROUPS,
    max_size=15,
)


def shares(rows: list[tuple[int, int]]):
    n = np.array([of for _, of in rows], dtype=float)
    rates = np.array([k for k, _ in rows]) / n
    return rates, rates * (1 - rates) / n, n


def slowly(rows: list[tuple[int, int]]) -> list[tuple[float, float, float, float]]:
    """Each group's value, bounds and weight, number by number, the root by bisection."""
    groups = len(rows)
    cases = sum(n for _, n in rows)
    unit = (sum(n * (k / n) * (1 - k / n) for k, n in rows) + 0.25) / (cases + 1)

    def weights(tau2: float) -> list[float]:
        return [1 / (unit / n + tau2) for _, n in rows]

    def mean(tau2: float) -> float:
        return sum(w * k / n for w, (k, n) in zip(weights(tau2), rows, strict=True)) / sum(
            weights(tau2)
        )

    def beyond(tau2: float) -> float:
        off = ((k / n - mean(tau2)) ** 2 for k, n in rows)
        return sum(w * o for w, o in zip(weights(tau2), off, strict=True)) - (groups - 1)

    tau2 = brentq(beyond, 0, 10, xtol=1e-15, rtol=1e-14) if beyond(0) > 0 else 0.0
    mu = mean(tau2)
    typical = sum(unit / n for _, n in rows) / groups
    values, spreads, own = [], [], []
    for k, n in rows:
        v = unit / n
        b = (groups - 3) / (groups - 1) * v / (v + tau2)
        values.append(b * mu + (1 - b) * k / n)
        of_tau = 2 / (groups - 3) * b * b * (k / n - mu) ** 2 * (typical + tau2) / (v + tau2)
        spreads.append(v * (1 - b) + b * b / sum(weights(tau2)) + of_tau)
        own.append(1 - b)
    common = (sum(n * x * (1 - x) for x, (_, n) in zip(values, rows, strict=True)) + 0.25) / (
        cases + 1
    )
    found = []
    for value, spread, weight in zip(values, spreads, own, strict=True):
        m = common / spread
        low = reference.beta.ppf(0.025, value * m, (1 - value) * m + 1) if value > 0 else 0.0
        high = reference.beta.ppf(0.975, value * m + 1, (1 - value) * m) if value < 1 else 1.0
        found.append((value, low, high, weight))
    return found


@pytest.mark.parametrize(
    "rows",
    [
        [(3, 10), (7, 10), (5, 20), (30, 40)],
        [(0, 5), (0, 9), (1, 30), (2, 100), (0, 1)],
        [(9, 10), (10, 10), (11, 12), (50, 55), (3, 4), (1, 1)],
        [(50, 100), (52, 100), (49, 100), (51, 100)],
        [(1, 50), (10, 50), (25, 50), (40, 50), (49, 50)],
        [(0, 4), (0, 8), (0, 15), (0, 16)],
    ],
)
def test_pooling_is_what_its_formula_says(rows):
    found = pooled_groups(*shares(rows), SHARE)
    for at, (value, low, high, weight) in enumerate(slowly(rows)):
        assert found.value[at] == pytest.approx(value, abs=1e-9)
        assert found.low[at] == pytest.approx(low, abs=1e-8)
        assert found.high[at] == pytest.approx(high, abs=1e-8)
        assert found.weight[at] == pytest.approx(weight, abs=1e-9)


@settings(max_examples=40)
@given(counted)
def test_a_pooled_share_lies_between_its_own_and_the_mean_and_within_bounds_that_have_width(rows):
    rates, variances, n = shares(rows)
    found = pooled_groups(rates, variances, n, SHARE)
    assert (np.minimum(rates, found.mean) - 1e-12 <= found.value).all()
    assert (found.value <= np.maximum(rates, found.mean) + 1e-12).all()
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    assert (found.low < found.high).all()
    assert found.low.min() >= 0
    assert found.high.max() <= 1
    assert found.tau2 >= 0
    assert ((found.weight > 0) & (found.weight <= 1)).all()


@settings(max_examples=40)
@given(counted, st.randoms())
def test_the_order_of_groups_does_not_matter(rows, random):
    places = list(range(len(rows)))
    random.shuffle(places)
    one = pooled_groups(*shares(rows), SHARE)
    other = pooled_groups(*shares([rows[place] for place in places]), SHARE)
    for field in ("value", "low", "high", "weight"):
        assert getattr(other, field) == pytest.approx(getattr(one, field)[places], abs=1e-8)


@settings(max_examples=40)
@given(counted)
def test_misses_pool_as_hits_do(rows):
    hits = pooled_groups(*shares(rows), SHARE)
    misses = pooled_groups(*shares([(n - k, n) for k, n in rows]), SHARE)
    assert misses.value == pytest.approx(1 - hits.value, abs=1e-8)
    assert misses.low == pytest.approx(1 - hits.high, abs=1e-6)


@given(st.floats(-50, 50), st.floats(0.1, 50))
def test_units_do_not_matter(start, scale):
    rates, variances, n = shares([(3, 10), (7, 10), (5, 20), (30, 40)])
    plain = pooled_groups(rates, variances, n, SHARE)
    other = pooled_groups(start + scale * rates, scale**2 * variances, n, (start, start + scale))
    for field in ("value", "low", "high"):
        assert getattr(other, field) == pytest.approx(start + scale * getattr(plain, field))
    assert other.weight == pytest.approx(plain.weight)


def test_alike_groups_stay_where_they_are():
    found = pooled_groups([0.4] * 6, [0.01] * 6, [24.0] * 6, SHARE)
    assert found.value == pytest.approx([0.4] * 6)
    assert found.mean == pytest.approx(0.4)
    assert found.tau2 == 0
    alone = pooled_groups([0.4] * 40, [0.01] * 40, [24.0] * 40, SHARE)
    assert alone.high[0] - alone.low[0] < found.high[0] - found.low[0]


def test_groups_far_apart_keep_their_own_numbers():
    rates = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    found = pooled_groups(rates, rates * (1 - rates) / 1e6, np.full(5, 1e6), SHARE)
    assert found.value == pytest.approx(rates, abs=1e-5)
    assert (found.weight > 0.9999).all()


def test_the_smaller_a_group_the_less_its_own_number_counts():
    found = pooled_groups(*shares([(6, 10), (60, 100), (10, 20), (900, 1000), (0, 1)]), SHARE)
    order = np.argsort([10, 100, 20, 1000, 1])
    assert (np.diff(found.weight[order]) > 0).all()


@given(st.lists(st.floats(-100, 100), min_size=FEWEST_GROUPS, max_size=12))
def test_with_equal_variances_it_is_james_and_steins_estimate(values):
    y, count = np.array(values), len(values)
    assume(np.ptp(y) > 0.1)
    found = pooled_groups(y, np.full(count, 0.25), np.full(count, 8.0))
    off = ((y - y.mean()) ** 2).sum()
    drawn = min((count - 3) * 0.25 / off, (count - 3) / (count - 1))
    assert found.mean == pytest.approx(y.mean(), abs=1e-9)
    assert found.value == pytest.approx(y.mean() + (1 - drawn) * (y - y.mean()), abs=1e-6)


def test_without_limits_the_interval_is_students_and_stops_at_a_limit():
    y, v, m = np.array([0.2, 1.5, 2.0, 4.0, 3.0]), np.full(5, 0.5), np.full(5, 3.0)
    found = pooled_groups(y, v, m)
    assert found.value - found.low == pytest.approx(found.high - found.value)
    stopped = pooled_groups(y, v, m, (0.0, math.inf))
    assert stopped.low.min() == 0
    assert (stopped.value == found.value).all()
    assert (stopped.high == found.high).all()


def test_a_group_of_one_case_borrows_what_the_others_say_about_chance():
    rates, variances, n = shares([(3, 10), (7, 10), (5, 20), (30, 40), (1, 1)])
    variances[4] = np.nan
    found = pooled_groups(rates, variances, n, SHARE)
    assert found.weight[4] == found.weight.min()
    assert found.mean < found.value[4] < 1


@pytest.mark.parametrize("groups", range(FEWEST_GROUPS))
def test_few_groups_are_not_pooled(groups):
    assert pooled_groups([0.5] * groups, [0.1] * groups, [4.0] * groups, SHARE) is None


def test_nothing_that_varies_is_not_pooled_but_between_limits():
    assert pooled_groups([1.0, 2.0, 3.0, 4.0], [0.0] * 4, [5.0] * 4) is None
    assert pooled_groups([1.0, 2.0, 3.0, 4.0], [np.nan] * 4, [1.0] * 4) is None
    found = pooled_groups([0.0] * 4, [np.nan] * 4, [1.0] * 4, SHARE)
    assert (found.high > 0.2).all()
