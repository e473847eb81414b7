"""A small part of the simulation: intervals hold the truth, tests err no more often than they say.

`python -m bench coverage` does all of it. 400 studies leave 3 points open to either side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.coverage import (
    COVERAGE,
    INTERVALS,
    LEAST,
    TESTS,
    TYPE_ONE,
    Cell,
    Design,
    covered,
    erring,
)

TIMES, OPEN = 400, 0.03
DESIGNS = (
    Design(50, 1, 0.0, 0.5),
    Design(50, 2, 0.3, 0.5),
    Design(50, 5, 0.6, 0.95),
    Design(300, 5, 0.6, 0.5),
    Design(300, 2, 0.3, 0.02),
)
FEW = Design(20, 5, 0.6, 0.5)


def errs_no_more_than_it_says(cell: Cell) -> bool:
    return cell.type_one is None or cell.type_one <= TYPE_ONE + OPEN


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("kind", INTERVALS)
def test_intervals_hold_the_truth(kind: str, design: Design) -> None:
    if design.rate not in {one.rate for one in INTERVALS[kind][1]}:
        design = design._replace(rate=0.5)
    cell = covered(kind, design, 100 if kind == "skill" else TIMES)
    assert cell.coverage is not None
    assert cell.coverage >= COVERAGE[0] - (0.05 if kind == "skill" else OPEN)
    assert errs_no_more_than_it_says(cell)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["beta", "copied"])
@pytest.mark.parametrize("kind", ["share", "mean of judges", "difference of models"])
def test_whatever_makes_patients_alike(kind: str, by: Any) -> None:
    cell = covered(kind, Design(50, 5, 0.3, 0.5, by=by), TIMES)
    assert cell.coverage is not None
    assert cell.coverage >= COVERAGE[0] - OPEN
    assert errs_no_more_than_it_says(cell)


def test_few_that_differ_are_flagged_and_many_are_not() -> None:
    one, many = (covered("share", Design(50, 1, 0.0, rate), 100) for rate in (0.02, 0.5))
    assert one.few > 0.4  # of these studies 0.37 have no hit at all, and Wilson's bound there holds
    assert many.few == 0
    assert covered("amount", FEW, 50).few == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", INTERVALS)
def test_four_patients_are_few_but_no_disaster(kind: str) -> None:
    cell = covered(kind, FEW, 100 if kind == "skill" else TIMES)
    assert cell.coverage is not None
    assert cell.coverage >= LEAST
    assert errs_no_more_than_it_says(cell)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TESTS)
def test_tests_err_no_more_often_than_they_say(kind: str) -> None:
    for design in (*DESIGNS[:3], FEW) if kind == "groups of patients" else DESIGNS[:1]:
        assert errs_no_more_than_it_says(erring(kind, design, TIMES)), design


def test_three_judges_count_as_one_case() -> None:
    cell = covered("mean of judges", Design(50, 2, 0.6, 0.95, judges=3), TIMES)
    assert cell.coverage is not None
    assert COVERAGE[0] - OPEN <= cell.coverage


def test_the_documents_table_has_every_kind_and_design() -> None:
    page = Path(__file__).parents[2] / "docs" / "statistics.md"
    rows = [line.split(" | ")[:3] for line in page.read_text(encoding="utf-8").splitlines()]
    for kind, (_, designs) in (*INTERVALS.items(), *TESTS.items()):
        for one in designs:
            assert [f"| {kind}", str(one.items), str(one.each)] in rows
