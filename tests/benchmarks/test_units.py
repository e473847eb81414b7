"""Every measure says what values it can have."""

from __future__ import annotations

import re
from math import inf
from pathlib import Path

import pytest

from overread.benchmarks.registry import BENCHMARKS, class_of

MEASURES = Path(__file__).parents[2] / "docs" / "measures.md"


def documented(benchmark: str) -> set[str]:
    """The measures in the tables of a benchmark's part of docs/measures.md."""
    part = re.split(r"^## ", MEASURES.read_text("utf-8"), flags=re.MULTILINE)
    (own,) = (text for text in part if text.startswith(f"{benchmark}\n"))
    tables = re.findall(r"^\| measure \|.*\n\|[-|]+\n((?:\|.*\n)+)", own, flags=re.MULTILINE)
    cells = [row.split("|")[1] for table in tables for row in table.splitlines()]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_documented_measure_has_a_range(benchmark: str) -> None:
    names = documented(benchmark) - {"category"}  # a word, without a value
    assert len(names) > 5
    assert {name for name in names if class_of(benchmark).unit_of(name) is None} == set()


def test_ranges_are_those_of_the_definitions() -> None:
    limits = {
        name: unit.limits
        for name in ("uar", "gsp", "skill", "mae")
        for benchmark in ("grounding", "heartbeat")
        if (unit := class_of(benchmark).unit_of(name)) is not None
    }
    assert limits == {"uar": (0, 1), "gsp": (-1, 1), "skill": (-inf, 1), "mae": (0, inf)}
    assert class_of("medcmr").unit_of("nothing") is None
