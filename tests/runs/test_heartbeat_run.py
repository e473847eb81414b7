"""A run of the heartbeat benchmark as a user makes it: what it asks, keeps, tells and measures."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path

import msgspec
import polars as pl
import pytest

import overread as ov
from overread.benchmarks.registry import class_of
from support.commands import Overread

pytestmark = pytest.mark.usefixtures("no_pages")

ROOT = Path(__file__).parents[1] / "golden" / "heartbeat"
FEW = ("--set", "seeds=2020,2021", "--set", "passes=1", "--set", "boot=500")
CASES = ("--cases", "phantom:12")
RUN = ("run", "heartbeat", *CASES, *FEW)


def measures(folder: str | Path, **about: str) -> list[dict]:
    kept = json.loads(Path(folder, "measures.json").read_text(encoding="utf-8"))["measures"]
    own = {key: about.pop(key) for key in ("reader", "measure") if key in about}
    return [m for m in kept if m | own == m and m["by"] | about == m["by"]]


@pytest.mark.usefixtures("pages")
def test_the_table_the_files_and_what_is_left_out(overread: Overread, workspace: Path) -> None:
    words = ("--set", "frames=18", "--reader", "control:area", "--reader", "control:random")
    done = overread(*RUN, *words, "--out", "r")
    assert done.code == 0, done.err
    names = {path.name for path in Path("r").iterdir()}
    assert names == {
        "run.toml", "cases.parquet", "answers.parquet", "measures.json", "report.html", "left_out.csv",
    }  # fmt: skip
    record = tomllib.loads(Path("r/run.toml").read_text(encoding="utf-8"))
    with Path("r/left_out.csv").open(encoding="utf-8") as file:
        left = list(csv.DictReader(file))
    assert len(left) == record["left_out"] > 0
    assert record["n_cases"] == 12
    assert all("frames apart" in row["reason"] for row in left)
    assert all(row["reason"].endswith("asked in T2 only") for row in left)
    assert f"{len(left)} of 12 are left out, wholly or in part" in done.err
    assert f"{len(left)} of 12 are left out, wholly or in part" in Path("r/report.html").read_text(
        encoding="utf-8"
    )
    cases = pl.read_parquet("r/cases.parquet")
    assert cases["frame_volumes"].null_count() == len(left)
    # Every window has 18 frames, and the prompt's range is what was shown.
    answers = pl.read_parquet("r/answers.parquet").filter(task="t1")
    assert set(answers["count"]) == set(answers["stated"]) == {18}


def test_ef_at_the_named_frames_beside_a_specialist(overread: Overread, workspace: Path) -> None:
    overread(*RUN, "--set", "tasks=t1", "--reader", "control:area", "--out", "r")
    (ours,) = measures("r", measure="ef_mae", context="segmented", format="edv_esv")
    assert ours["value"] < 2
    truth = pl.read_parquet("r/cases.parquet").select("case", "ef")
    off = truth.with_columns(pl.col("ef") + 5)
    off.write_csv("echoclip.csv")
    done = overread("measure", "r", "--set", "specialist=echoclip.csv")
    assert done.code == 0, done.err
    (theirs,) = measures("r", reader="specialist:echoclip")
    assert theirs["value"] == pytest.approx(5)
    assert theirs["n"] == truth.height
    Path("echoclip.csv").write_text("case,ef\nnobody,50\n")
    done = overread("measure", "r", "--set", "specialist=echoclip.csv")
    assert done.code == 2
    assert "names no video" in done.err


def test_measuring_keeps_what_was_shown(overread: Overread, workspace: Path) -> None:
    overread(*RUN, "--set", "tasks=t1", "--reader", "control:length-prior", "--out", "r")
    done = overread("measure", "r", "--edition", "authors")
    assert done.code == 0, done.err
    signature = json.loads(Path("r/measures.json").read_text(encoding="utf-8"))["signature"]
    assert "|window:30|" in signature
    assert signature.endswith("shown:corrected")
    done = overread("measure", "r", "--set", "frames=20")
    assert done.code == 2
    assert "frames=20: it says what readers are shown" in done.err


def test_clips_without_masks_are_asked_in_the_original_context_only(
    overread: Overread, workspace: Path, phantom_cache: Path
) -> None:
    made = ov.runs.phantom_cases("heartbeat", "phantom:12")
    with made.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with Path("bare.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, ["clip", "ed", "es"], extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)
    words = ("--cases", "bare.csv", "--set", f"root={made.parent}", "--reader", "control:area")
    done = overread("plan", "heartbeat", *words, *FEW)
    assert done.code == 0, done.err
    assert "no clip has masks: segmented and non_medical are not asked." in done.err
    done = overread("run", "heartbeat", *words, *FEW, "--out", "r")
    assert "|contexts:original|" in done.out
    assert measures("r", measure="ef_mae") == []


# ---------------------------------------------------------------- importing


def test_the_authors_results_become_a_run_without_any_case(
    overread: Overread, workspace: Path
) -> None:
    replies = ("--replies", str(ROOT / "echo_t1_original"), "--out", "r")
    done = overread("import", "heartbeat", *replies, "--edition", "authors")
    assert done.code == 0, done.err
    expected = json.loads((ROOT / "echo_t1_original" / "expected.json").read_text())
    assert expected
    record = tomllib.loads(Path("r/run.toml").read_text(encoding="utf-8"))
    assert record["imported"] is True
    assert record["cases"] == ""
    signature = record["signature"]
    assert "|tasks:t1|contexts:original|" in signature
    before = Path("r/measures.json").read_bytes()
    overread("measure", "r")
    assert Path("r/measures.json").read_bytes() == before
    # The other edition, and back.
    assert overread("measure", "r", "--edition", "corrected").code == 0
    assert Path("r/measures.json").read_bytes() != before
    overread("measure", "r", "--edition", "authors")
    assert Path("r/measures.json").read_bytes() == before


def test_grounding_cannot_be_imported_without_cases(overread: Overread, workspace: Path) -> None:
    done = overread("import", "grounding", "--replies", ".", "--out", "r")
    assert done.code == 2
    assert "--cases is missing" in done.err


# ---------------------------------------------------------------- the instrument checks itself


def test_selfcheck_recovers_every_control(
    overread: Overread, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {"seeds": "2020", "passes": "1", "boot": "500", "tasks": "t1"}
    heartbeat = class_of("heartbeat")
    few = msgspec.structs.replace(heartbeat.phantoms, size=12, settings=quick)
    monkeypatch.setattr(heartbeat, "phantoms", few)
    (found,) = ov.runs.selfcheck("heartbeat")
    assert {one.control: one.recovered for one in found} == dict.fromkeys(
        ("first-frame", "middle-frame", "random", "order-biased", "length-prior", "area"), True
    )
    by = {one.control: one for one in found}
    assert by["length-prior"].authors == "reads the window's length"
    assert by["length-prior"].found == "no better than a constant"
    assert by["area"].found == "sees the ventricle"


# ---------------------------------------------------------------- pictures


@pytest.mark.usefixtures("pages")
def test_an_open_set_has_strips_of_frames_and_another_only_when_told(
    overread: Overread, workspace: Path
) -> None:
    words = ("--set", "tasks=t1", "--set", "contexts=original", "--reader", "control:area")
    overread(*RUN, *words, "--out", "open")
    page = Path("open/report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") >= 24
    before = Path("open/report.html").read_bytes()
    overread("measure", "open")
    assert Path("open/report.html").read_bytes() == before
    made = ov.runs.phantom_cases("heartbeat", "phantom:12")
    (workspace / "kept").mkdir()
    (workspace / "kept" / "cases.csv").write_bytes(made.read_bytes())
    closed = ("--cases", "kept/cases.csv", "--set", f"root={made.parent}")
    overread("run", "heartbeat", *closed, *FEW, *words, "--out", "closed")
    page = Path("closed/report.html").read_text(encoding="utf-8")
    assert "data:image" not in page
    done = overread("measure", "closed", "--include-images")
    assert done.code == 0, done.err
    page = Path("closed/report.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert "keep it where the data set may be" in page
    overread("measure", "closed")
    assert "data:image" not in Path("closed/report.html").read_text(encoding="utf-8")
    (workspace / "kept" / "cases.csv").unlink()
    done = overread("measure", "closed", "--include-images")
    assert done.code == 2
    assert "--include-images" in done.complaint
