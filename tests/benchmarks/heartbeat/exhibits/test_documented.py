"""docs/exhibits.md names every exhibit of the benchmark, what kind it is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl

from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.exhibits import strips
from overread.case import Figure

PAGE = Path(__file__).parents[4] / "docs" / "exhibits.md"


def test_the_page_names_every_exhibit_in_its_order(exhibited, asked):
    tables = asked()
    answers = tables.answers.with_columns(start=pl.lit(0))
    frame = np.zeros((8, 8), np.uint8)
    drawn = strips(
        type(tables)(cases=tables.cases, answers=answers, readers=tables.readers),
        lambda case, start, count, context: [frame] * count,
        CORRECTED,
    )
    shown = [
        (made.name, "figure" if isinstance(made, Figure) else "table")
        for made in (*exhibited().values(), *drawn)
    ]
    section = PAGE.read_text("utf-8").split("\n## Heartbeat\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| [^|]+ \| `([\w-]+)` \| (table|figure) \|", section, re.M) == shown
