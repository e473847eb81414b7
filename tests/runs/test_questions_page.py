"""docs/questions.md: every example works as it is printed, on a miniature of the published set."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.m3cot import cases
from overread.benchmarks.m3cot.cases import (
    DATA_FOLDERS,
    IMAGE_FOLDER,
    IMAGE_SUFFIXES,
    ITEMS_FILE,
    KINDS,
    OWN_COLUMNS,
    STEP_COLUMNS,
    STEPS,
    TYPES_FILE,
    kind_of,
)
from overread.benchmarks.m3cot.result_files import LINE_KEYS, QUESTION_WORDS, UNNAMED
from overread.phantoms.question import LEAST
from support.commands import Overread
from support.m3_trees import LABELS, Item, write_image, write_m3cot

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "questions.md").read_text("utf-8")
PLAIN = " ".join(PAGE.split())
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("ov")]
LESS = {"boot": "100", "checks": "2"}
MODEL = "M-7B"


def sped(line: str) -> list[str]:
    """The words of a command, with fewer phantoms, resamples and checks."""
    words = shlex.split(line.replace("phantom:60", f"phantom:{LEAST}"))[1:]
    return [*words, *(part for key, value in LESS.items() for part in ("--set", f"{key}={value}"))]


def part(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


@pytest.fixture
def trees(workspace: Path) -> Path:
    """What the page speaks of: the set, questions of one's own, results and judges' replies."""
    items = [Item(n, f"What is number {n}?", label=LABELS[n % 3]) for n in range(1, 9)]
    items.append(Item(9, suffix=None))
    write_m3cot(Path("M3CoTBench"), items)
    csv, jsonl = (next(b for _, b in BLOCKS if b.startswith(begin)) for begin in ("question,", "{"))
    Path("ward").mkdir()
    Path("ward/questions.csv").write_text(csv, "utf-8")
    Path("ward/more.jsonl").write_text(jsonl, "utf-8")
    for name in ("a", "b"):
        write_image(Path(f"ward/images/{name}.png"))
    said = [{"index": str(n), "prediction": f"said {n}", "duration_s": 1.5} for n in range(1, 9)]
    for mode in ("cot", "direct"):
        _write(Path(f"final_output/{MODEL}/{MODEL}_{mode}.json"), said)
        for n in range(1, 9):
            text = '{"match": "false", "final_answer": "A"}'
            _write(Path(f"judges/J/answer/{MODEL}_{mode}/{n}.txt"), text)
    for n in range(1, 9):
        kept = {"index": n, "valid_outputs": '[{"step_index": 0, "judgment": "Matched"}]'}
        _write(Path(f"judges/J/recall/{MODEL}/{n}.json"), kept)
    return workspace


def _write(path: Path, holds: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(holds if isinstance(holds, str) else json.dumps(holds), "utf-8")


def record(run: str, measure: str, **by: str) -> dict:
    found = json.loads(Path(run, "measures.json").read_text("utf-8"))["measures"]
    (one,) = (row for row in found if row["measure"] == measure and row["by"] == by)
    return one


def test_every_example_works_as_printed(overread: Overread, trees: Path) -> None:
    assert len(COMMANDS) >= 7
    for line in COMMANDS:
        done = overread(*sped(line))
        assert done.code == 0, f"{line}\n{done.err}"
    left = Path("first/left_out.csv").read_text("utf-8").splitlines()
    assert left[0] == "name,reason"
    assert "there is no image images/9" in left[1]
    ward, more = (pl.read_parquet(f"{run}/cases.parquet") for run in ("ward-run", "ward-more"))
    assert ward["kind"].to_list() == ["single", "bool"]
    assert ward["patient"].to_list() == ["p1", "p2"]
    types = [[step["type"] for step in steps] for steps in more["steps"]]
    assert types == [["modality", "feature", "conclusion"], ["feature", "analysis"]]
    assert more["task"].to_list() == ["Counting", "Action"]
    beyond = pl.read_parquet("beyond/answers.parquet")
    assert set(beyond["image"]) == {"original", "blank", "swap"}
    assert set(beyond["follow"]) == {"", "truncated", "answer_first"}
    assert beyond.filter(pl.col("timed")).height == 2 * 3
    # The word "false" tells the editions apart; judges from elsewhere were not checked.
    assert record("imported", "accuracy", mode="cot")["value"] == 0
    assert record("imported", "accuracy", mode="cot")["label"] == "judge not checked"
    assert record("imported-authors", "accuracy", mode="cot")["value"] == 1


def test_every_command_of_the_table_opens_its_set(overread: Overread, trees: Path) -> None:
    table = re.findall(r"`(overread run m3cot [^`]+)`", PAGE)
    assert len(table) == 3
    for line in table:
        words = line.replace("reader SPEC", "reader control:rambler")
        words = words.replace("judge SPEC", "judge control:lexical-judge")
        done = overread(*sped(words.replace("overread run", "overread plan")))
        assert done.code == 0, f"{line}\n{done.err}"
    (line,) = re.findall(r"`(overread import m3cot [^`]+)`", PAGE)
    assert overread(*shlex.split(line)[1:], "--set", "boot=100").code == 0


def test_every_field_of_ones_own_set_is_named() -> None:
    told = part("A csv or jsonl of your own")
    fields = (*OWN_COLUMNS, *STEP_COLUMNS, "steps", "kind", "case_id", "patient")
    fields += ("examination", *KINDS, *STEPS)
    assert [name for name in fields if f"`{name}`" not in told] == []
    source = Path(cases.__file__).read_text("utf-8")
    read = set(re.findall(r'self\.text\("(\w+)"\)|fields\.get\("(\w+)"\)', source))
    assert {one or other for one, other in read} <= set(fields)


def test_the_published_set_is_named_as_the_code_has_it() -> None:
    told = part("What is read")
    names = (ITEMS_FILE, TYPES_FILE, f"{IMAGE_FOLDER}/", *IMAGE_SUFFIXES)
    names += (*(f"{folder}/" for folder in DATA_FOLDERS if folder), *STEP_COLUMNS)
    assert [name for name in names if f"`{name}`" not in told] == []
    assert f"N at least {LEAST}" in told
    for words, kind in re.findall(r'"([a-z ]+)" (?:is )?`(\w+)`', PLAIN):
        assert kind_of(f"Q? ({words.upper()})") == kind
    assert kind_of("Q?") == "short"


def test_the_import_is_told_as_it_is() -> None:
    told = part("Results made with the paper's own scripts")
    assert [word for word in QUESTION_WORDS if f"`{word}`" not in told] == []
    assert [
        key for key in re.findall(r"\w+", LINE_KEYS) if key != "and" and f"`{key}`" not in told
    ] == []
    assert f"`{UNNAMED}`" in told
