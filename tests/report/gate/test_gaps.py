"""Groups are compared pair by pair, and small ones open no gate."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import Measure
from overread.report.gate.weighing import weigh_gap
from overread.stats import independent_difference, wilson
from support.gates import share

COUNTS = st.lists(
    st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=2,
    max_size=5,
)


def groups(counts: list[tuple[int, int]]) -> list[tuple[str, Measure]]:
    return [(f"g{i}", share("accuracy", k, n)) for i, (k, n) in enumerate(counts)]


@given(counts=COUNTS, bound=st.floats(0, 0.9))
def test_the_worst_pair_decides(counts: list[tuple[int, int]], bound: float) -> None:
    found = weigh_gap(groups(counts), bound, point=False, minimum_n=1)
    ends = []
    for (k1, n1), (k2, n2) in combinations(counts, 2):
        one, other = wilson(k1, n1), wilson(k2, n2)
        if k1 / n1 < k2 / n2:
            one, other = other, one
        made = independent_difference(one, other)
        assert made.low is not None
        assert made.high is not None
        ends.append((made.low, max(made.high, -made.low)))
    if any(low > bound for low, _ in ends):
        assert found.outcome == "fail"
    elif all(most <= bound for _, most in ends):
        assert found.outcome == "pass"
    else:
        assert found.outcome == "cannot tell"


@given(counts=COUNTS, bounds=st.tuples(st.floats(0, 1), st.floats(0, 1)), point=st.booleans())
def test_a_smaller_gap_allowed_never_makes_it_better(
    counts: list[tuple[int, int]], bounds: tuple[float, float], point: bool
) -> None:
    order = ("fail", "cannot tell", "pass")
    strict, mild = sorted(bounds)
    tight = weigh_gap(groups(counts), strict, point=point, minimum_n=1)
    loose = weigh_gap(groups(counts), mild, point=point, minimum_n=1)
    assert order.index(tight.outcome) <= order.index(loose.outcome)
    again = weigh_gap(groups(counts)[::-1], mild, point=point, minimum_n=1)
    assert again == loose


def test_a_group_too_small_to_judge_keeps_it_from_passing_and_not_from_failing() -> None:
    few = ("few", share("accuracy", 9, 10))
    alike = [("F", share("accuracy", 450, 500)), ("M", share("accuracy", 455, 500)), few]
    found = weigh_gap(alike, 0.2, point=False, minimum_n=50)
    assert (found.outcome, found.needed) == ("cannot tell", 50)
    assert "few" in found.says
    apart = [("F", share("accuracy", 450, 500)), ("M", share("accuracy", 200, 500)), few]
    assert weigh_gap(apart, 0.2, point=False, minimum_n=50).outcome == "fail"
    assert weigh_gap(alike[:2], 0.2, point=False, minimum_n=50).outcome == "pass"


def test_a_group_without_a_value_keeps_it_from_passing() -> None:
    nothing = Measure(reader="a", measure="accuracy", n=0)
    both = [("F", share("accuracy", 90, 100)), ("M", nothing)]
    for point in (True, False):
        assert weigh_gap(both, 1.0, point=point, minimum_n=1).outcome == "cannot tell"


def test_errors_in_frames_may_differ_by_more_than_one() -> None:
    """Differences of shares are kept within 1; a gap of four frames is none of these."""
    slow = Measure(reader="a", measure="mae", value=6, low=5, high=7, n=90)
    quick = Measure(reader="a", measure="mae", value=2, low=1.5, high=2.5, n=90)
    found = weigh_gap([("A4C", quick), ("A2C", slow)], 1.5, point=False, minimum_n=1)
    assert found.outcome == "fail"
    assert "A2C and A4C" in found.says
    assert found.apart is not None
    assert found.apart.value == 4
    assert found.apart.low == pytest.approx(4 - math.hypot(1, 0.5))


@given(counts=COUNTS, bound=st.floats(0.01, 0.5))
def test_with_the_needed_cases_the_pair_is_settled(
    counts: list[tuple[int, int]], bound: float
) -> None:
    found = weigh_gap(groups(counts)[:2], bound, point=False, minimum_n=1)
    if found.outcome != "cannot tell" or found.needed is None:
        return
    total = sum(n for _, n in counts[:2])
    narrow = math.sqrt(total / found.needed) * (1 - 1e-6)
    scaled = []
    for name, one in groups(counts)[:2]:
        assert one.value is not None
        assert one.low is not None
        assert one.high is not None
        low, high = (
            one.value - narrow * (one.value - one.low),
            one.value + narrow * (one.high - one.value),
        )
        scaled.append(
            (name, Measure(reader="a", measure="m", value=one.value, low=low, high=high, n=9))
        )
    assert weigh_gap(scaled, bound, point=False, minimum_n=1).outcome != "cannot tell"
