"""docs/judging.md: every example works as it is printed, and every name is the code's."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.m3cot.controls import EXPECTED
from overread.benchmarks.m3cot.edition import CORRECTED, Options
from overread.benchmarks.m3cot.judge_questions import DECODING, RUBRICS, questions
from overread.judging import VERDICT_COLUMNS
from overread.judging.checking import FEWEST
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT
from overread.judging.question import roles_of
from overread.judging.rubric import CHANGES
from overread.judging.sheet import _KEY, _SHEET
from overread.phantoms.question import LEAST
from overread.records import read_measures
from support.commands import Overread

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "judging.md").read_text("utf-8")
PLAIN = " ".join(PAGE.split())
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("ov")]


def part(heading: str) -> str:
    return re.split(r"\n##+ ", PAGE.split(f"# {heading}\n")[1])[0]


def rows(text: str) -> list[list[str]]:
    found = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in found[2:]]


def sped(line: str) -> list[str]:
    """The words of a command, with fewer phantoms, resamples and checks where it asks."""
    words = shlex.split(line.replace("phantom:60", f"phantom:{LEAST}"))[1:]
    return [*words, "--set", "boot=100", "--set", "checks=2"] if "m3cot" in words else words


@pytest.fixture
def folder(workspace: Path) -> Path:
    """The prompt file and the study that the page prints."""
    study, words = (
        next(block for _, block in BLOCKS if begin in block) for begin in ("[[run]]", "system:")
    )
    study = study.replace("phantom:60", f"phantom:{LEAST}")
    settings = 'out = "studied"\nset = { boot = 100, checks = 2 }'
    Path("study.toml").write_text(study.replace('out = "studied"', settings), "utf-8")
    Path("words").mkdir()
    Path("words/answer.txt").write_text(words, "utf-8")
    return workspace


def test_every_example_of_judging_works_as_printed(overread: Overread, folder: Path) -> None:
    asking = [line for line in COMMANDS if not re.search("judge-sample|people=", line)]
    assert len(asking) >= 3
    for line in [*asking, *re.findall(r"`(overread run study.toml)`", PAGE)]:
        done = overread(*sped(line))
        assert done.code == 0, f"{line}\n{done.err}"
    ours, theirs, studied = (
        pl.read_parquet(f"{run}/verdicts.parquet") for run in ("judged", "reworded", "studied")
    )
    assert tuple(ours.columns) == VERDICT_COLUMNS
    prompts = [set(one.filter(question="recall")["prompt"]) for one in (ours, theirs)]
    assert prompts[0] == prompts[1]
    answers = [set(one.filter(question="answer")["prompt"]) for one in (ours, theirs)]
    assert not answers[0] & answers[1]
    assert len(answers[1]) == 1
    assert set(studied["role"]) == {"answer"}
    # Judged later, a run is what it would have been at once.
    later, once = (Path(run, "verdicts.parquet").read_bytes() for run in ("unjudged", "judged"))
    assert later == once
    assert set(pl.read_parquet("worded/verdicts.parquet")["how"]) == {"yesno"}


def test_what_a_reader_costs_in_judgments(overread: Overread, folder: Path) -> None:
    assert "five judgments for each item" in PLAIN
    assert "four for each of 5 x `checks` replies" in PLAIN
    assert overread(*sped(COMMANDS[0])).code == 0
    made = pl.read_parquet("judged/verdicts.parquet")
    assert made.filter(~pl.col("check")).height == 2 * 5 * LEAST  # two readers
    assert made.filter("check").height == 4 * 5 * 2
    assert len(EXPECTED) == 5


def test_what_variants_cost_and_that_no_reader_has_them(overread: Overread, folder: Path) -> None:
    assert "ten more for each of 5 x `variants`" in PLAIN
    assert [row[0].strip("`") for row in rows(part("What should not matter"))] == list(CHANGES)
    (line,) = (line for line in COMMANDS if "variants=" in line)
    assert overread(*sped(line)).code == 0
    made = pl.read_parquet("varied/verdicts.parquet")
    changed = made.filter(pl.col("about").str.contains('"variant"'))
    assert changed["check"].all()
    steps = pl.read_parquet("varied/cases.parquet").select("case", n=pl.col("steps").list.len())
    several = steps.filter(pl.col("case").is_in(set(changed["case"])), pl.col("n") > 1).height
    assert changed.height == 5 * (8 * 2 + 2 * several)
    assert made.filter("check").height == 4 * 5 * 2 + changed.height
    assert "changed by length" in Path("varied/report.html").read_text("utf-8")


def test_roles_questions_and_prompt_files_are_the_codes() -> None:
    told = {row[0].strip("`"): row[1] for row in rows(part("Roles and panels"))}
    known = questions(CORRECTED)
    assert {role: tuple(re.findall(r"`(\w+)`", cell)) for role, cell in told.items()} == {
        role: tuple(one.name for one in known if one.role == role) for role in roles_of(known)
    }
    files = {
        row[0].strip("`").removesuffix(".txt"): tuple(re.findall(r"`\{(\w+)\}`", row[2]))
        for row in rows(part("Your own words"))
    }
    assert files == {question: by_kind["short"].sections for question, by_kind in RUBRICS.items()}


def test_columns_controls_labels_and_limits_are_the_codes() -> None:
    columns = [
        name for row in rows(part("verdicts.parquet")) for name in re.findall(r"\w+", row[0])
    ]
    assert tuple(columns) == VERDICT_COLUMNS
    controls = {row[0].strip("`"): row[1] for row in rows(part("Is a judge fit?"))}
    assert controls == {f"control:{name}": says for name, says in EXPECTED.items()}
    assert f"Below {LIMIT} either way" in PLAIN
    assert [label for label in (UNFIT, NOT_CHECKED) if f"`{label}`" not in PAGE] == []
    assert f"`checks` items ({Options().checks})" in PLAIN
    assert f"`reask` times ({CORRECTED.reask})" in PLAIN
    assert f"Temperature is {DECODING.temperature:g}" in PLAIN
    assert f"{DECODING.max_tokens} tokens at most" in PLAIN


def test_the_columns_of_a_persons_sheet_are_the_codes() -> None:
    told = part("A sample for a person")
    assert [name for name in (*_SHEET, *_KEY) if f"`{name}`" not in told] == []


def test_a_sample_goes_to_a_person_and_comes_back(overread: Overread, folder: Path) -> None:
    write, compare, _ = (line for line in COMMANDS if "judge-sample" in line)
    assert overread(*sped(COMMANDS[0])).code == 0
    done = overread(*sped(write))
    assert done.code == 0, done.err
    sheet, key = (
        pl.read_csv(f"sample/{name}.csv", infer_schema=False) for name in ("sheet", "key")
    )
    assert (tuple(sheet.columns), tuple(key.columns)) == (_SHEET, _KEY)
    assert sheet.height == 50
    # A person who says in every row what the judge said.
    said = sheet.drop("person").join(key.select("id", person="verdict"), on="id")
    said.select(_SHEET).write_csv("sample/sheet.csv")
    done = overread(*sped(compare))
    assert done.code == 0, done.err
    assert "control:lexical-judge" in done.out
    assert "100" in done.out


def test_what_people_checked_puts_numbers_right(overread: Overread, folder: Path) -> None:
    *_, write = (line for line in COMMANDS if "judge-sample" in line)
    (again,) = (line for line in COMMANDS if "people=" in line)
    assert f"Where you judged {FEWEST} answers of a model in a mode or more" in PLAIN
    assert overread(*sped(COMMANDS[0])).code == 0
    assert overread(*sped(write)).code == 0
    sheet, key = (
        pl.read_csv(f"checked/{name}.csv", infer_schema=False) for name in ("sheet", "key")
    )
    # A person who calls every answer wrong.
    told = pl.when(pl.col("question") == "answer").then(pl.lit("wrong")).otherwise(pl.lit(""))
    sheet.with_columns(person=told).write_csv("checked/sheet.csv")
    done = overread(*sped(again))
    assert done.code == 0, done.err
    asked = pl.read_parquet("judged/answers.parquet").select("reader", "case", "mode", "text")
    rows = sheet.filter(question="answer").join(key.unique("id"), on="id")
    seen = rows.join(
        asked, left_on=["reader", "item", "reply"], right_on=["reader", "case", "text"]
    )
    enough = {
        (reader, mode): n
        for reader, mode, n in seen.group_by("reader", "mode").len().iter_rows()
        if n >= FEWEST
    }
    measures = read_measures(Path("judged")).measures
    found = [one for one in measures if one.measure == "accuracy_checked"]
    assert {(one.reader, one.by["mode"]): one.how.checked for one in found if one.how} == enough
    assert {one.value for one in found} == {0.0}
