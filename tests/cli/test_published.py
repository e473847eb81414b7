"""`overread published`: the papers' figures, what is wrong with them, and a run beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overread.published import BENCHMARKS, figures, inconsistencies
from overread.runs import measure
from support.commands import Overread, tree

pytestmark = pytest.mark.usefixtures("no_pages")

HEADLINE = ("published", "grounding", "--wide")
HEARTBEAT = ("published", "heartbeat", "--wide")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    import overread as ov

    place = tmp_path_factory.mktemp("ran")
    readers = ["control:looks", "control:always-yes"]
    done = ov.run(
        "grounding", "phantom:16", readers, out=place / "run", store=place / "store.sqlite", limit=6
    )
    return done.folder


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """A small run of heartbeat: one context, few questions."""
    import overread as ov

    place = tmp_path_factory.mktemp("followed")
    done = ov.run(
        "heartbeat",
        "phantom:4",
        ["control:area", "control:random"],
        out=place / "run",
        store=place / "store.sqlite",
        settings={"seeds": "2020", "passes": "1", "contexts": "original"},
    )
    return done.folder


def row(out: str, reader: str) -> str:
    (line,) = (line for line in out.splitlines() if line.startswith(f"{reader} "))
    return line


def test_without_a_benchmark_those_with_figures_are_listed(overread: Overread) -> None:
    done = overread("published", "--wide")
    assert done.code == 0
    assert "arXiv 2606.17710v2" in row(done.out, "grounding")
    assert "MIDL 2026" in row(done.out, "heartbeat")
    assert json.loads(overread("published", "--json").out) == list(BENCHMARKS)
    assert BENCHMARKS == ("grounding", "heartbeat", "m3cot", "medcmr")


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


@pytest.mark.parametrize(
    ("benchmark", "name"), [(one, name) for one in BENCHMARKS for name in figures(one).tables]
)
def test_every_table_can_be_printed(overread: Overread, benchmark: str, name: str) -> None:
    done = overread("published", benchmark, "--table", name)
    assert (done.code, done.err) == (0, "")
    assert f"printed in {figures(benchmark).cite}" in done.out


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


# ---------------------------------------------------------------- heartbeat


def test_contexts_stand_beside_each_other(overread: Overread) -> None:
    done = overread(*HEARTBEAT)
    assert (done.code, done.err) == (0, "")
    guesses, coin = (line for line in done.out.splitlines() if line.startswith("Random "))
    assert guesses.split()[1:7] == ["11.87"] * 3 + ["11.62"] * 3
    assert coin.split()[1:] == ["0.5"] * 6
    frames, following = (line for line in done.out.splitlines() if line.startswith("Gemma-3n esv "))
    assert frames.split()[2:8] == ["-", "-", "-", "4.34", "6.08", "2.88"]
    assert following.split()[5:8] == ["0.57", "0.65", "0.67"]
    assert "8.54" in row(done.out, "EchoCLIP")
    accuracies = row(done.out, "Gemma-3n  ").split()
    assert accuracies[1:7] == ["0.514", "0.514", "0.486", "0.514", "0.514", "0.514"]
    assert done.out.splitlines()[-1].startswith("printed in Liu et al., MIDL 2026")


def test_the_rows_bear_the_numbers_of_their_flags(overread: Overread) -> None:
    lines = overread(*HEARTBEAT).out.splitlines()
    flags = inconsistencies("heartbeat")
    assert [line for line in lines if line.startswith("[")] == [
        f"[{number}] {flag}" for number, flag in enumerate(flags, 1)
    ]
    first = next(line for line in lines if line.startswith("LLaVA-Interleave edv "))
    marks = [str(n) for n, flag in enumerate(flags, 1) if flag.reader == "LLaVA-Interleave"]
    assert first.rstrip().endswith(", ".join(marks))
    assert any(line.startswith("--table takes 1, 2, 3, 4, 5, 6, 7, text") for line in lines)


def test_a_run_of_clips_stands_below_the_paper(overread: Overread, followed: Path) -> None:
    before = tree(followed)
    done = overread(*HEARTBEAT, "--beside", followed)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    mine = [line for line in lines if line.startswith(f"control:area ({followed})")]
    assert len(mine) == 4 + 1 + 4  # formats, T2, formats
    assert all("n/a" in line for line in mine)  # two contexts were not asked for
    assert "100.0 %" in mine[0]
    assert [line for line in lines if line.startswith(f"Random ({followed})")]
    assert f"{followed}: heartbeat|edition:corrected|" in done.out
    assert f"{followed}, edition corrected: not comparable with the printed rows: MAE" in done.out
    assert "`overread run heartbeat --edition authors` shows the authors' windows" in done.out
    assert f"{followed} has 4 cases, not the paper's 100" in done.out
    assert tree(followed) == before


def test_its_numbers_are_those_of_its_measures(overread: Overread, followed: Path) -> None:
    out = overread(*HEARTBEAT, "--beside", followed).out
    found = json.loads((followed / "measures.json").read_text(encoding="utf-8"))["measures"]
    by = {"task": "t1", "context": "original", "format": "edv_esv"}
    lines = [
        line for line in out.splitlines() if line.startswith(f"control:random ({followed}) edv_esv")
    ]
    frames, following = (line.removeprefix(f"control:random ({followed}) ") for line in lines)

    def value(measure: str, **more: str) -> str:
        (record,) = (
            record
            for record in found
            if (record["reader"], record["measure"]) == ("control:random", measure)
            and record["by"] == by | more
        )
        return "n/a" if record["value"] is None else f"{record['value']:,.2f}"

    assert frames.split()[1::3][:2] == [value("mae", phase="ed"), value("mae", phase="es")]
    r2_and_ef = [value("r2", phase="ed"), value("r2", phase="es"), value("ef_mae")]
    assert following.split()[1::3][:3] == r2_and_ef


def test_measuring_again_does_not_change_what_was_shown(overread: Overread, followed: Path) -> None:
    measure(followed, edition="authors")
    out = overread(*HEARTBEAT, "--beside", followed).out
    measure(followed, edition="corrected")
    assert f"{followed}, edition authors: the definitions of the authors' code" in out
    assert "The frames shown stay those of the run" in out


def test_a_machine_gets_both_spreads(overread: Overread) -> None:
    found = json.loads(overread(*HEARTBEAT, "--json").out)
    assert len(found["measures"]) == len(figures("heartbeat").index)
    by = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}
    own = {
        record["measure"]: record
        for record in found["measures"]
        if (record["reader"], record["by"]) == ("LLaVA-Interleave", by)
    }
    assert (own["mae"]["sd_seeds"], own["mae"]["table"]) == (23615.93, "1")
    assert (own["mae_videos"]["sd_videos"], own["mae_videos"]["cell"]) == (73700, "7.46e3 ± 7.37e4")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_runs_of_one_benchmark_are_not_put_beside_another(
    overread: Overread, ran: Path, followed: Path, benchmark: str
) -> None:
    other, of = (followed, "heartbeat") if benchmark == "grounding" else (ran, "grounding")
    done = overread("published", benchmark, "--beside", other)
    assert done.code == 2
    assert f"--beside {other}: it is a run of {of}, not of {benchmark}." in done.complaint


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("published", "frob"),
            'benchmark is "frob"; printed figures are kept of grounding, heartbeat, m3cot, medcmr.',
        ),
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


# ---------------------------------------------------------------- medcmr


def test_the_two_scores_that_do_not_add_up_are_marked(overread: Overread) -> None:
    done = overread("published", "medcmr", "--wide")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    own = [line for line in lines if "S is not the weighted mean of its four parts" in line]
    assert [line.split(":")[0].rsplit(", ")[-1] for line in own] == [
        "Gemini-2.5-Pro",
        "Qwen3-VL-32B",
    ]
    tables = [line.split()[1:] for line in lines if line.startswith("GPT-5 ")]
    assert [" ".join(row) for row in tables] == [
        "66.08 71.45 62.06 58.33 60.30 55.19 69.00 57.81 97.77 88.86 40.45 34.65 48.70",
        "65.42 53.44 63.66 61.11 64.61 57.39",
    ]


def test_a_run_of_vignettes_stands_below_the_paper(
    overread: Overread, tmp_path: Path, phantom_cache: Path
) -> None:
    import overread as ov

    place = tmp_path / "run"
    ov.run("medcmr", "phantom:28", ["control:oracle"], out=place, store=tmp_path / "store.sqlite")
    done = overread("published", "medcmr", "--wide", "--beside", place)
    assert (done.code, done.err) == (0, "")
    mine = [line for line in done.out.splitlines() if line.startswith(f"control:oracle ({place})")]
    assert [line.removeprefix(f"control:oracle ({place})").split() for line in mine] == [
        ["100.00"] * 8 + ["n/a"] * 5,  # nobody judged
        ["100.00"] * 6,
    ]
    assert f"{place} has 28 cases, not the paper's 20,653" in done.out
