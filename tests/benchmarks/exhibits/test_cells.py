"""Numbers as they are printed."""

from __future__ import annotations

import pytest

from overread.benchmarks.exhibits.cells import cell, fraction, p_value, percent
from overread.case import Measure


def record(measure="cgr", **facts):
    return Measure(reader="r", measure=measure, **facts)


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (None, "n/a"),
        (record(n=0, k=0), "n/a"),
        (record(value=0.632, low=0.579, high=0.681, n=310), "63.2 [57.9, 68.1] n=310"),
        (record("gsp", value=0.1, low=-0.05, high=0.2, n=9), "+10.0 [-5.0, +20.0] n=9"),
        (record("gsp", value=-0.1), "-10.0"),
        (record("diff_uar", value=0.0004, low=-0.0004, high=0.1, n=9), "0.0 [0.0, +10.0] n=9"),
        (record(value=0.5, n=1), "50.0 n=1"),
        (record(value=0.5, low=0.1, n=2), "50.0 n=2"),
    ],
)
def test_a_rate_with_its_interval_and_n(given, printed):
    assert cell(given) == printed


def test_a_mark_stands_at_the_value():
    assert cell(record(value=0.5, n=3), "†") == "50.0† n=3"


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (record(value=0.25, low=0.1, high=0.5, n=8, k=2), "25.0 [10.0, 50.0] 2/8"),
        (record(value=0.25, n=8), "25.0 n=8"),
        (record(n=0, k=0), "n/a"),
        (None, "n/a"),
    ],
)
def test_few_cases_are_counted_out(given, printed):
    assert fraction(given) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [(None, "n/a"), (0.0, "<0.001"), (0.00099, "<0.001"), (0.001, "0.001"), (1.0, "1.000")],
)
def test_p_is_never_a_bare_zero(value, printed):
    assert p_value(value) == printed


def test_zero_has_no_sign():
    assert percent(-0.0001) == percent(0.0001, signed=True) == percent(0.0) == "0.0"
    assert percent(None) == "n/a"
