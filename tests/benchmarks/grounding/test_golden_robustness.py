"""Golden robustness: another resolution, other phrasings, another dataset, rated boxes."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from overread.benchmarks.grounding.exhibits.tables import transferred
from overread.benchmarks.grounding.importing import import_results
from overread.measuring.contrasts import ranks
from overread.stats import benjamini_hochberg
from support.measured import Records

NEAR = 1e-9
ROUNDED = 1e-4 + 1e-9


@pytest.fixture(scope="module")
def varied(golden):
    """The study with its further results at another size and in two more phrasings."""

    def read(edition, **settings):
        sizes = sorted((golden / "resolution").glob("responses_*"))
        also = [f"px={path.name.rpartition('_')[2]}:{path}" for path in sizes]
        words = sorted((golden / "prompt_sensitivity" / "responses").iterdir())
        also += [f"phrasing={path.name}:{path}" for path in words]
        found = import_results(
            golden / "mimic" / "manifest.csv",
            golden / "mimic" / "responses",
            golden / "models.json",
            edition,
            settings,
            also=also,
        )
        return Records(found.benchmark.measure(found.tables))

    return read


@pytest.fixture(scope="module")
def authors_varied(varied):
    return varied("authors")


def test_resolution(authors_varied, expected):
    rows = expected("expected", "resolution")
    for row in rows:
        for px in ("224", "512"):
            record = authors_varied("cgr", row["model"], px=px)
            assert record.n == row[f"CGR_{px}_n"]
            for ours, theirs in ((record.value, ""), (record.low, "_ci_lower")):
                assert ours == pytest.approx(row[f"CGR_{px}{theirs}"], abs=ROUNDED)
            assert record.high == pytest.approx(row[f"CGR_{px}_ci_upper"], abs=ROUNDED)
    for px in ("224", "512"):
        rates = [authors_varied("cgr", row["model"], px=px).value for row in rows]
        assert ranks(rates) == [row[f"rank_{px}"] for row in rows]
    rho = authors_varied("rho", "", px="224,512", of="cgr")
    assert rho.value == pytest.approx(rows[0]["spearman_rho"], abs=1e-6)


def test_phrasing(authors_varied, expected):
    for row in expected("expected", "prompt_sensitivity"):
        accuracy = authors_varied("accuracy", row["model"], phrasing=row["variant"])
        parsed = authors_varied("parse_rate", row["model"], phrasing=row["variant"])
        assert accuracy.n == row["n_cases"]
        assert accuracy.value == pytest.approx(row["accuracy"], abs=NEAR)
        assert accuracy.low == pytest.approx(row["ci_lower"], abs=NEAR)
        assert accuracy.high == pytest.approx(row["ci_upper"], abs=NEAR)
        assert parsed.value == pytest.approx(row["parse_rate"], abs=NEAR)
        assert ("uninterpretable" in (accuracy.note or "")) == (row["n_cases"] < 50)


def test_further_results_leave_the_headline_alone(authors_varied, authors):
    for record in authors.measures:
        assert authors_varied(record.measure, record.reader, **record.by) == record


def test_resolution_on_the_same_cases(varied):
    """[D15] `corrected` compares sizes case by case, and only where both were asked."""
    found = varied("corrected", boot="200")
    sizes = [r for r in found.measures if r.measure == "diff_cgr" and "px" in r.by]
    assert sizes
    for record in sizes:
        here = found("cgr", record.reader, px="224")
        there = found("cgr", record.reader, px=record.by["px"])
        assert record.n <= min(here.n, there.n)
        if record.value is not None:
            assert record.low < record.high


def test_another_dataset(authors, chexpert, golden, expected):
    path = golden / "chexpert" / "expected" / "cross_dataset_comparison.csv"
    second = chexpert("authors")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for column, value in row.items():
                measure, _, part = column.partition("_")
                if column == "model" or not value:
                    continue
                found = authors if part == "mimic" else second
                name = {"acc": "accuracy"}.get(measure, measure.lower())
                assert found(name, row["model"]).value == pytest.approx(float(value), abs=ROUNDED)


def test_rank_correlations_between_datasets(authors, chexpert, golden, expected):
    import json

    roles = json.loads((golden / "models.json").read_text("utf-8"))
    vision = frozenset(name for name, facts in roles.items() if facts["role"] == "vision_only")
    second = chexpert("authors")
    theirs = transferred(authors.measures, second.measures, vision, exact=False).correlations
    ours = transferred(authors.measures, second.measures, vision).correlations
    names = {"all": "all", "without_vision_only": "excluding_vision_probe"}
    wanted = expected("spearman", "chexpert")
    seen = 0
    for record, exact in zip(theirs, ours, strict=True):
        key = {"uar": "UAR", "accuracy": "accuracy"}.get(record.by["of"])
        if key is None:
            continue
        rho, p = wanted[key][names[record.by["readers"]]]
        assert record.value == pytest.approx(rho, abs=1e-9)
        assert record.p == pytest.approx(p, abs=1e-9)
        assert 0 < exact.p <= 1  # [D25] nine readers cannot give p = 0
        seen += 1
    assert seen == 4


def test_rated_boxes(golden, expected):
    study = golden / "reader_study"
    sheets = [path / "task_A_box_validation" for path in sorted(study.glob("reader*_filled_*"))]
    found = import_results(
        golden / "mimic" / "manifest.csv",
        golden / "mimic" / "responses",
        golden / "models.json",
        "authors",
        {"ratings": ",".join(map(str, sheets)), "boot": "100"},
    )
    records = Records(found.benchmark.measure(found.tables))
    checked = 0
    for row in expected("expected/full_coverage_cgr", "reader_study"):
        if row["entity_type"] != "model":
            continue
        model = row["entity"]
        if row["block"] == "overall":
            every = records("cgr", model, coverage="all")
            assert (every.n, every.value) == (row["n_all"], pytest.approx(row["cgr_all"]))
            full = records("cgr", model, coverage="accurate")
            assert full.n == row["n_fullcov"]
            assert full.value == pytest.approx(row["cgr_fullcov"], abs=NEAR)
            assert full.se == pytest.approx(row["cgr_fullcov_se"], abs=NEAR)
            assert full.low == pytest.approx(row["cgr_fullcov_ci_lower"], abs=NEAR)
            assert full.high == pytest.approx(row["cgr_fullcov_ci_upper"], abs=NEAR)
            either = records("cgr", model, coverage="accurate_or_partial")
            assert either.n == row["n_fullcov_partial"]
            assert either.value == pytest.approx(row["cgr_fullcov_partial"], abs=NEAR)
            checked += 1
        elif row["block"] == "per_finding" and row["perfinding_n"]:
            cell = records("cgr", model, coverage="accurate", finding=row["finding"])
            assert cell.n == row["perfinding_n"]
            assert cell.value == pytest.approx(row["perfinding_cgr_fullcov"], abs=NEAR)
            assert cell.low == pytest.approx(row["perfinding_ci_lower"], abs=NEAR)
            checked += 1
    assert checked


# ---------------------------------------------------------------- comparisons
# The golden study's tests: paired comparisons, text-only gap, subgroups, and their families.


KINDS = {"vs_text_baseline": "text_baseline", "pairwise_accuracy": "pairwise"}


def diff(found, row):
    by = {"versus": row["model_b"], "comparison": KINDS[row["comparison_type"]]}
    return found(f"diff_{row['metric'].lower()}", row["model_a"], **by)


@pytest.mark.parametrize("part", ["mimic", "chexpert"])
def test_paired_differences(part, authors, chexpert, expected):
    found = authors if part == "mimic" else chexpert("authors")
    rows = expected("paired_comparisons", part)
    for row in rows:
        record = diff(found, row)
        assert record.n == row["n_shared"]
        for ours, theirs in (
            (record.value, "diff"),
            (record.sd_boot, "diff_std"),
            (record.low, "diff_ci_lower"),
            (record.high, "diff_ci_upper"),
        ):
            assert ours == pytest.approx(row[theirs], abs=NEAR)
    ours = [r for r in found.measures if r.measure.startswith("diff_")]
    assert len(ours) == len(rows), "no comparison more, none less"


def test_p_by_the_mass_on_its_boundary(authors, expected):
    """Floating point loses exact ties, theirs and ours alike, but no more than there are."""
    near, rows = 0, expected("derived_recommended")["paired"]
    for row in rows:
        p, exact = diff(authors, row).p, row["p_exact_integer"]
        assert exact - row["boundary_mass"] - NEAR <= p <= exact + NEAR
        near += p == pytest.approx(row["p_value"], abs=NEAR)
    assert near > 0.9 * len(rows)  # the rest may round otherwise on another processor


def test_families_as_published(authors, expected):
    """[D5] One family for all baselines, comparisons with oneself in it."""
    rows = expected("paired_comparisons")
    for kind, metric in {(row["comparison_type"], row["metric"]) for row in rows}:
        own = [r for r in rows if (r["comparison_type"], r["metric"]) == (kind, metric)]
        records = [diff(authors, row) for row in own]
        assert len({record.family for record in records}) == 1
        adjusted = benjamini_hochberg([record.p for record in records])
        assert [record.q for record in records] == pytest.approx(adjusted.tolist())
        theirs = benjamini_hochberg([row["p_value"] for row in own])
        assert [row["p_value_fdr"] for row in own] == pytest.approx(theirs.tolist())


def test_one_family_per_baseline_without_oneself(authors_key, expected):
    """[D5] in `corrected`, where p is exact: the readers are exchanged within patients.

    Far from the line it says what the published bootstrap of cases says.
    """
    families = {}
    for row in expected("derived_recommended")["paired"]:
        by = {"versus": row["model_b"], "comparison": KINDS[row["comparison_type"]]}
        record = authors_key.get(f"diff_{row['metric'].lower()}", row["model_a"], **by)
        if row["model_a"] == row["model_b"]:
            assert record is None
            continue
        assert record.n == row["n_shared"]
        assert (record.low <= 0 <= record.high) == (record.p > 0.05)
        if not 0.01 < (p := row["p_exact_integer"]) < 0.2:
            assert (record.p <= 0.05) == (p <= 0.05)
        if row["comparison_type"] == "vs_text_baseline":
            assert record.family.endswith(f"|{row['model_b']}")
    for record in authors_key.measures:
        if record.measure.startswith("diff_"):
            families.setdefault(record.family, []).append(record)
    for records in families.values():
        adjusted = benjamini_hochberg([record.p for record in records])
        assert [record.q for record in records] == pytest.approx(adjusted.tolist())


def test_text_only_gap(authors, expected):
    rows = {row["model"]: row for row in expected("text_only_gap")}
    ours = {r.reader: r for r in authors.measures if r.measure == "text_gap"}
    assert set(ours) == set(rows)
    for model, row in rows.items():
        assert ours[model].value == pytest.approx(row["gap"], abs=1e-4)
        assert ours[model].note.startswith(f"{row['best_text_only_model']}:")


TESTS = {"gender": "sex", "view": "view", "age": "age"}


@pytest.mark.parametrize("part", ["mimic", "chexpert"])
def test_subgroups(part, authors, chexpert, expected):
    found = authors if part == "mimic" else chexpert("authors")
    exact = {(r["model"], r["test"]): r for r in expected("derived_recommended")["subgroup"]}
    rows = expected("subgroup_tests", part)
    near = tested = 0
    for row in rows:
        attribute, measure = row["test"].split("_")
        record = found(f"gap_{measure.lower()}", row["model"], attribute=TESTS[attribute])
        if row["p_raw"] is None:
            assert (record.p, record.q) == (None, None)
            continue
        if part == "mimic":
            wanted = exact[row["model"], row["test"]]
            p, mass = wanted["p_exact_rational"], wanted["boundary_mass"]
            assert p - mass - NEAR <= record.p <= p + NEAR
        near += record.p == pytest.approx(row["p_raw"], abs=NEAR)
        tested += 1
        if row["group_means"] != "NA":
            for part_ in row["group_means"].split(","):
                name, value = part_.split("(")[0].split("=")
                assert f"{name} {value}" in record.note or value == "nan"
    ours = [r for r in found.measures if r.measure.startswith("gap_")]
    assert len(ours) == len(rows)
    assert near > 0.9 * tested


def test_subgroup_families_are_a_readers_own(authors, expected):
    for model in {row["model"] for row in expected("subgroup_tests")}:
        own = [r for r in authors.measures if r.reader == model and r.measure.startswith("gap_")]
        assert {record.family for record in own} == {f"subgroups|{model}"}
        p = [np.nan if record.p is None else record.p for record in own]
        q = [np.nan if record.q is None else record.q for record in own]
        assert q == pytest.approx(benjamini_hochberg(p).tolist(), nan_ok=True)
