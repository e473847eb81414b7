"""The one resampling: few clusters leave much open, and kinds of clusters are clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.case import Measure
from overread.measuring.estimates import (
    FEW,
    Estimate,
    Resampling,
    columns_of,
    counted_in,
    estimated,
    left_open,
    mean_of_columns,
)


def interval(values, few=FEW, step=1.0, limits=(0.0, 1.0)):
    table = np.asarray(values, dtype=float)[:, None]
    counted = np.ones(len(table), dtype=bool)
    record = Measure(reader="", measure="mean")
    made = estimated(record, columns_of(table), mean_of_columns, counted, limits=limits, step=step)
    drawn = Resampling(np.arange(len(table)), boot=500, seed=0, few=few, robust=False)
    return drawn.finish([made])[0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=2, max_size=FEW - 1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_more_few_items_differ_the_wider(offsets, less, more):
    offsets = np.array(offsets) - np.mean(offsets)
    less, more = sorted((less, more))
    narrow, wide = (interval(by * offsets, limits=(-9.0, 9.0)) for by in (less, more))
    assert wide.low <= narrow.low + 1e-9
    assert wide.high >= narrow.high - 1e-9
    room = left_open(len(offsets))
    assert narrow.high - narrow.low >= 2 * room - 1e-6


@pytest.mark.parametrize("n", [3, 5, 9])
def test_normal_items_are_covered_as_promised(n):
    draw = np.random.default_rng(n)
    limits = (-np.inf, np.inf)
    made = [interval(draw.normal(size=n), step=None, limits=limits) for _ in range(400)]
    plain = [interval(draw.normal(size=n), 0, step=None, limits=limits) for _ in range(400)]
    covered, before = (
        np.mean([one.low <= 0 <= one.high for one in some]) for some in (made, plain)
    )
    assert covered > 0.9
    assert before < covered


def test_many_items_and_those_who_do_not_ask_for_it_have_their_percentiles():
    many = np.arange(FEW) % 2
    assert interval(many) == interval(many, 0)
    few = interval([0.0, 1.0, 1.0], 0)
    assert few.method == "bootstrap of items:500:0"
    assert interval([0.0, 1.0, 1.0]).method == (
        "bootstrap of items:500:0, t of 2, at least wilson at 0"
    )


# ---------------------------------------------------------------- by kinds of clusters


def estimate(values) -> Estimate:
    table = np.asarray(values, dtype=float)[:, None]
    made = Measure(reader="", measure="mean")
    return estimated(made, columns_of(table), mean_of_columns, ~np.isnan(table[:, 0]))


def run(clusters, values, boot=4_000):
    how = {"boot": boot, "seed": 3, "robust": False}
    made = estimate(values)
    quick = Resampling(clusters, tallied=True, **how)._by_kinds(made)
    return quick, Resampling(clusters, **how).finish([made])[0]


@pytest.mark.parametrize("each", [1, 2])
def test_intervals_are_those_of_drawing_cluster_by_cluster(each):
    draw = np.random.default_rng(0)
    n = 24_000
    values = (draw.random(n) < 0.3).astype(float)
    values[draw.random(n) < 0.1] = np.nan
    quick, slow = run(np.arange(n) // each, values)
    assert quick is not None
    assert (quick.value, quick.n, quick.method) == (slow.value, slow.n, slow.method)
    assert quick.sd_boot == pytest.approx(slow.sd_boot, rel=0.05)
    for bound in ("low", "high"):
        assert getattr(quick, bound) == pytest.approx(getattr(slow, bound), abs=0.25 * slow.sd_boot)


def test_clusters_that_are_alike_as_a_whole_spread_as_wholes():
    values = np.repeat(np.arange(6_000) % 2, 4).astype(float)
    quick, slow = run(np.repeat(np.arange(6_000), 4), values)
    assert quick is not None
    assert quick.sd_boot == pytest.approx(0.5 / 6_000**0.5, rel=0.05)
    assert quick.sd_boot == pytest.approx(slow.sd_boot, rel=0.05)


def test_the_order_and_the_names_of_clusters_do_not_matter():
    draw = np.random.default_rng(1)
    values, mixed = (draw.random(9_000) < 0.5).astype(float), draw.permutation(9_000)
    clusters = np.arange(9_000) // 2
    one, _ = run(clusters, values, 200)
    two, _ = run((9_000 - clusters)[mixed], values[mixed], 200)
    assert one == two


def test_few_clusters_or_many_kinds_are_left_to_be_drawn_one_by_one():
    draw = np.random.default_rng(2)
    assert run(np.arange(500), draw.random(500) < 0.5, 200)[0] is None
    assert run(np.arange(9_000), draw.random(9_000), 200)[0] is None


def test_a_column_that_comes_again_has_the_same_totals():
    table = np.random.default_rng(3).random((50, 3))[:, [0, 1, 0, 2, 1]]
    how = {"boot": 100, "seed": 0}
    totals = Resampling(np.arange(50), tallied=True, **how).totals(table)
    assert np.allclose(totals, Resampling(np.arange(50), **how).totals(table))
    assert (totals[:, 0] == totals[:, 2]).all()


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_are_summed_to_the_last_bit_as_numpy_does(width, order):
    from overread.measuring.estimates import column_sums

    draw = np.random.default_rng(width)
    table = draw.normal(size=(5_001, width)) * 10.0 ** draw.integers(-8, 8, (5_001, width))
    table = np.asarray(table, order=order)
    assert (column_sums(table) == table.sum(axis=0)).all()
    assert (column_sums(table[::3]) == table[::3].sum(axis=0)).all()
    assert (column_sums(table[:0]) == table[:0].sum(axis=0)).all()


@pytest.mark.parametrize("several", [False, True])
def test_cases_that_share_an_owner_are_one_cluster(several):
    import polars as pl

    from overread.measuring.arrays import linked_clusters

    owners = [(0, "b"), (1, "a"), (3, "b"), (4, None)]
    owners += [(1, "b")] if several else []
    frame = pl.DataFrame(owners, schema={"place": pl.Int64, "owner": pl.String}, orient="row")
    expected = [0, 0, 1, 0, 2] if several else [0, 1, 2, 0, 3]
    assert linked_clusters(frame, 5).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_clusters_are_joined_through_chains_of_ties(seed):
    """As scipy's connected components have them."""
    import polars as pl
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    from overread.measuring.arrays import linked_clusters

    draw = np.random.default_rng(seed)
    n, ties = 200, 20 * (seed + 1)
    place, owner = draw.integers(0, n, ties), draw.integers(n, 2 * n, ties)
    if seed == 0:  # one chain through all
        order = draw.permutation(n)
        place, owner = np.repeat(order, 2)[1:-1], np.repeat(np.arange(n, 2 * n - 1), 2)
    graph = coo_array((np.ones(place.size), (place, owner)), shape=(2 * n, 2 * n))
    expected = connected_components(graph, directed=False)[1][:n]
    found = linked_clusters(pl.DataFrame({"place": place, "owner": owner.astype(str)}), n)
    first_seen = {code: number for number, code in enumerate(dict.fromkeys(expected.tolist()))}
    assert found.tolist() == [first_seen[code] for code in expected.tolist()]


def test_where_no_column_is_nobody_is_counted():
    assert counted_in(np.empty((3, 0))).tolist() == [False] * 3
    assert counted_in(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist() == [True, False]
