"""What the authors' own functions return, to 1e-9."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from overread.stats import benjamini_hochberg, bootstrap_proportion, wilson

GOLDEN = Path(__file__).parents[1] / "golden" / "grounding" / "stats"


def entries(name: str) -> list[dict]:
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("entry", entries("bootstrap_proportion"), ids=lambda e: e["name"])
def test_bootstrap_proportion(entry):
    out = entry["out"]
    found = bootstrap_proportion(entry["values"], entry["n_boot"], entry["seed"])
    assert found.n == out["n"]
    for ours, theirs in (
        (found.point, out["point"]),
        (found.sd, out["std"]),
        (found.low, out["ci_lower"]),
        (found.high, out["ci_upper"]),
    ):
        assert ours == (None if theirs is None else pytest.approx(theirs, abs=1e-9))


def test_wilson():
    for entry in entries("wilson"):
        found = wilson(entry["k"], entry["n"])
        for ours, theirs in (
            (found.low, entry["wilson_lower"]),
            (found.high, entry["wilson_upper"]),
        ):
            assert ours == (None if theirs is None else pytest.approx(theirs, abs=1e-9))


@pytest.mark.parametrize("entry", entries("bh_fdr"), ids=lambda e: e["name"])
def test_benjamini_hochberg(entry):
    given = [math.nan if p is None else p for p in entry["p"]]
    wanted = [math.nan if q is None else q for q in entry["q"]]
    assert benjamini_hochberg(given).tolist() == pytest.approx(wanted, abs=1e-9, nan_ok=True)
