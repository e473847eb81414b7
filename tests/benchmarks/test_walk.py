"""How far one has to walk to follow a case from its row to a figure."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.registry import class_of
from overread.case import Figure, Reply, Traits
from overread.runs import phantom_cases

MOST_MODULES = 45


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))
    return phantom_cases("grounding", "phantom:24")


def test_a_case_passes_through_few_modules_from_its_row_to_a_figure(manifest: Path) -> None:
    seen: set[str] = set()

    def entered(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("overread") and frame.f_code.co_name != "<module>":
            seen.add(name)

    grounding = class_of("grounding")
    sys.setprofile(entered)
    try:
        bench = grounding.open(manifest, "corrected", {"boot": "100"})
        rows, kept = [], []
        for case in bench.cases():
            kept.append(bench.case_row(case))
            for trial in bench.trials(case, Traits()):
                rows.append(("a", *bench.answer(trial, Reply("Yes"), Traits())))
        tables = Tables(
            cases=pl.DataFrame(kept, schema=dict(bench.case_schema), orient="row"),
            answers=pl.DataFrame(
                rows, schema={"reader": pl.String, **bench.answer_schema}, orient="row"
            ),
            readers=(ReaderRecord(name="a"),),
        )
        measures = bench.measure(tables)
        drawn = next(x for x in bench.exhibits(measures, "") if isinstance(x, Figure))
        assert drawn.rows
    finally:
        sys.setprofile(None)
    assert len(seen) <= MOST_MODULES, sorted(seen)
