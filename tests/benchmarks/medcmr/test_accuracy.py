"""Accuracy of runs made by hand."""

from __future__ import annotations

import math

import msgspec
import pytest

from overread.benchmarks.medcmr.edition import CORRECTED
from overread.stats import wilson
from support.med_runs import chosen_measures
from support.med_tables import chose, found, mcq, opened, tables_of, wrote

OURS = msgspec.structs.replace(CORRECTED, boot=500)


def measured(cases, answers, **other):
    return chosen_measures(tables_of(cases, answers, **other), OURS)


def test_accuracy_is_the_share_of_items_whose_right_option_was_named():
    cases = [mcq(1, "A"), mcq(2, "B", "TP"), mcq(3, "C", "TP"), mcq(4, "D", "TP")]
    answers = [chose("one", 1, "A"), chose("one", 2, "B"), chose("one", 3, "B")]
    answers.append(chose("one", 4, "D"))
    made = measured(cases, answers)
    whole = found(made, "accuracy", "one")
    assert (whole.k, whole.n, whole.value) == (3, 4, 0.75)
    expected = wilson(3, 4)
    assert (whole.low, whole.high, whole.method) == (expected.low, expected.high, "wilson")
    assert found(made, "accuracy", "one", kind="mcq").value == 0.75
    assert found(made, "accuracy", "one", dimension="TP").k == 2
    assert found(made, "accuracy", "one", family="visual").value == 1.0


def test_what_names_no_option_is_wrong_and_said_to_be():
    cases = [mcq(index) for index in range(5)]
    said = ["A", "?", "?", "!", None]
    made = measured(cases, [chose("one", index, one) for index, one in enumerate(said)])
    whole = found(made, "accuracy", "one")
    assert (whole.k, whole.n) == (1, 5)
    assert whole.note == "2 invalid, 1 refused, 1 unanswered counted as wrong"


@pytest.mark.parametrize(("said", "value"), [("A", 1.0), ("B", 0.0)])
def test_all_right_or_all_wrong_leaves_something_open(said, value):
    cases = [mcq(index, dimension="SOD" if index < 9 else "TP") for index in range(10)]
    made = measured(cases, [chose("one", index, said) for index in range(10)])
    for name in ("accuracy", "accuracy_macro"):
        record = found(made, name, "one")
        assert record.value == value
        assert record.high - record.low > 0.1
    # One item of a dimension says next to nothing of half the mean.
    assert (
        found(made, "accuracy_macro", "one").high - found(made, "accuracy_macro", "one").low >= 0.5
    )


def test_the_macro_mean_counts_dimensions_alike():
    cases = [mcq(index) for index in range(8)] + [mcq(8, dimension="TP"), mcq(9, dimension="TP")]
    answers = [chose("one", index, "A" if index < 8 else "B") for index in range(10)]
    macro = found(measured(cases, answers), "accuracy_macro", "one")
    assert macro.value == 0.5
    assert macro.n == 10
    assert macro.note == "no items of FDD, SU, CR, LTG, MSI"
    assert macro.low <= 0.5 - (1 - wilson(8, 8).low) / 2
    assert macro.high >= 0.5 + wilson(0, 2).high / 2


def test_without_dimensions_there_is_no_macro_mean():
    made = measured([mcq(1, dimension=None)], [chose("one", 1, "A")])
    assert not [record for record in made if record.measure == "accuracy_macro"]


def test_conditions_have_their_own_and_all_orders_are_permuted():
    cases = [mcq(1, "A"), mcq(2, "B")]
    answers = [
        chose("one", 1, "A"),
        chose("one", 2, "B"),
        chose("one", 1, "A", image="blank"),
        chose("one", 2, "A", image="blank"),
        chose("one", 1, "B", order=1, shift=1),
        chose("one", 2, "B", order=1, shift=1),
    ]
    made = measured(cases, answers)
    assert found(made, "accuracy", "one").value == 1.0
    assert found(made, "accuracy", "one", condition="blank").value == 0.5
    permuted = found(made, "accuracy", "one", condition="permuted")
    assert (permuted.k, permuted.n) == (3, 4)
    assert "design effect" in permuted.method, "two replies to an item are not two items"
    assert found(made, "accuracy", "one", condition="permuted", dimension="SOD").n == 4
    assert not [record for record in made if record.by.get("condition") == "swap"]


def test_asked_only_without_the_image_there_is_no_plain_accuracy():
    made = measured([mcq(1), mcq(2)], [chose("one", 1, "A", image="text")])
    record = found(made, "accuracy", "one")
    assert record.value is None
    assert record.note == "not asked with the item's own image"
    assert found(made, "accuracy", "one", condition="text").n == 1


def test_a_reader_of_open_questions_alone_has_none():
    made = measured([mcq(1), opened(1)], [wrote("one", 1)])
    assert not [record for record in made if record.measure.startswith("accuracy")]


def test_one_item_has_a_value_and_no_interval():
    record = found(measured([mcq(1)], [chose("one", 1, "A")]), "accuracy", "one")
    assert (record.value, record.low, record.high) == (1.0, None, None)
    assert record.note == "one item has no interval"


def test_the_longest_option_is_the_first_of_several():
    # The second and the fourth option have four characters.
    cases = [mcq(1, "B"), mcq(2, "A"), mcq(3, "A"), mcq(4, "A")]
    said = ["B", "B", "D", "?"]
    made = measured(cases, [chose("one", index + 1, one) for index, one in enumerate(said)])
    record = found(made, "longest_rate", "one")
    assert (record.k, record.n) == (2, 3)
    assert record.note == "the right option is the longest in 1 of 3"


def test_chance_is_the_mean_of_one_over_the_options():
    cases = [mcq(1), mcq(2, options=("x", "y")), mcq(3, dimension="TP")]
    made = measured(cases, [chose("one", 1, "A")])
    assert found(made, "chance", "").value == pytest.approx(0.3, abs=1e-15)
    assert found(made, "chance", "", dimension="TP").value == 0.2
    assert found(made, "chance", "", dimension="SOD").n == 2
    five = measured([mcq(index) for index in range(49)], [chose("one", 1, "A")])
    assert math.isclose(found(five, "chance", "").value, 0.2, rel_tol=1e-15)
