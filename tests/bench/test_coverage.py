"""A small part of the simulation: intervals hold the truth, tests err no more often than they say.

`python -m bench coverage` does all of it. 400 studies leave 3 points open to either side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.coverage import (
    COVERAGE,
    INTERVALS,
    LEAST,
    OTHERS,
    TESTS,
    TYPE_ONE,
    Cell,
    covered,
    erring,
    summed_up,
    told,
    written_into,
)
from bench.studies import Design, right

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


def cell(coverage: float, few: float, times: int = 1_000) -> Cell:
    return Cell("share", FEW, coverage, None, few, times)


@pytest.mark.parametrize(
    ("odd", "ok"),
    [
        ([], True),
        ([cell(0.90, 1.0)], True),
        ([cell(0.995, 0.5)], True),
        ([cell(0.90, 0.4)], False),  # nobody is told
        ([cell(0.929, 0.0)], True),  # chance alone may have put it there
        ([cell(0.84, 1.0)], False),
        ([cell(0.90, 1.0)] * 2, False),  # two of eleven are more than a tenth
    ],
)
def test_exceptions_are_few_flagged_and_not_far_off(odd: list[Cell], ok: bool) -> None:
    found = summed_up([cell(0.95, 0.0)] * 9 + odd)
    assert (found["ok"], found["outside"]) == (ok, len(odd))


@pytest.mark.parametrize("by", ["normal", "beta", "copied", "logistic", "wholly"])
@pytest.mark.parametrize(("rate", "alike"), [(0.5, 0.3), (0.95, 0.6)])
def test_studies_have_the_rate_and_the_likeness_they_are_said_to_have(
    by: Any, rate: float, alike: float
) -> None:
    design = Design(40_000, 4, alike, rate, by=by)
    marks = right(design.generator, design)
    assert marks.mean() == pytest.approx(rate, abs=0.02)
    sums = np.bincount(design.owners, weights=marks - rate)
    pairs = (sums**2).sum() - ((marks - rate) ** 2).sum()
    found = pairs / (3 * marks.size) / (rate * (1 - rate))
    # Of the normal variable itself, of which a mark says whether it is below a limit.
    assert found == pytest.approx(alike, abs=0.06) or (by == "normal" and 0 < found < alike)


def test_sizes_of_patients_are_geometric_and_the_same_each_time() -> None:
    design = Design(30_000, 5, 0.3, 0.5, sizes="geometric")
    sizes = np.bincount(design.owners)
    assert sizes.mean() == pytest.approx(5, rel=0.05)
    assert sizes.std() == pytest.approx(20**0.5, rel=0.1)
    assert (design.owners == design.owners).all()
    assert design.owners.size == design.items


def test_what_is_told_takes_the_place_of_what_was(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- coverage: ours -->\nstale\n<!-- coverage: end of ours -->\nb\n")
    cells = [cell(0.95, 0.0), cell(0.90, 1.0)]
    for _ in range(2):
        written_into(page, "ours", told(cells, "python -m bench.coverage"))
        text = page.read_text()
        assert text.startswith("a\n<!-- coverage: ours -->\n`python -m bench.coverage`")
        assert text.endswith("\n<!-- coverage: end of ours -->\nb\n")
        assert "stale" not in text
        assert "Outside the limits: 1 (50.0%)" in text
        assert text.count("| share | 20 | 5 | 0.6 | normal | 0.5 | 1 | 0.900 |") == 1
    with pytest.raises(SystemExit, match="no lines <!-- coverage: others -->"):
        written_into(page, "others", [])


def test_the_documents_tables_have_every_kind_and_design() -> None:
    page = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    ours, theirs = (
        [line.split(" | ")[:3] for line in part.splitlines()]
        for part in page.split("<!-- coverage: others -->")
    )
    every = {kind: own for kind, (_, own) in (INTERVALS | TESTS).items()}
    for rows, of in ((ours, every), (theirs, OTHERS)):
        for kind, own in of.items():
            for one in own:
                assert [f"| {kind}", str(one.items), str(one.each)] in rows
