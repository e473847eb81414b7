"""What probabilities of the options say, by hand."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.medcmr.edition import CORRECTED
from overread.stats import brier, ece
from support.med_runs import chosen_measures
from support.med_tables import chose, found, mcq, tables_of

OURS = msgspec.structs.replace(CORRECTED, boot=500)
TWO = ("x", "y")


def measured(*chances, answers=None):
    told = answers or ["A"] * len(chances)
    cases = [mcq(index, told[index], options=TWO) for index in range(len(chances))]
    rows = [chose("one", index, "A", probabilities=p) for index, p in enumerate(chances)]
    return chosen_measures(tables_of(cases, rows), OURS)


def test_the_likeliest_option_is_the_choice():
    made = measured([0.9, 0.1], [0.2, 0.8], [0.6, 0.4])
    record = found(made, "accuracy_logprobs", "one")
    assert (record.k, record.n, record.note) == (2, 3, None)


def test_of_two_equally_likely_none_is_chosen():
    record = found(measured([0.5, 0.5], [0.9, 0.1]), "accuracy_logprobs", "one")
    assert (record.k, record.n) == (1, 2)
    assert record.note == "1 ties counted as wrong"


def test_items_without_probabilities_are_left_out_and_counted():
    record = found(measured([0.9, 0.1], None, None), "accuracy_logprobs", "one")
    assert (record.k, record.n) == (1, 1)
    assert record.note.startswith("2 without probabilities left out")


def test_with_two_options_it_is_the_brier_score_of_the_right_one():
    chances, answers = [[0.9, 0.1], [0.3, 0.7], [0.55, 0.45]], ["A", "B", "B"]
    made = measured(*chances, answers=answers)
    right = [p["AB".index(one)] for p, one in zip(chances, answers, strict=True)]
    record = found(made, "brier", "one")
    assert record.value == pytest.approx(brier(right, [1, 1, 1]).point)
    assert record.low <= record.value <= record.high


def test_calibration_is_that_of_the_likeliest_option():
    chances = [[0.9, 0.1], [0.95, 0.05], [0.3, 0.7], [0.35, 0.65], [0.45, 0.55]]
    answers = ["A", "B", "B", "A", "A"]
    record = found(measured(*chances, answers=answers), "ece", "one")
    expected = ece([0.9, 0.95, 0.7, 0.65, 0.55], [1, 0, 1, 0, 0], edges="floor")
    assert record.value == pytest.approx(expected)
    assert record.n == 5


def test_probabilities_of_one_and_nought_say_nothing_of_calibration():
    record = found(measured([1.0, 0.0], [0.0, 1.0]), "ece", "one")
    assert record.value is None
    assert record.note == "the probabilities say no more than the letter"


def test_all_on_a_wrong_option_is_the_worst_score():
    assert found(measured([0.0, 1.0], [0.0, 1.0]), "brier", "one").value == 1.0


def test_readers_without_probabilities_have_no_such_records():
    names = {record.measure for record in measured(None, None)}
    assert not names & {"accuracy_logprobs", "ece", "brier"}
