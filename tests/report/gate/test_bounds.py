"""A bound is judged on the end of the interval that decides."""

from __future__ import annotations

import math
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from overread.case import Measure, Method
from overread.report.gate.weighing import weigh_bound
from overread.stats import wilson
from support.gates import share

SIDES: tuple[Literal["at_least", "at_most"], ...] = ("at_least", "at_most")
FINITE = st.floats(-100, 100)


def measure(low: float | None, value: float | None, high: float | None, n: int = 50) -> Measure:
    return Measure(reader="a", measure="mae", value=value, low=low, high=high, n=n)


@pytest.mark.parametrize(
    ("side", "bound", "outcome", "margin"),
    [
        ("at_least", 1.0, "pass", 0.0),
        ("at_least", 0.5, "pass", 0.5),
        ("at_least", 1.5, "cannot tell", -0.5),
        ("at_least", 3.0, "cannot tell", -2.0),
        ("at_least", 3.5, "fail", -0.5),
        ("at_most", 3.0, "pass", 0.0),
        ("at_most", 2.5, "cannot tell", -0.5),
        ("at_most", 1.0, "cannot tell", -2.0),
        ("at_most", 0.5, "fail", -0.5),
    ],
)
def test_the_interval_from_one_to_three(
    side: Literal["at_least", "at_most"], bound: float, outcome: str, margin: float
) -> None:
    found = weigh_bound(measure(1, 2, 3), side, bound, point=False)
    assert (found.outcome, found.margin) == (outcome, margin)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_no_number_never_passes(
    side: Literal["at_least", "at_most"], value: float | None
) -> None:
    for point in (True, False):
        for record in (measure(0, value, 1), measure(value, value, value)):
            assert weigh_bound(record, side, 0.0, point=point).outcome == "cannot tell"


def test_without_an_interval_only_the_point_can_be_judged() -> None:
    record = measure(None, 2, None)
    assert weigh_bound(record, "at_least", 1, point=False).outcome == "cannot tell"
    assert "no interval" in weigh_bound(record, "at_least", 1, point=False).says
    assert weigh_bound(record, "at_least", 1, point=True).outcome == "pass"
    assert weigh_bound(record, "at_least", 3, point=True).outcome == "fail"


def test_an_interval_that_leaves_its_value_out_is_widened_to_it() -> None:
    assert weigh_bound(measure(0.8, 0.5, 0.9), "at_least", 0.7, point=False).outcome != "pass"
    assert weigh_bound(measure(0.1, 0.9, 0.2), "at_least", 0.7, point=False).outcome != "fail"


@given(
    ends=st.tuples(FINITE, FINITE, FINITE), bounds=st.tuples(FINITE, FINITE), point=st.booleans()
)
def test_a_stricter_bound_never_makes_it_better(
    ends: tuple[float, float, float], bounds: tuple[float, float], point: bool
) -> None:
    order = ("fail", "cannot tell", "pass")
    low, value, high = sorted(ends)
    record = measure(low, value, high)
    mild, strict = sorted(bounds)
    for side in SIDES:
        first, second = (mild, strict) if side == "at_least" else (strict, mild)
        loose = weigh_bound(record, side, first, point=point)
        tight = weigh_bound(record, side, second, point=point)
        assert order.index(tight.outcome) <= order.index(loose.outcome)


@given(ends=st.tuples(FINITE, FINITE, FINITE), bound=FINITE)
def test_at_most_is_at_least_mirrored(ends: tuple[float, float, float], bound: float) -> None:
    low, value, high = sorted(ends)
    first = weigh_bound(measure(low, value, high), "at_least", bound, point=False)
    second = weigh_bound(measure(-high, -value, -low), "at_most", -bound, point=False)
    assert (first.outcome, first.margin, first.needed) == (
        second.outcome, second.margin, second.needed,
    )  # fmt: skip


@given(n=st.integers(2, 400), data=st.data(), part=st.floats(0.05, 0.95))
def test_asking_the_needed_number_of_cases_settles_a_share(
    n: int, data: st.DataObject, part: float
) -> None:
    k = data.draw(st.integers(0, n))
    record = share("accuracy", k, n)
    assert record.low is not None
    assert record.high is not None
    bound = record.low + part * (record.high - record.low)
    assume(abs(k / n - bound) > 1e-3)
    found = weigh_bound(record, "at_least", bound, point=False)
    assert found.outcome == "cannot tell"
    assert found.needed is not None
    assert found.needed > n
    # The value can stay what it is only at multiples of n.
    times = math.ceil(found.needed / n)
    more = share("accuracy", k * times, n * times)
    settled = weigh_bound(more, "at_least", bound, point=False)
    assert settled.outcome == ("pass" if k / n > bound else "fail")


def test_on_the_wrong_side_no_n_meets_it_and_it_says_what_would_be_a_clear_failure() -> None:
    found = weigh_bound(share("accuracy", 15, 20), "at_least", 0.8, point=False)
    assert found.outcome == "cannot tell"
    assert "wrong side: no n is enough" in found.says
    assert found.needed is not None
    assert f"n = {found.needed:,} ({found.needed - 20:,} more)" in found.says
    assert "not met" in found.says


def test_a_share_of_one_can_never_be_shown_to_be_one() -> None:
    found = weigh_bound(share("parse_rate", 60, 60), "at_least", 1.0, point=False)
    assert (found.outcome, found.needed) == ("cannot tell", None)
    assert "no n is enough" in found.says


def test_cases_that_resemble_each_other_are_needed_in_greater_numbers() -> None:
    def needed(effect: float) -> int | None:
        made = wilson(54, 60, design_effect=effect)
        record = Measure(
            reader="a",
            measure="accuracy",
            value=0.9,
            n=60,
            k=54,
            low=made.low,
            high=made.high,
            how=Method(kind="wilson", effect=effect),
        )
        return weigh_bound(record, "at_least", 0.85, point=False).needed

    alone, alike = needed(1), needed(3)
    assert alone is not None
    assert alike is not None
    assert alike == pytest.approx(3 * alone, abs=3)


def test_an_average_on_which_all_agree_narrows_as_a_share_does() -> None:
    made = wilson(60, 60)
    record = Measure(
        reader="a", measure="precision", value=1.0, n=60, low=made.low, high=1.0,
        how=Method(kind="alike", of="items"),
    )  # fmt: skip
    found = weigh_bound(record, "at_least", 0.97, point=False)
    assert found.needed == weigh_bound(share("x", 60, 60), "at_least", 0.97, point=False).needed
