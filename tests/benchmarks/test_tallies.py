"""Resampling by kinds of clusters is the resampling of clusters."""

from __future__ import annotations

import numpy as np
import pytest

from overread.benchmarks.drafts import Draft, Resampling, columns_of, drafted, panel
from overread.benchmarks.tallies import Tallied
from overread.case import Measure


def draft(values) -> Draft:
    table = np.asarray(values, dtype=float)[:, None]
    made = Measure(reader="", measure="mean")
    return drafted(made, columns_of(table), panel, ~np.isnan(table[:, 0]))


def run(clusters, values, boot=4_000):
    how = {"boot": boot, "seed": 3}
    made = draft(values)
    return Tallied(clusters, **how).quickly(made), Resampling(clusters, **how).finish([made])[0]


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
    totals = Tallied(np.arange(50), **how).totals(table)
    assert np.allclose(totals, Resampling(np.arange(50), **how).totals(table))
    assert (totals[:, 0] == totals[:, 2]).all()
