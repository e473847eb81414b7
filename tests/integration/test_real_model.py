"""A real language model behind a real server: what is known of it is what Overread finds."""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.commands import overread
from overread.engine import Store
from overread.runs import phantom_cases
from support.projector import write_projector
from support.real_model import needs_model, real_model
from support.served import Served

pytestmark = [pytest.mark.slow, needs_model]

FINDINGS = 8  # so many distinct questions are asked of a reader that gets no picture


@pytest.fixture(scope="module")
def text_only() -> Iterator[Served]:
    with real_model() as model:
        yield model


def write_many(folder: Path) -> Path:
    """480 cases of which ten at a time are of one film: enough for a category, and soon drawn.

    A reader of text gets no picture, so that nothing hangs on how many different ones there are.
    """
    made = phantom_cases("grounding", "phantom:48")
    with made.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shutil.copytree(made.parent, folder)
    with (folder / made.name).open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, list(rows[0]))
        sheet.writeheader()
        for again in range(10):
            for row in rows:
                own = {name: f"{row[name]}-{again}" for name in ("case_id", "subject_id")}
                sheet.writerow({**row, **own})
    return folder / made.name


@pytest.fixture(scope="module")
def audit(text_only: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The grounding audit of the model as a reader of text, over phantoms."""
    folder = tmp_path_factory.mktemp("smollm2")
    cases = write_many(folder / "set")
    reader = f"openai:smollm2@{text_only.base_url}?modality=text"
    words = ["--store", folder / "store.sqlite", "--out", folder / "run"]
    done = overread("run", "grounding", "--cases", cases, "--reader", reader, *words)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return folder


def measures(folder: Path) -> dict[str, dict[str, Any]]:
    """The overall measures by name."""
    found = json.loads((folder / "run" / "measures.json").read_text())["measures"]
    return {each["measure"]: each for each in found if not each.get("by")}


def test_real_log_probabilities_give_p_yes(audit: Path) -> None:
    answers = pl.read_parquet(audit / "run" / "answers.parquet")
    assert answers.height == 1_880
    assert answers["p_yes"].null_count() == 0
    assert answers["p_yes"].is_between(0, 1, closed="none").all()
    assert 1 < answers["p_yes"].n_unique() <= FINDINGS
    # What it says and what it believes go together: the tokens were the right ones to look at.
    yes, no = (answers.filter(pl.col("answer") == said)["p_yes"].mean() for said in (1, 0))
    assert yes > no


def test_its_swap_and_mask_trials_cost_no_call(audit: Path) -> None:
    with Store(audit / "store.sqlite") as store:
        assert store.count() == FINDINGS
    answers = pl.read_parquet(audit / "run" / "answers.parquet")
    by_case = answers.group_by("case").agg(pl.col("text").n_unique(), pl.len())
    assert set(by_case["text"]) == {1}
    # Negatives have no box to mask, and some boxes no place to match them.
    assert set(by_case["len"]) == {2, 4, 5}


def test_it_ignores_the_image_by_construction(audit: Path) -> None:
    found = measures(audit)
    assert (found["uar"]["value"], found["is"]["value"]) == (1.0, 1.0)
    assert found["cgr"]["value"] == 0.0
    stands_on = {name: found[name]["n"] for name in ("cgr", "uar", "is")}
    category = found["category"]["label"]
    print(f"SmolLM2: {category}; {stands_on}")
    assert category == ("ignores image" if min(stands_on.values()) >= 100 else "insufficient")


@pytest.mark.parametrize("declared", ["", "?modality=text"])
def test_pictures_do_not_arrive_at_it(text_only: Served, declared: str) -> None:
    began = time.monotonic()
    done = overread("sight", f"openai:smollm2@{text_only.base_url}{declared}")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0] == "smollm2: does not arrive"
    assert "image input is not supported" in done.stdout or declared
    assert time.monotonic() - began < 20


def test_a_picture_it_cannot_take_is_not_sent_again(text_only: Served, tmp_path: Path) -> None:
    """The server says so with status 500, as if it might do better the next time."""
    words = ["--store", tmp_path / "store.sqlite", "--out", tmp_path / "run"]
    reader = f"openai:smollm2@{text_only.base_url}"
    done = overread("run", "grounding", "--cases", "phantom:48", "--reader", reader, *words)
    assert done.returncode == 3
    line = done.stderr.splitlines()[-1]
    assert "trials all failed alike: HTTP 500: image input is not supported" in line
    assert "attempts" not in line


def test_pictures_arrive_at_the_same_server_with_a_projector(tmp_path: Path) -> None:
    with real_model(projector=write_projector(tmp_path / "projector.gguf")) as seeing:
        done = overread("sight", f"openai:smollm2@{seeing.base_url}", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["verdict"]) == (0, "arrives"), found["evidence"]
    assert found["p_move"] < 0.01
    assert found["tokens_a_picture"] > 0
