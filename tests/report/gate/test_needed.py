"""The n that would settle it: at a power of one half the fewest cases at which the interval lets go
of the bound, and what the gate says has 80 %."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from overread.report.gate import weighing
from overread.report.gate.weighing import effective_size, weigh_bound
from overread.stats import Z95, cases_to_settle, grown_for_power, wilson
from overread.stats._power import MOST
from support.gates import share as a_share

SHARES = st.floats(0, 1)
BOUNDS = st.floats(0.01, 0.99)


def wilson_bounds(p: float, m: float) -> tuple[float, float]:
    """Wilson's formula, written out."""
    z2 = Z95**2
    middle = (p + z2 / (2 * m)) / (1 + z2 / m)
    half = Z95 / (1 + z2 / m) * math.sqrt(p * (1 - p) / m + z2 / (4 * m * m))
    return middle - half, middle + half


@given(share=SHARES, bound=BOUNDS, effect=st.floats(1, 30))
def test_at_the_needed_n_the_interval_lets_go_and_one_case_earlier_it_holds(
    share: float, bound: float, effect: float
) -> None:
    assume(abs(share - bound) > 1e-3)
    n = cases_to_settle(share, bound, power=0.5, effect=effect)
    assert n is not None

    def clear(cases: float, slack: float) -> bool:
        low, high = wilson_bounds(share, cases / effect)
        return low >= bound - slack if share > bound else high <= bound + slack

    assert clear(n, 1e-9)
    if n > 1:
        assert not clear(n - 1, -1e-9)


@given(bound=BOUNDS, share=SHARES)
def test_a_bound_further_away_never_takes_more_cases(bound: float, share: float) -> None:
    assume(share > bound + 1e-3)
    near, far = (cases_to_settle(share, at, power=0.5) for at in (bound, bound / 2))
    assert near is not None
    assert far is not None
    # b(1-b) is largest at one half, but distance counts for more.
    assert wilson_bounds(share, near)[0] >= bound / 2 - 1e-9
    assert far <= near


@pytest.mark.parametrize("bound", [0.0, 0.5, 1.0])
def test_no_n_is_enough_on_the_bound_itself(bound: float) -> None:
    assert cases_to_settle(bound, bound) is None
    assert grown_for_power(100, 0.1, 0.0) is None


def test_a_number_nobody_could_ask_is_none() -> None:
    assert cases_to_settle(0.5 + 1e-9, 0.5) is None
    assert grown_for_power(MOST, 1.0, 0.5) is None
    assert grown_for_power(10, 1e300, 1e-300) is None


@given(n=st.integers(1, 10**5), half=st.floats(1e-3, 10), away=st.floats(1e-2, 10))
def test_other_intervals_narrow_with_the_root_of_n(n: int, half: float, away: float) -> None:
    found = grown_for_power(n, half, away, power=0.5)
    assume(found is not None)
    assert found is not None
    assert half * math.sqrt(n / found) <= away * (1 + 1e-6)
    if found > 1:
        assert half * math.sqrt(n / (found - 1)) > away * (1 - 1e-6)


@given(n=st.integers(2, 5000), data=st.data(), effect=st.floats(1, 20))
def test_the_effective_size_is_read_off_the_width(
    n: int, data: st.DataObject, effect: float
) -> None:
    k = data.draw(st.integers(0, n))
    found = wilson(k, n, design_effect=effect)
    assert found.low is not None
    assert found.high is not None
    size = effective_size(k / n, found.high - found.low)
    assert size == pytest.approx(n / effect, rel=1e-6)


@pytest.mark.parametrize(("k", "bound"), [(85, 0.8), (92, 0.9), (55, 0.5)])
def test_four_of_five_studies_of_the_needed_size_can_tell(k: int, bound: float) -> None:
    found = weigh_bound(a_share("x", k, 100), "at_least", bound, point=False)
    assert found.outcome == "cannot tell"
    assert found.needed is not None
    drawn = np.random.default_rng(0).binomial(found.needed, k / 100, 2_000)
    told = [
        weigh_bound(a_share("x", int(hits), found.needed), "at_least", bound, point=False)
        for hits in drawn
    ]
    assert sum(one.outcome == "pass" for one in told) / 2_000 == pytest.approx(0.8, abs=0.05)


def test_examples() -> None:
    assert doctest.testmod(weighing).failed == 0
    assert doctest.testmod(weighing).attempted >= 4
