"""The order of the two frames."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.authors.rules import t2_orders
from overread.benchmarks.heartbeat.trials import ed_position

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_t2_order.json").read_text("utf-8")
)
ORDERS = {int(seed): digits for seed, digits in GOLDEN["edv_position_by_seed"].items()}


def test_the_order_is_the_authors():
    for seed, digits in ORDERS.items():
        assert t2_orders(len(digits), seed) == [int(digit) for digit in digits]


def test_a_constant_answer_is_right_as_often_as_published():
    rates = [1 - statistics.fmean(t2_orders(len(digits), seed)) for seed, digits in ORDERS.items()]
    published = GOLDEN["always_answer_0"]
    assert round(statistics.fmean(rates), 9) == published["edv_accuracy_mean"]
    assert abs(statistics.stdev(rates) - published["sd_ddof1"]) < 1e-12


def test_the_papers_row_of_constant_answers():
    # Gemma-3n, T2: 0.514 +/- 0.061 over 100 videos and seeds 2020-2029 (HEARTBEAT 4).
    rates = [1 - statistics.fmean(t2_orders(100, seed)) for seed in range(2020, 2030)]
    assert (round(statistics.fmean(rates), 3), round(statistics.stdev(rates), 3)) == (0.514, 0.061)


@settings(deadline=None)
@given(st.integers(0, 2000), st.integers(0, 2**64))
def test_the_place_alone_tells_the_position_however_long_the_set(place, seed):
    assert ed_position(place, seed) == t2_orders(place + 1, seed)[place]


def test_the_shared_generator_is_left_alone():
    random.seed(7)
    before = random.getstate()
    t2_orders(50, 2020)
    ed_position(3, 99)
    assert random.getstate() == before
    assert t2_orders(0, 1) == []
