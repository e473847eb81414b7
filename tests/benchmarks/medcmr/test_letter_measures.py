"""Letters given, other orders of the options, and what probabilities say, by hand."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from overread.benchmarks.medcmr.cases import LETTERS
from overread.benchmarks.medcmr.edition import CORRECTED
from overread.stats import brier, ece
from support.med_runs import chosen_measures
from support.med_tables import chose, found, mcq, tables_of

# ---------------------------------------------------------------- positions
# Letters given, and what another order of the options changes.

OURS = msgspec.structs.replace(CORRECTED, boot=500)


def measured(cases, answers):
    return chosen_measures(tables_of(cases, answers), OURS)


def always_first(n=10, orders=5):
    """Names whatever is shown first: in order o that is the o-th option of the case."""
    cases = [mcq(index, LETTERS[index % 5]) for index in range(n)]
    answers = [
        chose("one", index, LETTERS[order], order=order, shift=order)
        for index in range(n)
        for order in range(orders)
    ]
    return measured(cases, answers)


def test_who_always_says_a_has_all_the_bias_there_is():
    made = always_first()
    assert found(made, "position_share", "one", position="A").value == 1.0
    assert found(made, "position_share", "one", position="B").k == 0
    assert found(made, "position_share", "one", position="A").note == "10 right letters"
    bias = found(made, "position_bias", "one")
    # Over all five orders the right option stands in each place once.
    assert bias.value == pytest.approx(0.8)
    assert bias.n == 50
    assert bias.high > bias.low
    assert found(made, "order_consistency", "one").value == 0.0
    assert found(made, "accuracy_all_orders", "one").value == 0.0
    assert found(made, "accuracy", "one", condition="permuted").value == pytest.approx(0.2)


def test_who_is_always_right_has_none():
    cases = [mcq(index, LETTERS[index % 5]) for index in range(10)]
    answers = [
        chose("one", index, LETTERS[index % 5], order=order, shift=order)
        for index in range(10)
        for order in range(3)
    ]
    made = measured(cases, answers)
    bias = found(made, "position_bias", "one")
    assert bias.value == 0.0
    assert bias.high > 0.1, "ten items leave something open"
    assert found(made, "order_consistency", "one").value == 1.0
    assert found(made, "accuracy_all_orders", "one").value == 1.0


def test_always_wrong_in_the_same_way_is_consistent():
    answers = [chose("one", 1, "B", order=order, shift=order) for order in range(3)]
    made = measured([mcq(1, "A")], answers)
    assert found(made, "order_consistency", "one").value == 1.0
    assert found(made, "accuracy_all_orders", "one").value == 0.0


@pytest.mark.parametrize("other", ["?", "!", None, "B"])
def test_an_order_without_the_option_is_no_agreement(other):
    answers = [chose("one", 1, "A"), chose("one", 1, other, order=1, shift=1)]
    made = measured([mcq(1, "A")], answers)
    assert found(made, "order_consistency", "one").value == 0.0


def test_items_of_one_order_do_not_count_as_consistent():
    answers = [chose("one", 1, "A"), chose("one", 2, "A"), chose("one", 2, "A", order=1, shift=1)]
    made = measured([mcq(1), mcq(2)], answers)
    assert found(made, "order_consistency", "one").n == 1
    assert found(made, "accuracy_all_orders", "one").n == 1


def test_without_further_orders_there_are_shares_and_bias_alone():
    made = measured([mcq(1, "B"), mcq(2, "A")], [chose("one", 1, "A"), chose("one", 2, "A")])
    assert found(made, "position_bias", "one").value == 0.5
    names = {record.measure for record in made}
    assert not names & {"order_consistency", "accuracy_all_orders"}


def test_without_a_valid_reply_nothing_has_a_number():
    made = measured([mcq(1)], [chose("one", 1, "?")])
    for name, by in (("position_bias", {}), ("position_share", {"position": "A"})):
        record = found(made, name, "one", **by)
        assert record.value is None
        assert record.note


def test_resamples_are_centred_for_noise_adds_to_a_distance():
    draw = np.random.default_rng(0)
    cases = [mcq(index, LETTERS[one]) for index, one in enumerate(draw.integers(0, 5, 300))]
    answers = [
        chose("one", index, LETTERS[one]) for index, one in enumerate(draw.integers(0, 5, 300))
    ]
    bias = found(measured(cases, answers), "position_bias", "one")
    assert bias.method.endswith(", centred")
    # As much below as above, where nothing cuts it off.
    assert bias.value - bias.low == pytest.approx(bias.high - bias.value, rel=0.5)


# ---------------------------------------------------------------- probabilities
# What probabilities of the options say, by hand.

TWO = ("x", "y")


def measured_chances(*chances, answers=None):
    told = answers or ["A"] * len(chances)
    cases = [mcq(index, told[index], options=TWO) for index in range(len(chances))]
    rows = [chose("one", index, "A", probabilities=p) for index, p in enumerate(chances)]
    return chosen_measures(tables_of(cases, rows), OURS)


def test_the_likeliest_option_is_the_choice():
    made = measured_chances([0.9, 0.1], [0.2, 0.8], [0.6, 0.4])
    record = found(made, "accuracy_logprobs", "one")
    assert (record.k, record.n, record.note) == (2, 3, None)


def test_of_two_equally_likely_none_is_chosen():
    record = found(measured_chances([0.5, 0.5], [0.9, 0.1]), "accuracy_logprobs", "one")
    assert (record.k, record.n) == (1, 2)
    assert record.note == "1 ties counted as wrong"


def test_items_without_probabilities_are_left_out_and_counted():
    record = found(measured_chances([0.9, 0.1], None, None), "accuracy_logprobs", "one")
    assert (record.k, record.n) == (1, 1)
    assert record.note.startswith("2 without probabilities left out")


def test_with_two_options_it_is_the_brier_score_of_the_right_one():
    chances, answers = [[0.9, 0.1], [0.3, 0.7], [0.55, 0.45]], ["A", "B", "B"]
    made = measured_chances(*chances, answers=answers)
    right = [p["AB".index(one)] for p, one in zip(chances, answers, strict=True)]
    record = found(made, "brier", "one")
    assert record.value == pytest.approx(brier(right, [1, 1, 1]).point)
    assert record.low <= record.value <= record.high


def test_calibration_is_that_of_the_likeliest_option():
    chances = [[0.9, 0.1], [0.95, 0.05], [0.3, 0.7], [0.35, 0.65], [0.45, 0.55]]
    answers = ["A", "B", "B", "A", "A"]
    record = found(measured_chances(*chances, answers=answers), "ece", "one")
    expected = ece([0.9, 0.95, 0.7, 0.65, 0.55], [1, 0, 1, 0, 0], edges="floor")
    assert record.value == pytest.approx(expected)
    assert record.n == 5


def test_probabilities_of_one_and_nought_say_nothing_of_calibration():
    record = found(measured_chances([1.0, 0.0], [0.0, 1.0]), "ece", "one")
    assert record.value is None
    assert record.note == "the probabilities say no more than the letter"


def test_all_on_a_wrong_option_is_the_worst_score():
    assert found(measured_chances([0.0, 1.0], [0.0, 1.0]), "brier", "one").value == 1.0


def test_readers_without_probabilities_have_no_such_records():
    names = {record.measure for record in measured_chances(None, None)}
    assert not names & {"accuracy_logprobs", "ece", "brier"}
