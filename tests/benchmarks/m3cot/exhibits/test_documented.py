"""docs/exhibits.md names every exhibit of the benchmark, what kind it is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from overread.benchmarks.exhibits.cells import CUT
from overread.benchmarks.exhibits.style import LOOKS
from overread.benchmarks.m3cot.cards import _READERS, _WHICH, case_views
from overread.benchmarks.m3cot.exhibits import exhibits
from overread.case import Figure
from overread.judging.fitness import UNFIT
from support.m3_everything import RULES, everything, everything_measured

PAGE = Path(__file__).parents[4] / "docs" / "exhibits.md"
SECTION = PAGE.read_text("utf-8").split("\n## M3CoT\n")[1].split("\n## ")[0]
PLAIN = " ".join(SECTION.split())


def test_the_page_names_every_exhibit_in_its_order():
    tables, verdicts = everything()
    viewed = msgspec.structs.replace(tables, verdicts=verdicts)
    made = [*exhibits(everything_measured(), "sig"), *case_views(viewed, RULES, "sig")]
    shown = [(one.name, "figure" if isinstance(one, Figure) else "table") for one in made]
    cases = [name for name, _ in shown if name.startswith("case-")]
    assert cases[:3] == [f"case-1-{which}" for which in _WHICH]
    told = re.findall(r"^\| [^|]+ \| `([\w-]+)` \| (table|figure) \|", SECTION, re.M)
    # The further views of cases stand in the row of the first.
    assert told == [one for one in shown if one[0] not in cases[1:]]
    (row,) = (line for line in SECTION.splitlines() if "`case-1-best`" in line)
    others = [f"`-{which}`" for which in list(_WHICH)[1:]]
    others += [f"`case-{number}-`" for number in range(2, _READERS + 1)]
    assert [name for name in others if name not in row] == []


def test_the_page_has_the_numbers_of_the_code():
    assert f"cut after {CUT} characters, the question after {2 * CUT}" in PLAIN
    words = {4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
    assert f"{words[len(LOOKS)]} models are drawn at most" in PLAIN
    assert f"`{UNFIT}` stands beside every number" in PLAIN


def test_below_tables_of_judged_numbers_stand_the_judges():
    judged = "summary impact tasks kinds steps image_dependence answer_follows pairs table_2"
    made = {one.name: one for one in exhibits(everything_measured(), "sig")}
    for name in judged.split():
        notes = " ".join(made[name].notes)
        assert "Sensitivity / specificity" in notes, name
