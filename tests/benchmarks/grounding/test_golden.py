"""The golden study: what the authors' code makes of it, number by number."""

from __future__ import annotations

import json

import numpy as np
import pytest

from overread.benchmarks.grounding.category import published_rule
from overread.benchmarks.grounding.edition import AUTHORS, Options
from overread.benchmarks.grounding.marks import Study
from overread.benchmarks.grounding.measures import METRICS
from overread.benchmarks.grounding.rates import decided, hits
from overread.measuring.specs import PLAIN, counted_once
from overread.stats import wilson
from support.measured import Records

THEIRS = {
    "accuracy": "accuracy",
    "CGR": "cgr",
    "UAR": "uar",
    "irrelevant_stable": "is",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
}
WORDS = {"Other": "indeterminate"}


def test_the_six_proportions(authors, expected):
    for model, wanted in expected("unrounded").items():
        for theirs, ours in THEIRS.items():
            record, want = authors(ours, model), wanted[theirs]
            assert (record.n, record.k or 0) == (want["n"], want["k"] or 0)
            for found, value in (
                (record.value, want["point"]),
                (record.sd_boot, want["std"]),
                (record.low, want["ci_lower"]),
                (record.high, want["ci_upper"]),
                (record.se, want["se_binomial"]),
            ):
                assert found == (None if value is None else pytest.approx(value, abs=1e-9))
            if want["n"]:
                assert record.method == "bootstrap:10000:0"


def test_the_parse_rates(authors, expected):
    for model, wanted in expected("unrounded").items():
        assert authors("parse_rate", model).value == pytest.approx(wanted["parse_rate_unrounded"])
        for condition in ("original", "swap", "target_mask", "irrelevant_mask"):
            value = wanted.get(f"parse_rate_{condition}")
            found = authors("parse_rate", model, condition=condition).value
            assert found == (None if value is None else pytest.approx(value, abs=1e-9))


def test_the_eligible_cases_and_their_order(as_published, expected):
    found = as_published
    names = found.tables.cases["case"].to_numpy()
    wanted = expected("eligible_cases")
    run = Study(found.tables, AUTHORS, Options())
    for marks in run.marks:
        for metric, eligible in wanted[marks.reader].items():
            counted = counted_once(run, marks, METRICS[THEIRS[metric]], PLAIN)
            places = marks.ordered(decided(counted))
            pairs = zip(names[places], hits(counted)[places].astype(int), strict=True)
            assert [[case, int(hit)] for case, hit in pairs] == eligible, (marks.reader, metric)


def test_the_categories_and_the_premium(authors, expected):
    for entry in expected("category"):
        word = WORDS.get(entry["category"], entry["category"].lower())
        assert authors("category", entry["model"]).label == word
        premium = authors("gsp", entry["model"]).value
        if entry["GSP_pp"] is None:
            assert premium is None
        else:  # theirs comes from rates rounded to four decimals
            assert 100 * premium == pytest.approx(entry["GSP_pp"], abs=0.0101)


def test_the_published_rule(golden):
    entries = json.loads((golden / "protocol_bits" / "category.json").read_text("utf-8"))
    for entry in entries:
        found = published_rule(
            entry["CGR"], entry["CGR_ci_lower"], entry["UAR"], entry["irrelevant_stable"]
        )
        word = entry["category_fig4_nan_guard"]
        assert found == WORDS.get(word, word.lower())


def test_stability_over_all_parsed_answers_is_the_papers_own_definition(authors, expected):
    """[D3]"""
    for model, wanted in expected("derived_recommended")["per_model"].items():
        record = authors("is_all", model)
        unconditional = wanted["IS_paper_unconditional"]
        assert (record.k, record.n) == (unconditional["k"], unconditional["n"])


def test_accuracy_with_the_key_of_normals_put_right(study, expected):
    """[D1]"""
    found = study("corrected", vision_on_sentences="yes")
    corrected = Records(found.benchmark.measure(found.tables))
    for model, wanted in expected("derived_recommended")["per_model"].items():
        fixed = wanted["accuracy_no_finding_polarity_fixed"]
        record = corrected("accuracy", model)
        assert (record.k, record.n) == (fixed["k"], fixed["n"])


def test_each_edition_notes_accuracy_under_the_other_key(study, authors):
    """[D1] Both ways of scoring stand beside each other."""
    found = study("corrected", vision_on_sentences="yes")
    corrected = Records(found.benchmark.measure(found.tables))
    for reader in (record.name for record in found.tables.readers):
        ours, theirs = corrected("accuracy", reader), authors("accuracy", reader)
        assert f"with key yes for normal films {theirs.value:.4f}" in ours.note
        assert f"with key no for normal films {ours.value:.4f}" in theirs.note


def test_reading_the_raw_answers_again_changes_nothing_for_the_authors(
    study, as_published, authors
):
    again = study("authors", reparse=True)
    columns = ["reader", "case", "image", "outcome", "answer", "p_yes"]
    assert again.tables.answers.select(columns).equals(as_published.tables.answers.select(columns))
    quick = study("authors", reparse=True, boot="100")
    same = [(r.value, r.k, r.n) for r in quick.benchmark.measure(quick.tables)]
    assert same == [(r.value, r.k, r.n) for r in authors.measures]


def test_the_bootstrap_depends_on_the_order_of_the_file(study):
    """GROUNDING 18.1: one model's original.csv is shuffled, and its order must be kept."""
    found = study("authors", boot="1000")
    order = next(
        marks.order
        for marks in Study(found.tables, AUTHORS, Options()).marks
        if marks.reader == "vlm_half_unparsed"
    )
    assert (np.diff(order) < 0).any()


# ---------------------------------------------------------------- groups
# The golden study by group: findings, views, sexes, ages, polarity, error types, swaps.


NEAR = 1e-9
ROUNDED = 1e-4  # the file holds four decimals


def same(found: float | None, wanted: float | None, within: float = NEAR) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= within


@pytest.mark.parametrize(
    ("name", "measure", "field"),
    [("per_finding_cgr", "cgr", "CGR"), ("per_finding_uar", "uar", "UAR")],
)
@pytest.mark.parametrize("part", ["mimic", "chexpert"])
def test_per_finding(part, name, measure, field, authors, chexpert, expected):
    if part == "chexpert" and measure == "cgr":
        found = chexpert("authors")  # no boxes there: every cell is empty
        assert all(r.n == 0 for r in found.measures if r.measure == "cgr" and "finding" in r.by)
        return
    found = authors if part == "mimic" else chexpert("authors")
    for model, rows in expected(name, part).items():
        for row in rows:
            record = found(measure, model, finding=row["finding"])
            assert record.n == row[f"{field}_n"]
            assert same(record.value, row[field], ROUNDED)
            assert same(record.sd_boot, row[f"{field}_std"], ROUNDED)
            assert same(record.low, row[f"{field}_ci_lower"], ROUNDED)
            assert same(record.high, row[f"{field}_ci_upper"], ROUNDED)


def test_per_finding_with_wilsons_interval(authors, expected):
    for row in expected("per_finding_wilson"):
        record = authors("cgr", row["model"], finding=row["finding"])
        assert (record.k, record.n) == (row["k"], row["n"])
        assert same(record.value, row["CGR"], ROUNDED)
        interval = wilson(record.k, record.n)
        assert same(interval.low, row["wilson_lower"])
        assert same(interval.high, row["wilson_upper"])


def test_by_view(authors, expected):
    for model, views in expected("view_cgr").items():
        for view, wanted in views.items():
            record = authors("cgr", model, view=view)
            assert record.n == wanted["n"]
            assert same(record.value, wanted["CGR"])
            assert same(record.sd_boot, wanted["CGR_std"])
            assert same(record.low, wanted["CGR_ci_lower"])
            assert same(record.high, wanted["CGR_ci_upper"])


@pytest.mark.parametrize("measure", ["cgr", "uar"])
@pytest.mark.parametrize(("name", "key"), [("gender", "sex"), ("age", "age")])
def test_by_sex_and_age(measure, name, key, authors, expected):
    for model, groups in expected(f"{name}_{measure}").items():
        for group, value in groups.items():
            assert same(authors(measure, model, **{key: group}).value, value)


def test_by_polarity(authors, expected):
    for row in expected("cgr_uar_by_polarity"):
        for word, label in (("positive", "1"), ("negative", "0")):
            for measure in ("cgr", "uar"):
                found = authors(measure, row["model"], label=label).value
                assert same(found, row[f"{measure}_{word}"])
            assert authors("accuracy", row["model"], label=label).n == row[f"n_{word}"]


def test_swap_consistency(authors, expected):
    for row in expected("swap_consistency"):
        record = authors("swap_consistency", row["model"])
        assert record.n == row["n_changed"]
        assert same(record.value, row["swap_change_to_correct"])
        if record.n:
            assert same(1 - record.value, row["swap_change_to_wrong"])


def test_injected_errors(authors, expected):
    for model, wanted in expected("rexerr_breakdown").items():
        for name, row in wanted["per_type"].items():
            record = authors("rexerr_sensitivity", model, error_type=name)
            assert record.n == row["n"]
            assert same(record.value, row["swap_sens"])
        for group in ("image_dependent", "text_only", "control"):
            record = authors("rexerr_sensitivity", model, error_group=group)
            assert same(record.value, wanted[f"{group}_mean"])
