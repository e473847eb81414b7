"""The paper's reader study, held against what the authors' scripts make of filled sheets."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from overread.benchmarks.grounding import paper_readers as pr
from overread.case import BadInput, Measure

GOLDEN = Path(__file__).parents[2] / "golden" / "grounding"
HERE = GOLDEN / "reader_study"
THEIRS = {"accuracy": "accuracy", "cgr": "CGR", "is": "irrelevant_stable"}


def expected(name: str) -> list[dict[str, Any]]:
    return json.loads((HERE / "expected" / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def study() -> pr.ReaderStudy:
    return pr.read_sheets({"SZ": HERE / "reader1_filled_SZ", "LA": HERE / "reader2_filled_LA"})


@pytest.fixture(scope="module")
def finding() -> dict[str, str]:
    with (GOLDEN / "mimic" / "manifest.csv").open() as rows:
        return {row["case_id"]: row["finding"] for row in csv.DictReader(rows)}


@pytest.fixture(scope="module")
def boxed() -> frozenset[str]:
    with (GOLDEN / "mimic" / "manifest.csv").open() as rows:
        return frozenset(r["case_id"] for r in csv.DictReader(rows) if r["source"] == "ms_cxr")


@pytest.fixture(scope="module")
def models() -> dict[str, pr.Answers]:
    found: dict[str, dict[str, dict[str, int]]] = {}
    for folder in sorted((GOLDEN / "mimic" / "responses").iterdir()):
        for condition in (pr.ORIGINAL, pr.TARGET, pr.IRRELEVANT):
            path = folder / f"{condition}.csv"
            if not path.exists():
                continue
            with path.open() as rows:
                parsed = {r["case_id"]: r["parsed_answer"] for r in csv.DictReader(rows)}
            found.setdefault(folder.name, {})[condition] = {
                case: int(float(text)) for case, text in parsed.items() if text in ("0", "1")
            }
    return found


def one(records: list[Measure], reader: str, measure: str, **by: str) -> Measure:
    (found,) = [r for r in records if (r.reader, r.measure, r.by) == (reader, measure, by)]
    return found


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=1e-9)


def test_boxes_are_rated_by_how_a_rating_begins(study, finding):
    records = list(pr.box_validity(study, finding))
    whole = next(row for row in expected("all_reader_metrics") if row["task"][0] == "A")
    got = one(records, "SZ", "box_accurate")
    assert (got.n, got.k, got.value) == (whole["n_rated"], whole["n_accurate"], near(0.5))
    assert (got.low, got.high) == (
        near(whole["frac_accurate_wilson_lower"]),
        near(whole["frac_accurate_wilson_upper"]),
    )
    for row in expected("task_A_per_finding"):
        got = one(records, "SZ", "box_accurate", finding=row["finding"])
        assert (got.n, got.value) == (row["n"], near(row["frac_accurate"]))
        assert (got.low, got.high) == (
            near(row["wilson_ci_lower"]),
            near(row["wilson_ci_upper"]),
        )
        for rating in pr.RATINGS:
            count = one(records, "SZ", "box_rating", finding=row["finding"], rating=rating).k
            assert count == row[f"n_{rating}"]


def test_rates_of_each_reader_are_the_papers(study, finding):
    records = list(pr.reader_rates(study, finding))
    for reader, row in zip(("SZ", "LA"), expected("all_reader_metrics")[1:3], strict=True):
        for metric, name in THEIRS.items():
            got = one(records, reader, metric)
            theirs = [
                row[f"{name}_{part}"] for part in ("n", "point", "std", "ci_lower", "ci_upper")
            ]
            assert [got.n, got.value, got.sd_boot, got.low, got.high] == [near(x) for x in theirs]
        for word in ("correct", "incorrect"):
            sure = one(records, reader, "stated_confidence", answer=word).value
            assert sure == near(row[f"conf_{word}_mean"])


def test_rates_by_finding_are_the_papers(study, finding):
    records = list(pr.reader_rates(study, finding))
    ours = {name: metric for metric, name in THEIRS.items()}
    for row in expected("per_finding_human"):
        reader = {"reader1": "SZ", "reader2": "LA"}[row["reader"]]
        if not row["n"]:  # they print a row for a finding nobody has; we print none
            continue
        got = one(records, reader, ours[row["metric"]], finding=row["finding"])
        theirs = [row[part] for part in ("n", "point", "std", "ci_lower", "ci_upper")]
        assert [got.n, got.value, got.low, got.high] == [near(x) for x in theirs[:2] + theirs[3:]]
        if row["std"] is not None:
            assert got.sd_boot == near(row["std"])


def test_agreement_is_the_papers(study):
    records = list(pr.agreement(study))
    row = expected("all_reader_metrics")[3]
    for measure, name in (
        ("agreement", "percent_agreement"),
        ("kappa", "cohens_kappa"),
        ("kappa_confidence", "weighted_kappa_confidence"),
    ):
        got = one(records, "SZ", measure, versus="LA")
        theirs = [row[f"{name}{part}"] for part in ("", "_std", "_ci_lower", "_ci_upper")]
        assert [got.value, got.sd_boot, got.low, got.high] == [near(x) for x in theirs]
        assert got.n == row["n_shared_displays"]


def test_reader_minus_model_is_the_papers(study, models):
    records = pr.against_models("SZ", study.presence["SZ"], models)
    rows = expected("human_vs_model_paired")
    assert len(records) == len(rows)
    ours = {name: metric for metric, name in THEIRS.items()}
    for row in rows:
        got = one(records, row["model"], f"diff_{ours[row['metric']]}", versus="SZ")
        theirs = [row[f"diff{part}"] for part in ("", "_std", "_ci_lower", "_ci_upper")]
        assert [got.value, got.sd_boot, got.low, got.high] == [near(x) for x in theirs]
        assert (got.n, got.p, got.q) == (
            row["n_paired"],
            near(row["p_value"]),
            near(row["p_value_fdr"]),
        )
        assert got.beside == (near(row["human_value"]), near(row["model_value"]))


def test_failure_modes_are_the_papers(study):
    records = list(pr.failure_modes(study))
    for row in expected("task_D_failure_modes"):
        if row["category"] == "mean_radiologist_confidence":
            got = one(records, row["model"], "failure_confidence")
            assert (got.n, got.value) == (row["n"], near(row["fraction"]))
            continue
        got = one(records, row["model"], "failure_mode", mode=row["category"])
        assert (got.n, got.k, got.value) == (row["n"], row["count"], near(row["fraction"]))
        assert (got.low, got.high) == (near(row["wilson_lower"]), near(row["wilson_upper"]))


def test_cgr_on_boxes_that_people_found_accurate_is_the_papers(study, models, finding, boxed):
    own = {case: word for case, word in finding.items() if case in boxed}
    records = list(pr.covered_cgr(study, models, own))
    for row in expected("full_coverage_cgr"):
        name = row["entity"]
        if row["block"] == "overall":
            for boxes, part in (
                ("all", "all"),
                ("accurate", "fullcov"),
                ("accurate or partial", "fullcov_partial"),
            ):
                got = one(records, name, "cgr", boxes=boxes)
                assert (got.n, got.value) == (row[f"n_{part}"], near(row[f"cgr_{part}"]))
            got = one(records, name, "cgr", boxes="accurate")
            assert got.low == near(row["cgr_fullcov_ci_lower"])
            assert got.high == near(row["cgr_fullcov_ci_upper"])
        elif row["block"] == "per_finding" and row["perfinding_n"]:
            got = one(records, name, "cgr", boxes="accurate", finding=row["finding"])
            assert (got.n, got.value) == (row["perfinding_n"], near(row["perfinding_cgr_fullcov"]))
            assert got.high == near(row["perfinding_ci_upper"])
        elif row["block"] == "paired_diff":
            got = one(records, name, "diff_cgr", boxes="accurate", versus=row["reference_reader"])
            theirs = [row["diff_model_minus_reader"], row["diff_ci_lower"], row["diff_ci_upper"]]
            assert [got.value, got.low, got.high] == [near(x) for x in theirs]
            assert (got.n, got.p, got.q) == (
                row["n_shared"],
                near(row["p_value"]),
                near(row["p_value_fdr"]),
            )


def test_a_display_that_no_mapping_names_is_refused(tmp_path):
    folder = tmp_path / "task_B_x"
    folder.mkdir()
    (folder / "case_mapping.csv").write_text("display_id,case_id,condition\nB_1,c,original\n")
    (folder / "cases.csv").write_text("display_id,answer,confidence\nB_2,yes,3\n")
    with pytest.raises(BadInput, match="row 2: display B_2 is not in case_mapping.csv"):
        pr.read_sheets({"r": tmp_path})


def test_a_folder_without_sheets_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no folder task_A_"):
        pr.read_sheets({"r": tmp_path})
