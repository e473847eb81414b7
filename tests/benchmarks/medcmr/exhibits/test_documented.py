"""docs/exhibits.md names every exhibit of the benchmark, what kind it is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from overread.benchmarks.exhibits.cells import CUT
from overread.benchmarks.exhibits.style import LOOKS
from overread.benchmarks.medcmr.cards import case_views
from overread.benchmarks.medcmr.edition import CORRECTED
from overread.benchmarks.medcmr.exhibits import exhibits
from overread.benchmarks.medcmr.exhibits.tables import FEW
from overread.case import Figure
from overread.judging.fitness import UNFIT
from support.med_tables import chose, mcq, opened, tables_of, wrote
from support.medcmr_measures import LONG, everything_measured

PAGE = Path(__file__).parents[4] / "docs" / "exhibits.md"


def section():
    return PAGE.read_text("utf-8").split("\n## Med-CMR\n")[1].split("\n## ")[0]


@pytest.mark.slow
def test_the_page_names_every_exhibit_in_its_order_and_what_it_is_made_of():
    measures = everything_measured(LONG[:3])
    tables = tables_of([mcq(1), opened(1)], [chose("r", 1, "A"), wrote("r", 1)])
    made = [*exhibits(measures, "sig"), *case_views(tables, CORRECTED, "sig")]
    shown = [(one.name, "figure" if isinstance(one, Figure) else "table") for one in made]
    rows = re.findall(
        r"^\| [^|]+ \| `([\w-]+)` \| (table|figure) \| [^|]+ \| ([^|]+) \|", section(), re.M
    )
    assert [row[:2] for row in rows] == shown
    known = {record.measure for record in measures}
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    assert told - known <= {name for name, _ in shown}


def test_the_page_has_the_numbers_of_the_code():
    plain = " ".join(section().split())
    assert f"cut after {CUT} characters, the question after {2 * CUT}" in plain
    words = {4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
    assert f"{words[len(LOOKS)]} models are drawn at most" in plain
    assert f"`*` marks groups of fewer than {FEW} items" in plain
    assert f"`{UNFIT}` stands beside every number" in plain
