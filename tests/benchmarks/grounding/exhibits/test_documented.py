"""docs/exhibits.md names every exhibit, what kind it is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from overread.benchmarks.grounding.exhibits import exhibits
from overread.case import Figure
from support.exhibited import SIGNATURE, rate

PAGE = Path(__file__).parents[4] / "docs" / "exhibits.md"


def test_the_page_names_every_exhibit(measured):
    measures = measured("corrected")
    reader = measures[0].reader
    further = [
        rate(reader, "cgr", 20, 100, condition="target_blur"),
        rate(reader, "cgr", 20, 100, coverage="accurate"),
        rate(reader, "cgr", 2, 10, coverage="accurate", finding="edema"),
    ]
    shown = {
        made.name: "figure" if isinstance(made, Figure) else "table"
        for made in exhibits([*measures, *further], SIGNATURE)
    }
    written = re.findall(r"^\| `(\w+)` \| (table|figure) \|", PAGE.read_text("utf-8"), re.M)
    assert len(written) == len(dict(written))
    assert dict(written) == shown
