"""Whose replies people ranked higher."""

from __future__ import annotations

import pytest

from overread.benchmarks.people import Ask
from overread.study.analysis import PEOPLE, Reading
from overread.study.consensus import Place
from overread.study.packets import Key
from overread.study.rankings import win_ratios

ASK = Ask(name="truth", text="", kind="ranking", options=("A", "B", "C"))


def reading(reader: str, case: int, value: str, iteration: int = 0) -> Reading:
    """Letters are dealt anew for every item: of odd ones A is the model that B is of even ones."""
    names = ("best", "middle", "worst") if case % 2 else ("middle", "best", "worst")
    key = Key(
        display=f"{reader}{case}{iteration}", task=1, kind="ranks", case=f"c{case}",
        patient=f"p{case}", iteration=iteration, facts=dict(zip("ABC", names, strict=True)),
    )  # fmt: skip
    return Reading(reader, "ranks", key, ASK, value)


def found(*readings: Reading) -> dict[tuple[str, str, str], object]:
    return {
        (one.by["rater"], one.reader, one.by.get("versus", "")): one for one in win_ratios(readings)
    }


def test_a_model_that_is_always_first_wins_all_and_letters_tell_nothing():
    some = found(*(reading("anna", at, "A > B > C" if at % 2 else "B > A > C") for at in range(12)))
    values = {key: one.value for key, one in some.items()}
    assert values["anna", "best", ""] == 1
    assert values["anna", "middle", ""] == 0.5
    assert values["anna", "worst", ""] == 0
    assert values["anna", "best", "worst"] == 1
    assert (some["anna", "best", ""].low or 0) < 1  # no interval of no width


def test_a_tie_is_half_and_half_is_nobodys():
    some = found(*(reading("anna", at, "A = B = C") for at in range(12)))
    assert {one.value for one in some.values()} == {0.5}
    assert all(one.p in (None, 1) for one in some.values())


def test_raters_together_count_every_item_once():
    given = [reading("anna", 1, "A > B > C"), reading("ben", 1, "B > A > C")]
    given += [reading("anna", 3, "A > B > C"), reading("anna", 5, "A > B > C", iteration=1)]
    some = found(*given)
    assert some["anna", "best", "middle"].n == 2
    assert some[PEOPLE, "best", "middle"].value == pytest.approx((0.5 + 1) / 2)
    assert some[PEOPLE, "best", ""].n == 2


def test_what_was_audited_stands_for_all_raters_and_for_none_of_them():
    given = [reading("anna", 1, "A > B > C"), reading("ben", 1, "B > A > C")]
    given += [reading("anna", 3, "A > B > C"), reading("ben", 3, "A > B > C")]
    decided = {Place("c1"): {"truth": "C > B > A"}}
    some = {
        (one.by["rater"], one.reader, one.by.get("versus", "")): one.value
        for one in win_ratios(given, decided)
    }
    assert some[PEOPLE, "best", "middle"] == pytest.approx((0 + 1) / 2)
    assert some[PEOPLE, "worst", ""] == pytest.approx((1 + 0) / 2)
    assert some["anna", "best", "middle"] == 1
    assert some["ben", "best", "middle"] == pytest.approx((0 + 1) / 2)


def test_what_is_ranked_and_is_no_reply_has_no_win_ratio():
    plain = reading("anna", 1, "A > B > C")
    key = plain.key.__class__(display="d", task=1, kind="form", case="c", patient="p")
    assert not list(win_ratios([plain._replace(key=key)]))
