"""The authors' wide tables: every column of summary_table.json and all_metrics.csv, both sets."""

from __future__ import annotations

import csv

import pytest

ROUNDED = 1e-4 + 1e-9
RATES = {
    "accuracy": "accuracy",
    "CGR": "cgr",
    "UAR": "uar",
    "irrelevant_stable": "is",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
}
PARTS = {"": "value", "_std": "sd_boot", "_ci_lower": "low", "_ci_upper": "high", "_n": "n"}
SUBGROUPS = {"gender": "sex", "view": "view", "age": "age"}
# Depends on the CPU where confidences tie between the labels: see test_golden_calibration.
ELSEWHERE = {"AUROC", "AUROC_ci_lower", "AUROC_ci_upper"}


def value_of(found, model: str, column: str):
    """What we have under one of their column names."""
    for theirs, ours in RATES.items():
        for suffix, field in PARTS.items():
            if column == theirs + suffix:
                return getattr(found(ours, model), field)
    match column.split("_"):
        case ["brier", "score"]:
            return found("brier", model).value
        case ["ECE"]:
            return found("ece", model).value
        case ["parse", "rate"]:
            return found("parse_rate", model).value
        case ["text", "only", "gap"]:
            record = found.get("text_gap", model)
            return None if record is None else record.value
        case ["finding", measure, *rest] if rest[-1] == "n":
            return found(measure, model, finding="_".join(rest[:-1])).n
        case ["finding", measure, *rest]:
            return found(measure, model, finding="_".join(rest)).value
        case ["gender" | "age" as key, measure, group]:
            return found(measure, model, **{SUBGROUPS[key]: group}).value
        case ["rexerr", *rest, "swap", "sens"]:
            name = "_".join(rest)
            record = found.get("rexerr_sensitivity", model, error_type=name)
            record = record or found.get("rexerr_sensitivity", model, error_group=name)
            return None if record is None else record.value
        case ["rexerr", *rest, "n"]:
            record = found.get("rexerr_sensitivity", model, error_type="_".join(rest))
            return None if record is None else record.n
        case ["mean", "conf", *regime]:
            return confidence(found, model, "_".join(regime)).value
        case ["n", "changed"]:
            return found("swap_consistency", model).n
        case ["n", "positive" | "negative" as word]:
            return found("accuracy", model, label="1" if word == "positive" else "0").n
        case ["n", *regime]:
            return confidence(found, model, "_".join(regime)).n
        case ["swap", "change", "to", "correct"]:
            return found("swap_consistency", model).value
        case ["swap", "change", "to", "wrong"]:
            value = found("swap_consistency", model).value
            return None if value is None else 1 - value
        case ["cgr" | "uar" as measure, "positive" | "negative" as word]:
            return found(measure, model, label="1" if word == "positive" else "0").value
    return NotImplemented


def confidence(found, model, regime):
    return found("confidence", model, regime=regime, definition="metrics")


def compared(found, model: str, column: str):
    """`UAR_vs_<baseline>_diff` and its like."""
    metric, _, rest = column.partition("_vs_")
    for suffix, field in (("_diff", "value"), ("_ci_lower", "low"), ("_ci_upper", "high")):
        if rest.endswith(suffix):
            by = {"versus": rest.removesuffix(suffix), "comparison": "text_baseline"}
            record = found.get(f"diff_{metric.lower()}", model, **by)
            return None if record is None else getattr(record, field)
    return NotImplemented


@pytest.mark.parametrize("part", ["mimic", "chexpert"])
def test_the_summary_table(part, authors, chexpert, expected):
    found = authors if part == "mimic" else chexpert("authors")
    rows = expected("summary_table", part)
    readers = {r.reader for r in found.measures}
    assert readers == {row["model"] for row in rows}
    for row in rows:
        for column in set(row) - ELSEWHERE - {"model", "is_text_only", "is_vision_only"}:
            ours = value_of(found, row["model"], column)
            assert ours is not NotImplemented, column
            assert ours == (
                None if row[column] is None else pytest.approx(row[column], abs=ROUNDED)
            ), (row["model"], column)


@pytest.mark.parametrize("part", ["mimic", "chexpert"])
def test_the_wide_table(part, authors, chexpert, golden):
    found = authors if part == "mimic" else chexpert("authors")
    path = golden / part / "expected" / "all_metrics.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    checked = set()
    for row in rows:
        for column in set(row) - ELSEWHERE:
            ours = value_of(found, row["model"], column)
            if ours is NotImplemented and "_vs_" in column:
                ours = compared(found, row["model"], column)
            if ours is NotImplemented:
                continue
            checked.add(column)
            theirs = float(row[column]) if row[column] else None
            if theirs is None:
                assert ours in (None, 0), (row["model"], column)
            else:
                assert ours == pytest.approx(theirs, abs=ROUNDED), (row["model"], column)
    left = {c for c in rows[0] if c not in checked} - ELSEWHERE
    # Names and flags, p-values (test_golden_comparisons goes by their boundary mass) and texts.
    texts = ("model", "is_text_only", "is_vision_only", "best_text_only", "subgroup_")
    assert all(column.startswith(texts) or column.endswith("_p") for column in left), left
