"""docs/hard-cases.md: every example works as it is printed, on miniatures of the published sets."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr import loading
from overread.benchmarks.medcmr.edition import CORRECTED, IMAGES, Options
from overread.benchmarks.medcmr.importing import _KINDS, _Said
from overread.benchmarks.medcmr.judged_questions import RUBRICS
from overread.benchmarks.medcmr.people_sheets import ERRORS
from overread.benchmarks.medcmr.published_sets import PUBLISHED_SETS
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, LINES, grid_words
from overread.phantoms.vignette import LEAST
from overread.published import inconsistencies
from support.commands import Overread
from support.medcmr_sets import item, mcq, write_images, write_release, write_slake

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hard-cases.md").read_text("utf-8")
PLAIN = " ".join(PAGE.split())
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("ov")]
SHEETS = ("error-sample", "rank-sample", "judge-sample")


def sped(line: str) -> list[str]:
    """The words of a command, with fewer phantoms, resamples and checks."""
    words = shlex.split(line.replace("phantom:84", f"phantom:{LEAST}"))[1:]
    if words[0] in ("run", "plan"):
        words += ["--set", "checks=2"]
    return words if words[0] in SHEETS else [*words, "--set", "boot=100"]


def part(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


def block(begin: str) -> str:
    return next(text for _, text in BLOCKS if text.startswith(begin))


@pytest.fixture
def trees(workspace: Path) -> Path:
    """What the page speaks of: the release, another set, questions of one's own, and replies."""
    write_release(Path(), [mcq(n) for n in range(1, 15)], [item(n) for n in range(1, 15)])
    write_slake(Path("Slake"))
    Path("ward").mkdir()
    Path("ward/questions.csv").write_text(block("question,"), "utf-8")
    Path("ward/more.jsonl").write_text(block('{"question"'), "utf-8")
    write_images(Path("ward"), "images/a.png", "images/b.png")
    Path("replies").mkdir()
    Path("replies/model-8b.jsonl").write_text(block('{"index"'), "utf-8")
    (models,) = re.findall(r"`(\{\"model-8b\".*?\}\})`", PAGE)
    Path("models.json").write_text(models, "utf-8")
    return workspace


def fill(name: str, **cells: object) -> None:
    """A person fills a sheet: the same in every row, which is enough to be read."""
    sheet = pl.read_csv(name, infer_schema=False)
    sheet.with_columns(**{key: pl.lit(str(value)) for key, value in cells.items()}).write_csv(name)


def records(run: str, measure: str) -> list[dict]:
    found = json.loads(Path(run, "measures.json").read_text("utf-8"))["measures"]
    return [row for row in found if row["measure"] == measure]


def test_every_example_of_hard_cases_works_as_printed(overread: Overread, trees: Path) -> None:
    assert len(COMMANDS) >= 13
    for line in COMMANDS:
        if "ranks=" in line:
            assert set(pl.read_csv("errors/errors.csv").columns) >= {"label", "note"}
            fill("errors/errors.csv", label="knowledge")
            fill("ranks/ranks.csv", **dict.fromkeys(COMPONENTS, 1))
        done = overread(*sped(line))
        assert done.code == 0, f"{line}\n{done.err}"
        if "ranks=" in line:
            shares = records("compared", "error_share")
            (known,) = (row for row in shares if row["by"] == {"error": "knowledge"})
            assert known["value"] == 1
            assert {row["by"]["rater"] for row in records("compared", "win_ratio")} == {
                "human",
                "judge",
            }
    assert pl.read_parquet("first/cases.parquet").height == 14
    ward, more = (pl.read_parquet(f"{run}/cases.parquet") for run in ("ward-run", "ward-more"))
    assert ward["kind"].to_list() == ["mcq", "mcq", "open"]
    assert ward["answer"].to_list() == ["B", "A", "ascites"]
    assert ward["dimension"].to_list() == ["SOD", "SOD", "CR"]
    assert more["images"].list.len().to_list() == [2, 1]
    beyond = pl.read_parquet("beyond/answers.parquet")
    assert set(beyond["image"]) == set(IMAGES)
    assert set(beyond["form"]) == {"mcq", "open", "reformulated"}
    assert beyond["rung"].null_count() < beyond.height
    assert records("compared", "only_base")
    lost = set(pl.read_csv("lost/errors.csv")["case"])
    openly = pl.read_parquet("asked-openly/answers.parquet").filter(form="reformulated")
    assert set(openly["case"]) == lost
    imported = pl.read_parquet("imported/answers.parquet")
    assert imported["reader"].unique().to_list() == ["model-8b"]
    assert imported["choice"].drop_nulls().to_list() == ["B"]
    assert pl.read_parquet("imported/verdicts.parquet")["judge"].to_list() == ["J"]
    (truth,) = (row for row in records("imported", "truth") if not row["by"])
    assert truth["label"] == "judge not checked"


def test_every_command_of_the_table_opens_its_set(overread: Overread, trees: Path) -> None:
    table = re.findall(r"`(overread run medcmr [^`]+)`", PAGE)
    assert len(table) == 4
    for line in table:
        words = line.replace("reader SPEC", "reader control:oracle")
        words = words.replace("judge SPEC", "judge control:lexical-judge")
        done = overread(*sped(words.replace("overread run", "overread plan")))
        assert done.code == 0, f"{line}\n{done.err}"
    (line,) = re.findall(r"`(overread import medcmr [^`]+)`", PAGE)
    assert overread(*sped(line)).code == 0


def test_what_it_costs_is_what_plan_counts(overread: Overread, trees: Path) -> None:
    words = ("plan", "medcmr", "--cases", "dataset.zip", "--reader", "control:oracle")
    words += ("--judge", "control:lexical-judge", "--json", "--set", "checks=3")
    once = json.loads(overread(*words).out)
    more = ("--set", "images=original,blank,swap", "--set", "reformulate=5")
    thrice = json.loads(overread(*words, *more).out)
    assert [row["trials"] for row in once] == [2 * 14, 14 + 2 * 3]
    assert [row["trials"] for row in thrice] == [3 * 2 * 14 + 5, 3 * 14 + 5 + 2 * 3]
    assert f"{16_655 + 3_999:,} calls, and {3_999 + 2 * Options().checks:,} of the judge" in PLAIN


def test_every_field_of_a_file_of_ones_own_is_named() -> None:
    told = part("A file of your own")
    source = Path(loading.__file__).read_text("utf-8")
    read = set(re.findall(r'row\.(?:text|fact|texts|raw|decoded)\("(\w+)"\)', source))
    assert {"question", "answer", "image", "caption", "patient", "options"} <= read
    assert [name for name in sorted(read) if f"`{name}`" not in told] == []
    assert f"`{LETTERS[0]}` to `{LETTERS[-1]}`" in told


def test_every_layout_is_named_with_what_it_is_known_by() -> None:
    told = part("Other published sets")
    rows = {row.split(" | ")[0].strip("| "): row for row in told.splitlines() if row[:1] == "|"}
    assert {layout.name for layout in PUBLISHED_SETS} == set(list(rows)[2:])
    spanned = {"Choice B", "Choice C", "option_B"}  # "`Choice A` to `Choice D`"
    above = rows["VQA-RAD"]  # "the same parquet file"
    for layout in PUBLISHED_SETS:
        needed = set(layout.needed) - spanned
        cell = rows[layout.name] + (above if layout.name == "PathVQA" else "")
        assert [name for name in sorted(needed) if f"`{name}`" not in cell] == [], layout.name


def test_the_release_is_named_as_the_code_has_it() -> None:
    told = part("What is read")
    names = (loading.ARCHIVE, *loading.FILES.values())
    assert [name for name in names if f"`{name}`" not in told] == []
    assert f"N at least {LEAST}" in told


def test_labels_and_the_import_are_told_as_they_are() -> None:
    people, elsewhere = part("What people do"), part("Replies from elsewhere")
    assert [name for name in (*ERRORS, *COMPONENTS) if f"`{name}`" not in people] == []
    fields = (*_Said.__struct_fields__, *_KINDS, *COMPONENTS)
    assert [name for name in fields if f"`{name}`" not in elsewhere] == []


def test_the_printed_figures_have_as_many_flags_as_the_page_says() -> None:
    assert f"with {len(inconsistencies('medcmr'))} places that do not add up" in PLAIN


def test_the_page_on_judging_has_the_scores_lines_and_files_of_the_code() -> None:
    page = (ROOT / "docs" / "judging.md").read_text("utf-8")
    told = page.split("\n## Scores of open answers\n")[1].split("\n## ")[0]
    for question, rubric in RUBRICS.items():
        parts = " ".join(f"`{{{name}}}`" for name in rubric.sections)
        assert re.search(
            rf"^\| `{question}` \| [^|]+ \| {re.escape(parts)} \| `{question}.txt` \|$",
            told,
            re.MULTILINE,
        )
    for name in COMPONENTS:
        assert f"| `{LINES[name]}:` | {', '.join(grid_words(name))} | `{name}` |" in told
    assert f"`reask` times ({CORRECTED.reask})" in told
