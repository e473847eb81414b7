"""Intervals of few items: what resampling cannot know of them is left open."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.drafts import FEW, Resampling, columns_of, drafted, left_open, panel
from overread.case import Measure


def interval(values, few=FEW, unit=1.0, limits=(0.0, 1.0)):
    table = np.asarray(values, dtype=float)[:, None]
    counted = np.ones(len(table), dtype=bool)
    record = Measure(reader="", measure="mean")
    made = drafted(record, columns_of(table), panel, counted, limits=limits, unit=unit)
    resampling = Resampling(np.arange(len(table)), boot=500, seed=0)
    return resampling.finish([msgspec.structs.replace(made, few=few)])[0]


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
    made = [interval(draw.normal(size=n), unit=None, limits=limits) for _ in range(400)]
    plain = [interval(draw.normal(size=n), 0, unit=None, limits=limits) for _ in range(400)]
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
