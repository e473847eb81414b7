"""Is a judge fit?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.judging.fitness import NOT_CHECKED, UNFIT, Check, Fitness, fitness_of
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
