"""`overread published`: the papers' figures, what is wrong with them, and a run beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overread.published import figures, inconsistencies
from overread.runs import measure
from support.commands import Overread, tree

HEADLINE = ("published", "grounding")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    import overread as ov

    place = tmp_path_factory.mktemp("ran")
    readers = ["control:looks", "control:always-yes"]
    done = ov.run(
        "grounding", "phantom:16", readers, out=place / "run", store=place / "store.sqlite", limit=6
    )
    return done.folder


def row(out: str, reader: str) -> str:
    (line,) = (line for line in out.splitlines() if line.startswith(f"{reader} "))
    return line


def test_without_a_benchmark_those_with_figures_are_listed(overread: Overread) -> None:
    done = overread("published")
    assert done.code == 0
    assert "arXiv 2606.17710v2" in row(done.out, "grounding")
    assert json.loads(overread("published", "--json").out) == ["grounding"]


def test_the_headline_is_laid_out_like_our_summary(overread: Overread) -> None:
    done = overread(*HEADLINE)
    assert (done.code, done.err) == (0, "")
    gemma = row(done.out, "Gemma-4-26B")
    for cell in ("uses image", "66.2 [64.4, 68.0] n=2571", "33.2 [28.7, 38.1] n=370", "+29.2"):
        assert cell in gemma
    for system in figures("grounding").systems:
        assert system.category in row(done.out, system.name)
    assert "radiologist" not in done.out
    assert done.out.splitlines()[-1].startswith("printed in arXiv 2606.17710v2")


def test_flags_stand_beside_their_rows(overread: Overread) -> None:
    out = overread(*HEADLINE).out
    notes = [line for line in out.splitlines() if line.startswith("[")]
    own = [flag for flag in inconsistencies("grounding") if "1" in flag.tables]
    assert notes == [f"[{number}] {flag}" for number, flag in enumerate(own, 1)]
    for number, flag in enumerate(own, 1):
        marks = row(out, flag.reader).rstrip().split("  ")[-1].strip().split(", ")
        assert str(number) in marks
    assert f"{len(inconsistencies('grounding')) - len(own)} more flags concern other tables" in out


@pytest.mark.parametrize("name", figures("grounding").tables)
def test_every_table_can_be_printed(overread: Overread, name: str) -> None:
    done = overread(*HEADLINE, "--table", name)
    assert (done.code, done.err) == (0, "")
    assert "printed in arXiv 2606.17710v2" in done.out


def test_a_machine_gets_records_like_those_of_a_run(overread: Overread) -> None:
    found = json.loads(overread(*HEADLINE, "--json").out)
    assert found["cite"] == "arXiv 2606.17710v2"
    assert len(found["measures"]) == len(figures("grounding").index)
    assert len(found["flags"]) == len(inconsistencies("grounding"))
    (cgr,) = (
        record
        for record in found["measures"]
        if (record["reader"], record["measure"], record["by"]) == ("GPT-5", "cgr", {})
    )
    assert (cgr["value"], cgr["n"], cgr["table"]) == (0.245, 359, "1")
    part = json.loads(overread(*HEADLINE, "--table", "S5", "--json").out)
    assert {record["table"] for record in part["measures"]} == {"S5"}
    assert all("S5" in flag["tables"] for flag in part["flags"])


def test_the_help_has_an_example(overread: Overread) -> None:
    assert "Example: overread published" in overread("published", "--help").out


# ---------------------------------------------------------------- a run beside the paper


def test_a_runs_readers_stand_in_the_same_table(overread: Overread, ran: Path) -> None:
    before = tree(ran)
    done = overread(*HEADLINE, "--beside", ran)
    assert done.code == 0
    assert "n=" in row(done.out, f"control:looks ({ran})")
    assert f"{ran}: grounding|edition:corrected|" in done.out
    assert f"{ran}, edition corrected: not comparable with the printed rows: accuracy" in done.out
    assert f"`overread measure {ran} --edition authors` gives the authors' definitions" in done.out
    assert f"{ran} has 6 cases, not the paper's 2,575" in done.out
    assert tree(ran) == before


def test_under_the_authors_edition_only_the_cases_differ(overread: Overread, ran: Path) -> None:
    measure(ran, edition="authors")
    out = overread(*HEADLINE, "--beside", ran).out
    measure(ran, edition="corrected")
    assert f"{ran}, edition authors: the definitions of the authors' code" in out
    assert "not comparable with" not in out
    assert "not the paper's 2,575" in out


def test_a_machine_is_told_edition_and_signature(overread: Overread, ran: Path) -> None:
    (beside,) = json.loads(overread(*HEADLINE, "--beside", ran, "--json").out)["beside"]
    assert beside["run"] == str(ran)
    assert beside["edition"] == "corrected"
    assert beside["signature"].startswith("grounding|edition:corrected|")
    assert {record["reader"] for record in beside["measures"]} >= {"control:looks"}


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("published", "frob"), 'benchmark is "frob"; printed figures are kept of grounding.'),
        ((*HEADLINE, "--table", "7"), "--table 7: arXiv 2606.17710v2 has none"),
        ((*HEADLINE, "--beside", "nowhere"), "nowhere: not a run folder"),
        (("published", "--table", "1"), "name a benchmark"),
        (("published", "--beside", "nowhere"), "name a benchmark"),
        ((*HEADLINE, "--table", "1", "--beside", "nowhere"), "Leave --table out."),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(
    overread: Overread, words: tuple[str, ...], said: str
) -> None:
    done = overread(*words)
    assert done.code == 2
    assert said in done.complaint


def test_a_run_is_put_there_once(overread: Overread, ran: Path) -> None:
    done = overread(*HEADLINE, "--beside", ran, "--beside", ran)
    assert done.code == 2
    assert "is given twice" in done.complaint


def test_a_run_of_something_else_does_not_belong_there(
    overread: Overread, ran: Path, workspace: Path
) -> None:
    record = (ran / "run.toml").read_text(encoding="utf-8")
    (workspace / "other").mkdir()
    text = record.replace('benchmark = "grounding"', 'benchmark = "medcmr"')
    (workspace / "other" / "run.toml").write_text(text, encoding="utf-8")
    done = overread(*HEADLINE, "--beside", "other")
    assert done.code == 2
    assert "--beside other: it is a run of medcmr, not of grounding." in done.complaint
