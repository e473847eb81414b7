"""The simulation behind docs/scale.md: what must hold of any line of stations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.scale import Shape, simulate

BASE = Shape(
    "made up", planners=1, machines=2, cores=4, naming=1e-4, showing=1e-3, writing=1e-5,
    slots=64, answer=0.1, window=512,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "bends", "rate"),
    [
        ({}, "model", 64 / 0.1),
        ({"naming": 5e-3}, "naming", 1 / 5e-3),
        ({"showing": 0.05}, "showing", 2 * 4 / 0.05),
        ({"writing": 4e-3}, "writer", 1 / 4e-3),
        ({"naming": 5e-3, "planners": 2}, "naming", 2 / 5e-3),
    ],
)
def test_the_slowest_station_sets_the_rate(changed, bends, rate) -> None:
    found = simulate(replace(BASE, **changed), 20_000, chunk=8)
    assert found.bends == bends
    assert found.per_s == pytest.approx(rate, rel=0.08)
    assert found.busy[bends] > 0.9


def test_no_more_are_answered_than_may_be_under_way() -> None:
    """Little's law: what is under way is the rate times how long each takes."""
    narrow = simulate(replace(BASE, window=16), 5_000, chunk=8)
    assert narrow.per_s <= 16 / 0.1 * 1.05
    assert narrow.per_s < simulate(BASE, 5_000, chunk=8).per_s


def test_a_machine_that_fails_costs_what_it_had_in_hand() -> None:
    failing = replace(BASE, fails_after=5.0, back_after=1.0)
    found = simulate(failing, 20_000, chunk=8)
    assert found.repeated > 0
    assert found.repeated % (512 // 2) == 0
    assert found == simulate(failing, 20_000, chunk=8)
    assert simulate(BASE, 20_000, chunk=8).repeated == 0


def test_the_same_seed_gives_the_same_hours() -> None:
    assert simulate(BASE, 2_000, chunk=8, seed=1) == simulate(BASE, 2_000, chunk=8, seed=1)
    assert simulate(BASE, 2_000, chunk=8, seed=1) != simulate(BASE, 2_000, chunk=8, seed=2)
