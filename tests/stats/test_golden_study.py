"""The same functions on the golden study: what its readers answered, and what was made of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from overread.stats import (
    auroc,
    auroc_stepwise,
    auroc_tie_bounds,
    bootstrap_auroc,
    bootstrap_auroc_many,
    calibration_bins,
    ece,
    informative,
    paired_bootstrap_many,
    permutation_k_groups,
    permutation_two_groups,
    spearman,
    spearman_asymptotic_p,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "grounding"
MIMIC = GOLDEN / "mimic"


def read(path: str):
    return json.loads((GOLDEN / path).read_text("utf-8"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


MODELS = sorted(read("mimic/expected/unrounded.json"))


@pytest.fixture(scope="module")
def confidences() -> dict[str, tuple[list[float], list[int], list[int]]]:
    """P(Yes), key and correctness of every model's parsed originals, in file order."""
    found = {}
    for model in MODELS:
        kept = [
            (float(row["confidence"]), int(row["ground_truth"]), int(row["parsed_answer"]))
            for row in rows(MIMIC / "responses" / model / "original.csv")
            if row["parsed_answer"] in ("0", "1") and row["ground_truth"] in ("0", "1")
        ]
        c, y, answer = (list(column) for column in zip(*kept, strict=True))
        found[model] = c, y, [int(a == b) for a, b in zip(answer, y, strict=True)]
    return found


@pytest.mark.parametrize("model", MODELS)
def test_calibration_of_every_model(model, confidences):
    c, y, correct = confidences[model]
    theirs = read("mimic/expected/unrounded.json")[model]
    ours = read("mimic/derived_recommended.json")["per_model"][model]
    assert informative(c) is theirs["confidence_informative"]
    assert auroc(c, y).point == pytest.approx(ours["auroc_midrank"], abs=1e-9)
    low, high = auroc_tie_bounds(c, y)
    assert [low, high] == pytest.approx(ours["auroc_tie_bounds"], abs=1e-9)
    assert low <= auroc_stepwise(c, y) <= high
    if not theirs["confidence_informative"]:
        return
    if ours["auroc_cross_label_tied_pairs"] == 0:
        wanted = theirs["auroc_unrounded_point"]
        assert auroc_stepwise(c, y) == pytest.approx(wanted, abs=1e-9)
    assert np.mean((np.array(c) - y) ** 2) == pytest.approx(theirs["brier_unrounded"], abs=1e-9)
    assert ece(c, correct) == pytest.approx(theirs["ece_unrounded"], abs=1e-9)
    assert ece(c, y) == pytest.approx(ours["ece_label_referenced"], abs=1e-9)
    said_yes = [a == b for a, b in zip(correct, y, strict=True)]
    sure = [x if yes else 1 - x for x, yes in zip(c, said_yes, strict=True)]
    assert ece(sure, correct) == pytest.approx(ours["ece_answer_confidence"], abs=1e-9)


def test_auroc_bounds_of_the_models_without_ties(confidences):
    table = {row["model"]: row for row in read("mimic/expected/summary_table.json")}
    derived = read("mimic/derived_recommended.json")["per_model"]
    free = [
        model
        for model in MODELS
        if table[model]["AUROC"] is not None and not derived[model]["auroc_cross_label_tied_pairs"]
    ]
    assert free
    many = bootstrap_auroc_many([confidences[model][:2] for model in free])
    for model, (low, high) in zip(free, many, strict=True):
        assert round(low, 4) == table[model]["AUROC_ci_lower"]
        assert round(high, 4) == table[model]["AUROC_ci_upper"]
    assert bootstrap_auroc(*confidences[free[0]][:2]) == many[0]


@pytest.mark.parametrize("model", MODELS)
def test_reliability_bins_of_the_figure(model):
    """All rows with an answer, unparsed ones too."""
    answered = rows(MIMIC / "responses" / model / "original.csv")
    c = [float(row["confidence"]) for row in answered]
    y = [int(row["ground_truth"]) for row in answered]
    bins = calibration_bins(c, y, "floor")
    wanted = read("mimic/expected/reliability_bins_figure.json")[model]
    assert [(b.index, b.n) for b in bins] == [(b["bin"], b["n"]) for b in wanted]
    for found, bin_ in zip(bins, wanted, strict=True):
        assert found.mean_confidence == pytest.approx(bin_["mean_conf"], abs=1e-9)
        assert found.rate == pytest.approx(bin_["pos_rate"], abs=1e-9)


@pytest.mark.slow
def test_paired_comparisons():
    eligible = read("mimic/expected/eligible_cases.json")
    wanted = read("mimic/derived_recommended.json")["paired"]
    pairs = []
    for row in wanted:
        first = eligible[row["model_a"]][row["metric"]]
        second = dict(eligible[row["model_b"]][row["metric"]])
        shared = [(outcome, second[case]) for case, outcome in first if case in second]
        assert len(shared) == row["n_shared"]
        pairs.append(tuple(zip(*shared, strict=True)))
    exact, theirs = paired_bootstrap_many(pairs), paired_bootstrap_many(pairs, exact_ties=False)
    for row, ours, rounded in zip(wanted, exact, theirs, strict=True):
        assert ours.p == pytest.approx(row["p_exact_integer"], abs=1e-9)
        assert rounded.p == pytest.approx(row["p_value"], abs=1e-9)
        assert row["p_exact_integer"] - row["boundary_mass"] - 1e-9 <= rounded.p <= ours.p + 1e-9
    table = {
        tuple(row[name] for name in ("comparison_type", "model_a", "model_b", "metric")): row
        for row in read("mimic/expected/paired_comparisons.json")
    }
    for row, ours in zip(wanted, exact, strict=True):
        key = tuple(row[name] for name in ("comparison_type", "model_a", "model_b", "metric"))
        theirs_ = table[key]
        found = [ours.point, ours.sd, ours.low, ours.high]
        names = ("diff", "diff_std", "diff_ci_lower", "diff_ci_upper")
        assert found == pytest.approx([theirs_[name] for name in names], abs=1e-4)


@pytest.mark.slow
def test_subgroup_tests():
    manifest = {row["case_id"]: row for row in rows(MIMIC / "manifest.csv")}
    eligible = read("mimic/expected/eligible_cases.json")

    def group(case: str, by: str) -> int | None:
        value = manifest[case][by]
        if not value:
            return None
        if by == "age":
            return sum(float(value) >= start for start in (50, 70))
        return {"gender": "MF", "view": ("PA", "AP")}[by].index(value)

    for row in read("mimic/derived_recommended.json")["subgroup"]:
        by, metric = row["test"].split("_")
        groups: list[list[int]] = [[], [], []] if by == "age" else [[], []]
        for case, outcome in eligible[row["model"]][metric]:
            if (at := group(case, by)) is not None:
                groups[at].append(outcome)
        test = (
            permutation_k_groups
            if by == "age"
            else lambda g, **options: permutation_two_groups(*g, **options)
        )
        for p, wanted in (
            (test(groups), row["p_exact_rational"]),
            (test(groups, exact_ties=False), row["p_raw_authors"]),
        ):
            assert p == (None if wanted is None else pytest.approx(wanted, abs=1e-9)), row


def test_rank_correlation_between_the_two_datasets():
    wanted = read("chexpert/expected/spearman.json")
    table = rows(GOLDEN / "chexpert" / "expected" / "cross_dataset_comparison.csv")
    roles = {model: row["role"] for model, row in read("models.json").items()}
    for metric, column in (("UAR", "UAR"), ("accuracy", "acc")):
        assert len(table) == wanted[metric]["n_models"]
        seeing = [row for row in table if roles[row["model"]] != "vision_only"]
        for some, name in ((table, "all"), (seeing, "excluding_vision_probe")):
            both = [
                [float(row[f"{column}_{where}"]) for row in some] for where in ("mimic", "chexpert")
            ]
            rho = spearman(*both)
            assert rho == pytest.approx(wanted[metric][name][0], abs=1e-9)
            p = spearman_asymptotic_p(rho, len(some))
            assert p == pytest.approx(wanted[metric][name][1], abs=1e-9)
