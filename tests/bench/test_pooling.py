"""A small part of `python -m bench.pooling`: pooled numbers are nearer the truth, and held."""

from __future__ import annotations

import pytest
from bench.pooling import Design, simulated


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        Design(4, (5, 20), 1, 0.5, 0.1),
        Design(8, (5, 20), 3, 0.1, 0.1),
        Design(8, (30, 100), 1, 0.5, 0.25),
        Design(20, (5, 300), 1, 0.02, 0.0),
    ],
    ids=str,
)
def test_pooled_numbers_are_nearer_the_truth_and_their_intervals_hold(design):
    found = simulated(design, 100)
    assert found.error < 1
    assert found.pooled > 0.93


def test_where_groups_are_alike_most_of_the_error_is_chance():
    assert simulated(Design(12, (10, 30), 1, 0.5, 0.0), 10).error < 0.5
