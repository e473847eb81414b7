"""A real and weak judge: the run ends, and what it is worth stands beside its numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.commands import overread
from support.real_model import needs_model, real_model

pytestmark = [pytest.mark.slow, needs_model]

ITEMS = 3
CHECKS = 2


def judged(folder: Path) -> tuple[Path, str]:
    """Three phantom items, answered rightly and judged by SmolLM2; the folder and what was printed.

    Asked once for the answer at the end of each reasoning, and for no more: a prompt takes it a
    second.
    """
    settings = [f"checks={CHECKS}", "reask=0", "modes=cot", "boot=100"]
    words = [word for each in settings for word in ("--set", each)]
    words += ["--store", str(folder / "store.sqlite"), "--out", str(folder / "run")]
    with real_model() as model:
        judge = f"answer=openai:smollm2@{model.base_url}?max_tokens=32"
        asked = ["--cases", "phantom:26", "--limit", ITEMS, "--reader", "control:clinician"]
        done = overread("run", "m3cot", *asked, "--judge", judge, *words)
    assert done.returncode == 0, done.stderr
    return folder / "run", done.stdout


def measures(folder: Path, name: str) -> list[dict[str, Any]]:
    found = json.loads((folder / "measures.json").read_text())["measures"]
    return [each for each in found if each["measure"] == name]


def test_a_weak_judge_is_counted_weighed_and_called_unfit(tmp_path: Path) -> None:
    """One test, since the run takes the model half a minute and every worker would ask anew."""
    folder, said = judged(tmp_path)
    every_reply_gets_a_verdict_that_is_counted(folder)
    its_sensitivity_and_specificity_are_printed(folder, said)
    its_numbers_do_not_look_sound(folder, said)
    what_nobody_judges_has_no_number(folder)


def every_reply_gets_a_verdict_that_is_counted(folder: Path) -> None:
    verdicts = pl.read_parquet(folder / "verdicts.parquet")
    assert verdicts.filter(~pl.col("check")).height == ITEMS
    assert verdicts["check"].sum() == 5 * CHECKS
    assert set(verdicts["outcome"]) <= {"judged", "invalid"}
    assert verdicts["text"].null_count() == 0
    counted = [
        record["k"]
        for outcome in ("judged", "invalid", "unanswered")
        for record in measures(folder, f"verdicts_{outcome}")
    ]
    assert sum(counted) == ITEMS


def its_sensitivity_and_specificity_are_printed(folder: Path, said: str) -> None:
    (sensitivity,) = measures(folder, "judge_sensitivity")
    (specificity,) = measures(folder, "judge_specificity")
    # Three of the five controls give the right answer when they reason, and two a wrong one.
    assert (sensitivity["n"], specificity["n"]) == (3 * CHECKS, 2 * CHECKS)
    line = next(line for line in said.splitlines() if "Sensitivity / specificity" in line)
    shown = re.search(r"smollm2 answers (\d+) % / (\d+) %", line)
    assert shown is not None, line
    stated = [round(100 * one["value"]) for one in (sensitivity, specificity)]
    assert [int(part) for part in shown.groups()] == stated
    assert min(stated) < 90


def its_numbers_do_not_look_sound(folder: Path, said: str) -> None:
    whole = [one for one in measures(folder, "accuracy") if set(one["by"]) == {"mode"}]
    assert [one["label"] for one in whole] == ["judge unfit"]
    assert "judge unfit" in said
    assert "judge unfit" in (folder / "report.html").read_text()


def what_nobody_judges_has_no_number(folder: Path) -> None:
    for name in ("precision", "recall", "f1"):
        assert all(one.get("value") is None for one in measures(folder, name)), name
