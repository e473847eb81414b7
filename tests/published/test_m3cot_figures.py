"""What is kept of the M3CoTBench paper, against the golden table, and what does not add up in it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from overread.case import Measure
from overread.published import headline_of
from overread.published._figures import read_figures
from published.arithmetic import CHECKS, flags_of

GOLDEN = Path(__file__).parents[1] / "golden" / "m3cot" / "m3cot_published_table.json"
ROWS = json.loads(GOLDEN.read_text("utf-8"))["rows"]
TEXT = (files("overread.published") / "m3cot" / "figures.toml").read_text(encoding="utf-8")
FOUND = read_figures(TEXT)
BY_NAME = {check.__name__: check for check in CHECKS["m3cot"]}
# The golden file's names of the printed columns, in the words of measures.json.
COLUMNS = {
    "f1": ("f1", {}, 100),
    "p": ("precision", {}, 100),
    "r": ("recall", {}, 100),
    "acc_direct": ("accuracy", {"mode": "direct"}, 100),
    "acc_step": ("accuracy", {"mode": "cot"}, 100),
    "impact": ("impact", {}, 100),
    "efficiency": ("efficiency", {}, 1),
    "latency": ("latency", {}, 1),
    "consistency": ("consistency", {}, 100),
    "t_direct_s": ("seconds", {"mode": "direct"}, 1),
    "t_cot_s": ("seconds", {"mode": "cot"}, 1),
}


def test_every_printed_number_is_the_golden_one():
    assert [system.name for system in FOUND.systems] == [row["model"] for row in ROWS]
    assert len(FOUND.index) == len(ROWS) * len(COLUMNS)
    for row in ROWS:
        for column, (measure, by, scale) in COLUMNS.items():
            printed = FOUND.find(row["model"], measure, by)
            assert printed is not None
            assert printed.record.value == pytest.approx(row[column] / scale, abs=1e-12)


def flagged(name, figures=FOUND):
    return [flag.reader for flag in BY_NAME[name](figures)]


def test_f1_is_that_of_the_printed_averages_but_for_a_misprint():
    # Two decimals on three sides hide at most two hundredths.
    off = [row["model"] for row in ROWS if abs(row["f1"] - row["f1_from_p_r"]) > 0.02]
    assert flagged("harmonic_mean") == off


def test_latency_is_the_ratio_of_the_times_but_for_a_misprint():
    def fits(row):
        over, under = row["t_cot_s"], row["t_direct_s"]
        low, high = (over - 0.005) / (under + 0.005), (over + 0.005) / (under - 0.005)
        return low - 0.005 <= row["latency"] <= high + 0.005

    assert flagged("latency_is_the_ratio") == [row["model"] for row in ROWS if not fits(row)]


def test_accuracies_are_whole_counts_of_two_judges():
    assert flagged("whole_counts") == []
    for row in ROWS:
        for mode in ("direct", "step"):
            k = row[f"acc_{mode}_as_k_of_2158"]
            assert round(100 * k / (2 * FOUND.cases), 2) == row[f"acc_{mode}"]


def test_what_does_not_add_up():
    assert {name: flagged(name) for name in BY_NAME} == {
        "harmonic_mean": ["MedGemma-27B"],
        "impact_is_the_difference": [],
        "latency_is_the_ratio": ["LLaVA-CoT"],
        "steps_a_second": ["LLaVA-CoT"],
        "whole_counts": [],
        "readme": ["MedGemma-27B"],
        "gain": ["LLaVA-CoT"],
        "printed_twice": [],
    }


@pytest.mark.parametrize(
    "said",
    [
        "F1 is not the harmonic mean of P and R. Found 50.98; expected 50.92.",
        "L is not the ratio of the times in Table A2. Found 1.56; expected 11.11 (7.78 / 0.70 s).",
        "Found 0.06 with 7.78 s; expected 0.12 to 0.24.",
        "Found 45.46; expected 45.88, as there, or why not.",
        "reasoning is said to give a limited performance gain. Found -3.38 (36.75 with it, 40.13 "
        "without): a loss; expected more than 0, or another word.",
    ],
)
def test_a_flag_says_what_was_found_and_what_was_expected(said):
    assert sum(said in str(flag) for flag in flags_of(FOUND)) == 1


@pytest.mark.parametrize(
    ("check", "old", "new", "readers"),
    [
        ("harmonic_mean", "50.98 | 48.33", "50.92 | 48.33", []),
        ("harmonic_mean", "56.48 | 60.61", "56.42 | 60.61", ["InternVL3.5-8B", "MedGemma-27B"]),
        ("impact_is_the_difference", "-6.16", "-6.26", ["InternVL3.5-30B"]),
        ("latency_is_the_ratio", "1.56 | 77.02", "11.11 | 77.02", []),
        ("latency_is_the_ratio", "| 18.27", "| 18.57", ["LLaVA-CoT", "InternVL3.5-8B"]),
        ("steps_a_second", "0.06 |  1.56", "0.19 |  1.56", []),
        ("whole_counts", "36.75", "36.77", ["LLaVA-CoT"]),
        ("readme", "45.46", "45.88", []),
        ("gain", "-3.38", " 3.38", []),
    ],
)
def test_a_check_sees_what_it_is_for(check, old, new, readers):
    assert TEXT.count(old) == 1
    assert flagged(check, read_figures(TEXT.replace(old, new))) == readers


def test_runs_stand_below_the_printed_rows_with_what_their_judges_are_worth():
    run = [
        Measure(reader="mine", measure="f1", value=0.5, label="judge unfit"),
        Measure(reader="mine", measure="accuracy", by={"mode": "cot"}, value=0.25),
        Measure(reader="mine", measure="accuracy", by={"mode": "cot", "task": "x"}, value=0.1),
    ]
    flags = flags_of(FOUND)
    reasoning, times = headline_of(FOUND, [("run-1", run)], flags)
    assert len(reasoning.rows) == len(ROWS) + 1
    assert reasoning.rows[-1][:2] == ("mine (run-1)", "50.00!")
    assert reasoning.rows[-1][5] == "25.00"
    assert reasoning.rows[-1][-2:] == ("judge unfit", "")
    assert len(times.rows) == len(ROWS)
    marks = {row[0]: row[-1] for row in reasoning.rows}
    assert "1" in marks[flags[0].reader].split(", ")
