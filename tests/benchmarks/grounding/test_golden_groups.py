"""The golden study by group: findings, views, sexes, ages, polarity, error types, swaps."""

from __future__ import annotations

import pytest

from overread.stats import wilson

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
