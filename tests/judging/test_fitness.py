"""Is a judge fit?"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import Measure
from overread.judging.fitness import (
    NOT_CHECKED,
    UNFIT,
    Check,
    Fitness,
    corrected_for_errors,
    fitness_of,
)
from overread.stats import wilson

SAID = st.sampled_from([True, False, None])


def one(right: tuple[int, int], wrong: tuple[int, int], judge: str = "j") -> Fitness:
    """Of right[1] right replies right[0] called right; the same of wrong ones."""
    checks = [Check(judge, "answer", True, n < right[0]) for n in range(right[1])]
    checks += [Check(judge, "answer", False, n >= wrong[0]) for n in range(wrong[1])]
    (found,) = fitness_of(checks)
    return found


@pytest.mark.parametrize(
    ("right", "wrong", "label"),
    [
        ((20, 20), (20, 20), None),
        ((18, 20), (9, 10), None),
        ((17, 20), (20, 20), UNFIT),
        ((20, 20), (17, 20), UNFIT),
        ((20, 20), (0, 0), NOT_CHECKED),
        ((0, 0), (20, 20), NOT_CHECKED),
        ((10, 20), (0, 0), UNFIT),
        ((10, 10), (10, 10), None),
        ((9, 9), (20, 20), NOT_CHECKED),
        ((20, 20), (1, 1), NOT_CHECKED),
        ((7, 9), (20, 20), NOT_CHECKED),
        ((0, 1), (20, 20), UNFIT),
        ((4, 9), (20, 20), UNFIT),
    ],
)
def test_nine_in_ten_either_way(
    right: tuple[int, int], wrong: tuple[int, int], label: str | None
) -> None:
    assert one(right, wrong).label == label


@given(st.integers(1, 400))
def test_exactly_nine_in_ten_is_enough_whatever_the_number(tens: int) -> None:
    assert one((9 * tens, 10 * tens), (9 * tens, 10 * tens)).label is None
    assert one((9 * tens - 1, 10 * tens), (9 * tens, 10 * tens)).label == UNFIT


@given(st.lists(st.tuples(st.booleans(), SAID), max_size=30))
def test_a_verdict_that_cannot_be_read_counts_against_the_judge(
    pairs: list[tuple[bool, bool | None]],
) -> None:
    found = fitness_of(Check("j", "recall", truth, said) for truth, said in pairs)
    if not pairs:
        assert found == []
        return
    (fit,) = found
    right = [said for truth, said in pairs if truth]
    wrong = [said for truth, said in pairs if not truth]
    assert fit.sensitivity == wilson(right.count(True), len(right))
    assert fit.specificity == wilson(wrong.count(False), len(wrong))
    assert fit.unread == [said for _, said in pairs].count(None)


def test_a_judge_that_says_yes_to_everything_is_unfit() -> None:
    assert one((20, 20), (0, 20)).label == UNFIT


def test_each_judge_and_question_stands_by_itself() -> None:
    checks = [
        Check("a", "recall", True, True),
        Check("a", "precision", True, False),
        Check("b", "recall", True, False),
    ]
    found = {(fit.judge, fit.question): fit.sensitivity.point for fit in fitness_of(checks)}
    assert found == {("a", "recall"): 1, ("a", "precision"): 0, ("b", "recall"): 0}


# ---------------------------------------------------------------- rates without a judge's errors


def judged(right, wrong, k, n, **facts):
    """Accuracy of k of n by a judge that was right on so many of 50 right and 50 wrong replies."""
    found = wilson(k, n)
    rate = Measure(
        reader="r", measure="accuracy", by={"judge": "j"}, value=k / n, n=n, se=found.sd,
        low=found.low, high=found.high, **facts,
    )  # fmt: skip
    fit = Fitness(
        judge="j",
        question="answer",
        sensitivity=wilson(right, 50),
        specificity=wilson(wrong, 50),
        unread=0,
    )
    return rate, fit


def corrected(rate, fit):
    return list(corrected_for_errors([rate], [fit], "accuracy", "answer"))


def test_a_rate_without_the_judges_errors_and_whose_they_were():
    (one,) = corrected(*judged(46, 46, 88, 100, label=UNFIT))
    assert one.value == pytest.approx((0.88 + 0.92 - 1) / (2 * 0.92 - 1))
    assert one.low < 0.95 < one.high
    assert one.beside == (0.88, one.value)
    assert (one.measure, one.label, one.flags) == ("accuracy_corrected", UNFIT, ("judge_errors",))
    assert one.note == "without the errors of j: sensitivity 0.920, specificity 0.920"
    # A judge without a mistake changes nothing but leaves more open than no judge at all.
    (one,) = corrected(*judged(50, 50, 70, 100))
    assert one.value == pytest.approx(0.7)
    assert one.high - one.low > wilson(70, 100).high - wilson(70, 100).low


def test_what_nobody_judged_is_no_judges_error():
    (one,) = corrected(*judged(46, 46, 44, 100, as_wrong={"unanswered": 50}))
    assert one.value == pytest.approx(0.5 * (0.88 + 0.92 - 1) / (2 * 0.92 - 1))
    assert (one.n, one.as_wrong) == (100, {"unanswered": 50})
    assert one.high <= 0.5


def test_only_where_one_judge_decided_and_was_measured():
    rate, fit = judged(46, 46, 88, 100)
    assert not corrected(msgspec.structs.replace(rate, by={}), fit)
    assert not corrected(msgspec.structs.replace(rate, by={"judge": "k"}), fit)
    assert not corrected(rate, msgspec.structs.replace(fit, question="order"))
    assert not corrected(rate, msgspec.structs.replace(fit, specificity=wilson(9, 9)))
    (coin,) = corrected(*judged(25, 25, 50, 100))
    assert (coin.value, coin.flags) == (None, ("judge_is_a_coin",))


def test_the_interval_holds_the_true_rate_as_often_as_it_says():
    draw = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        right = draw.random(200) < 0.85
        said = np.where(draw.random(200) < 0.92, right, ~right)
        (one,) = corrected(
            *judged(draw.binomial(50, 0.92), draw.binomial(50, 0.92), int(said.sum()), 200)
        )
        held += one.low <= 0.85 <= one.high
    assert held / 400 >= 0.93
