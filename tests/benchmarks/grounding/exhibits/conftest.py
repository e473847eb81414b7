"""The golden study's measures, and the exhibits made of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overread.benchmarks.base import Imported
from overread.benchmarks.grounding.exhibits import exhibits
from overread.benchmarks.grounding.importing import import_results
from overread.case import Figure, Measure, Table
from support.exhibited import SIGNATURE


@pytest.fixture(scope="session")
def measured(golden: Path) -> Callable[[str], list[Measure]]:
    """The golden study with its second resolution and its other wordings, under an edition."""
    kept: dict[str, list[Measure]] = {}

    def read(edition: str) -> list[Measure]:
        if edition not in kept:
            mimic, wordings = golden / "mimic", golden / "prompt_sensitivity" / "responses"
            also = [f"px=512:{golden / 'resolution' / 'responses_512'}"]
            also += [f"phrasing={p.name}:{p}" for p in sorted(wordings.iterdir()) if p.is_dir()]
            found: Imported = import_results(
                mimic / "manifest.csv",
                mimic / "responses",
                golden / "models.json",
                edition,
                {},
                False,
                also,
            )
            kept[edition] = found.benchmark.measure(found.tables)
        return kept[edition]

    return read


@pytest.fixture(scope="session", params=["corrected", "authors"])
def golden_measures(request: Any, measured: Callable[[str], list[Measure]]) -> list[Measure]:
    return measured(request.param)


@pytest.fixture(scope="session")
def shown(golden_measures: list[Measure]) -> dict[str, Table | Figure]:
    """Every exhibit of the golden study by name."""
    return {made.name: made for made in exhibits(golden_measures, SIGNATURE)}
