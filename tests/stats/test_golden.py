"""What the authors' own functions return, to 1e-9."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from overread.stats import (
    auroc,
    auroc_stepwise,
    auroc_tie_bounds,
    benjamini_hochberg,
    bootstrap_kappa,
    bootstrap_proportion,
    bootstrap_proportion_many,
    cohen_kappa,
    informative,
    paired_bootstrap,
    paired_bootstrap_many,
    permutation_k_groups,
    permutation_two_groups,
    weighted_kappa,
    wilson,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "grounding" / "stats"


def entries(name: str) -> list[dict]:
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


def named(entry: dict) -> str:
    return entry["name"]


def near(wanted):
    """To 1e-9; null means None."""
    if isinstance(wanted, list):
        return pytest.approx(wanted, abs=1e-9)
    return None if wanted is None else pytest.approx(wanted, abs=1e-9)


def test_every_golden_file_is_read_here():
    assert {path.stem for path in GOLDEN.glob("*.json")} == {
        "auroc",
        "bh_fdr",
        "bootstrap_proportion",
        "confidence_informative",
        "kappa",
        "paired_bootstrap_diff",
        "permutation_2groups",
        "permutation_kgroups",
        "proportion_summary_fullcov",
        "wilson",
    }


@pytest.mark.parametrize("entry", entries("bootstrap_proportion"), ids=named)
def test_bootstrap_proportion(entry):
    out = entry["out"]
    found = bootstrap_proportion(entry["values"], entry["n_boot"], entry["seed"])
    assert found.n == out["n"]
    assert found.point == near(out["point"])
    assert found.sd == near(out["std"])
    assert (found.low, found.high) == (near(out["ci_lower"]), near(out["ci_upper"]))


def test_bootstrap_proportion_all_at_once():
    every = entries("bootstrap_proportion")
    for n_boot, seed in {(entry["n_boot"], entry["seed"]) for entry in every}:
        some = [e["values"] for e in every if (e["n_boot"], e["seed"]) == (n_boot, seed)]
        alone = [bootstrap_proportion(values, n_boot, seed) for values in some]
        assert bootstrap_proportion_many(some, n_boot, seed) == alone


def test_wilson():
    for entry in entries("wilson"):
        found = wilson(entry["k"], entry["n"])
        assert found.low == near(entry["wilson_lower"])
        assert found.high == near(entry["wilson_upper"])


@pytest.mark.parametrize("entry", entries("proportion_summary_fullcov"), ids=named)
def test_the_summary_of_full_coverage_is_wilson_with_the_analytic_error(entry):
    out = entry["out"]
    found = wilson(sum(entry["values"]), len(entry["values"]))
    assert found.n == out["n"]
    assert (found.point, found.sd) == (near(out["cgr"]), near(out["se"]))
    assert (found.low, found.high) == (near(out["ci_lower"]), near(out["ci_upper"]))


@pytest.mark.parametrize("entry", entries("bh_fdr"), ids=named)
def test_benjamini_hochberg(entry):
    given = [math.nan if p is None else p for p in entry["p"]]
    wanted = [math.nan if q is None else q for q in entry["q"]]
    assert benjamini_hochberg(given).tolist() == pytest.approx(wanted, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("entry", entries("paired_bootstrap_diff"), ids=named)
def test_paired_bootstrap(entry):
    out = entry["out"]
    given = entry["values_a"], entry["values_b"], entry["n_boot"], entry["seed"]
    found, theirs = paired_bootstrap(*given), paired_bootstrap(*given, exact_ties=False)
    for ours in (found, theirs):
        assert ours.n == out["n"]
        assert (ours.point, ours.sd) == (near(out["point"]), near(out["std"]))
        assert (ours.low, ours.high) == (near(out["ci_lower"]), near(out["ci_upper"]))
    assert found.p == near(entry["p_exact_integer_arithmetic"])
    assert theirs.p == near(out["p_value"])


def test_paired_bootstrap_all_at_once():
    every = entries("paired_bootstrap_diff")
    for n_boot, seed in {(entry["n_boot"], entry["seed"]) for entry in every}:
        some = [
            (e["values_a"], e["values_b"])
            for e in every
            if (e["n_boot"], e["seed"]) == (n_boot, seed)
        ]
        alone = [paired_bootstrap(a, b, n_boot, seed) for a, b in some]
        assert paired_bootstrap_many(some, n_boot, seed) == alone


@pytest.mark.parametrize("entry", entries("permutation_2groups"), ids=named)
def test_permutation_of_two_groups(entry):
    given = entry["values_a"], entry["values_b"], entry["n_perm"], entry["seed"]
    assert permutation_two_groups(*given) == near(entry["p_exact_integer_arithmetic"])
    assert permutation_two_groups(*given, exact_ties=False) == near(entry["p"])


@pytest.mark.parametrize("entry", entries("permutation_kgroups"), ids=named)
def test_permutation_of_k_groups(entry):
    given = entry["groups"], entry["n_perm"], entry["seed"]
    assert permutation_k_groups(*given) == near(entry["p_exact_rational_arithmetic"])
    assert permutation_k_groups(*given, exact_ties=False) == near(entry["p"])


@pytest.mark.parametrize("entry", entries("kappa"), ids=named)
def test_kappa(entry):
    a, b, out = entry["a"], entry["b"], entry["out"]
    found = bootstrap_kappa(
        a,
        b,
        weighted=entry["weighted"],
        levels=entry["categories"],
        n_boot=entry["n_boot"],
        seed=entry["seed"],
    )
    assert found.n == out["n"]
    assert (found.point, found.sd) == (near(out["point"]), near(out["std"]))
    assert (found.low, found.high) == (near(out["ci_lower"]), near(out["ci_upper"]))
    alone = weighted_kappa(a, b, entry["categories"]) if entry["weighted"] else cohen_kappa(a, b)
    assert alone == near(out["point"])


@pytest.mark.parametrize("entry", entries("auroc"), ids=named)
def test_auroc(entry):
    given = entry["scores"], entry["labels"]
    bounds = auroc_tie_bounds(*given)
    assert auroc(*given).point == near(entry["auroc_midrank"])
    assert (None if bounds is None else list(bounds)) == near(entry["auroc_tie_bounds"])
    stepwise = auroc_stepwise(*given)
    if bounds is None or bounds[0] == bounds[1]:
        assert stepwise == near(entry["auroc_authors"])
    else:
        # Tied cases are ordered by the processor's sort, here as there.
        assert bounds[0] <= stepwise <= bounds[1]


@pytest.mark.parametrize("entry", entries("confidence_informative"), ids=named)
def test_the_gate_of_confidences(entry):
    assert informative(entry["conf"]) is entry["informative"]
