"""docs/report.md: every example works as it is printed, and its facts are those of the code."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from overread.benchmarks.registry import BENCHMARKS, class_of, questions
from overread.case import Measure
from overread.records import read_record, write_record
from overread.report import browser
from overread.report.comparing import TOLD_APART, comparison_line
from overread.report.exports import CONTENTS, SUFFIXES
from overread.report.markup import content_security
from overread.report.serving import Serving, serving
from overread.runs import _reporting, _serving
from overread.runs._reporting import CARDS, OWN_CARDS
from overread.stats._differences import _LISTED
from support.commands import Overread

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "report.md").read_text("utf-8")
PLAIN = " ".join(PAGE.split())
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("ov")]
SEEDS = ["--set", "seeds=2020", "--set", "passes=1", "--set", "formats=edv_esv"]


def sped(line: str) -> list[str]:
    """The words of a command, with fewer phantoms, resamples and cases on a page."""
    small = line.replace("phantom:480", "phantom:16").replace("phantom:40", "phantom:2")
    words = shlex.split(small)[1:]
    if words[0] == "report":
        return [*words, "--cases", "4"]
    if words[0] != "run":
        return words
    return [*words, "--set", "boot=100", *(SEEDS if "heartbeat" in words else [])]


def rows(first: str) -> dict[str, list[str]]:
    """The table whose header begins with this cell, by the first cell of each row."""
    _, found = PAGE.split(f"\n| {first} |", 1)
    lines = found.split("\n\n")[0].split("\n")[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0].strip("`"): row[1:] for row in cells}


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[Serving]:
    """Where servers listened; each really does, and ends as if it was told to at once."""
    found: list[Serving] = []

    async def at_once(
        made: _serving.Served, at: _serving.Bound, listens: Callable[[Serving], None], _: object
    ) -> None:
        async with serving(made.page, made.runs, at) as server:
            listens(server)
            found.append(server)

    monkeypatch.setattr(_serving, "_until_stopped", at_once)
    for screen in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(screen, raising=False)
    return found


# ---------------------------------------------------------------- the examples


def test_every_example_of_the_report_works_as_printed(
    overread: Overread, addresses: list[Serving]
) -> None:
    assert len(COMMANDS) >= 12
    for line in COMMANDS:
        if "my-run" in line:
            shutil.copytree("films", "my-run")
            record = msgspec.structs.replace(read_record(Path("films")), policy="credentialed")
            write_record(Path("my-run/run.toml"), record)
        # The port of the example may be taken here.
        done = overread(*sped(line.replace("--port 8400", "--port 0")))
        assert done.code == 0, f"{line}\n{done.err}"
        if line.endswith("--json"):
            told = json.loads(done.out)
            assert set(told) == {"page", "board", "gate", "files", "runs", "cards"}
            assert told["runs"][0]["measures"]
        if line.startswith("overread compare"):
            named = "--reader control:looks" in line
            assert named == ("control:shortcut and control:global" not in done.out)
    assert "<title>Overread: Films and hearts</title>" in Path("both.html").read_text("utf-8")
    shown = Path("for-us.html")
    assert "keep it where the data set may be" in shown.read_text("utf-8")
    assert shown.stat().st_mode & 0o777 == 0o600
    assert [server.public for server in addresses] == [False, False]
    check_files_for_a_paper()


def check_files_for_a_paper() -> None:
    """The folders hold what the page says."""
    listed = {}
    for folder in ("numbers", "tables", "drawings"):
        with Path(folder, CONTENTS).open(encoding="utf-8", newline="") as file:
            listed[folder] = [row["file"] for row in csv.DictReader(file)]
        there = {path.name for path in Path(folder).iterdir()}
        assert there == {*listed[folder], CONTENTS}
    with Path("numbers/measures.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file))[-1] == "signature"
    assert {"measures.csv", "grounding-summary.csv"} < set(listed["numbers"])
    assert any(name.startswith("grounding-published-") for name in listed["numbers"])
    table = Path("tables/grounding-summary.tex").read_text("ascii")
    assert r"\label{tab:grounding-summary}" in table
    assert {Path(name).suffix for name in listed["drawings"]} == {f".{end}" for end in SUFFIXES}
    told = rows("option")["--figures DIR"][0]
    assert all(f"`.{end}`" in told for end in SUFFIXES)


# ---------------------------------------------------------------- the facts


def test_the_page_has_the_four_questions_and_no_rule_is_left_out() -> None:
    told = rows("question")
    assert {question: row[0].strip("`") for question, row in told.items()} == {
        question: benchmark for benchmark, question in questions(()).items()
    }
    for question in questions(()).values():
        (rule,) = re.findall(rf"^\*\*{re.escape(question)}\*\*(.*?)\n\n", PAGE, re.M | re.S)
        assert {"*yes*", "*no*", "*cannot tell*"} <= set(re.findall(r"\*[a-z ]+\*", rule))


def test_the_page_names_what_is_compared() -> None:
    _, after = PAGE.split("## Comparing models\n")
    table = after.split("| run | compared")[1].split("\n\n")[0]
    for benchmark in BENCHMARKS:
        (row,) = re.findall(rf"^\| `{benchmark}` \| (.*) \|$", table, re.M)
        measures = [words.measure for words in class_of(benchmark).compared]
        assert [name for name in measures if f"`{name}`" not in row] == []


def test_the_page_says_how_cases_are_sampled() -> None:
    assert f"{CARDS} cases of each run at most, or `--cases N` (0 to {_reporting._MOST_CARDS})" in (
        PLAIN
    )
    assert f"{OWN_CARDS} on the page a run writes of itself" in PLAIN
    assert list(browser._SHARES.values()) == [0.5, 0.3, 0.2]
    assert "half, three tenths and a fifth of the places" in PLAIN
    assert f"cut after {browser._LONGEST_TEXT:,} characters" in PLAIN
    assert browser.PAGE == 20
    assert "all cases: twenty to a page" in PLAIN


def test_the_line_above_the_cards_is_printed_as_the_page_has_it() -> None:
    import polars as pl

    index = pl.DataFrame(
        {
            "case": [f"c{n}" for n in range(60)],
            "reader": "r",
            "right": [n < 39 for n in range(60)],
            "flipped": [n < 39 for n in range(60)],
        }
    )
    chosen, strata = browser.choose(index, 12, 7)
    assert f"{len(chosen)} of 60 shown, sampled by seed 7" in PAGE
    assert f"flips and errors first; {'; '.join(strata)}." in PAGE


def test_the_lines_of_compare_are_those_of_the_code() -> None:
    whole = Measure(reader="control:looks", measure="diff_accuracy", family="accuracy", n=60)
    by = {"versus": "control:shortcut"}
    alike = msgspec.structs.replace(whole, by=by, value=0.1, low=0.017, high=0.183, q=0.07)
    apart = msgspec.structs.replace(
        alike, reader="control:always-yes", value=-13 / 60, low=-0.367, high=-0.067, q=0.021
    )
    words = class_of("grounding").words_of("accuracy")
    for record in (apart, alike):
        assert f"\n{comparison_line(record, words, True)}\n" in PAGE
    assert f"q at most {TOLD_APART}" in PLAIN
    assert f"for up to {_LISTED} clusters" in PLAIN


def test_the_page_says_what_a_browser_is_allowed() -> None:
    rules = content_security(served=False)
    assert rules.startswith("default-src 'none';")
    assert "`default-src 'none'`" in PAGE
    assert "`img-src data:`" in PAGE
    assert "img-src data:;" in rules
