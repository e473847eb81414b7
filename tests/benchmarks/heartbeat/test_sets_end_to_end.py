"""Miniature sets of every layout through the commands, sound and broken, with their exit codes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from support.broken_clips import SPOILT, damage_a_frame, spoil
from support.commands import Done, Overread, overread, phantom_cache, workspace
from support.datasets import write_csv
from support.echo_trees import (
    SIDE,
    Heart,
    beating,
    write_camus,
    write_clips,
    write_dicom,
    write_echonet,
    write_masks,
    write_nifti,
    write_pediatric,
    write_video,
)

__all__ = ["overread", "phantom_cache", "workspace"]

SMALL = (
    *("--set", "seeds=2020", "--set", "passes=1", "--set", "formats=edv_esv", "--set", "boot=100"),
    *("--set", "split=all"),
)
AREA = ("--reader", "control:area")


def run(overread: Overread, cases: Path, *more: str) -> Done:
    return overread("run", "heartbeat", "--cases", cases, *AREA, *SMALL, *more, "--out", "run")


def answers() -> pl.DataFrame:
    return pl.read_parquet("run/answers.parquet")


def left_out() -> dict[str, str]:
    with Path("run/left_out.csv").open(encoding="utf-8") as file:
        return {row[0]: row[1] for row in list(csv.reader(file))[1:]}


# ---------------------------------------------------------------- every layout

HEARTS = [Heart("a", ed=8, es=24), Heart("b", ed=30, es=14), Heart("c", ed=12, es=26)]


def _dicom(root: Path, hearts: list[Heart]) -> Path:
    for heart in hearts:
        write_dicom(root / f"{heart.name}.dcm", beating(heart.frames, heart.ed, heart.es))
    rows = [(f"{heart.name}.dcm", heart.ed, heart.es) for heart in hearts]
    write_csv(root / "cases.csv", ("clip", "ed", "es"), rows)
    return root


def _camus(root: Path, hearts: list[Heart]) -> Path:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    return write_camus(root, [heart._replace(name=f"patient{heart.name}") for heart in hearts])


def _masked(root: Path, hearts: list[Heart]) -> Path:
    rows = []
    for heart in hearts:
        pixels = beating(heart.frames, heart.ed, heart.es)
        write_video(root / f"{heart.name}.avi", pixels)
        write_masks(root / f"{heart.name}.npz", pixels[..., 0] > 100)
        rows.append((f"{heart.name}.avi", heart.ed, heart.es, f"{heart.name}.npz"))
    write_csv(root / "cases.csv", ("clip", "ed", "es", "mask"), rows)
    return root


LAYOUTS: dict[str, tuple[Callable[[Path, list[Heart]], Path], set[str]]] = {
    "EchoNet-Dynamic": (write_echonet, {"original"}),
    "EchoNet-Pediatric": (write_pediatric, {"original"}),
    "CAMUS": (_camus, {"original", "segmented", "non_medical"}),
    "DICOM": (_dicom, {"original"}),
    "clips with masks": (_masked, {"original", "segmented", "non_medical"}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_set_is_planned_and_run(overread: Overread, workspace: Path, layout: str) -> None:
    write, contexts = LAYOUTS[layout]
    root = write(workspace / "set", HEARTS)
    planned = overread("plan", "heartbeat", "--cases", root, *AREA, *SMALL)
    assert planned.code == 0
    trials = len(HEARTS) * len(contexts) * 3  # T1 once, T2 of either phase
    assert any(line.split()[1:2] == [str(trials)] for line in planned.out.splitlines())
    assert run(overread, root).code == 0
    found = answers()
    assert found["outcome"].unique().to_list() == ["answered"]
    assert (found.height, set(found["context"])) == (trials, contexts)
    cases = pl.read_parquet("run/cases.parquet").sort("case")
    phases = [(heart.ed, heart.es, heart.frames) for heart in HEARTS]
    assert cases.select("ed", "es", "frames").rows() == phases
    # Under the overlay it names a frame whose disc is as large, or as small, as the phase's own.
    hearts = dict(zip(cases["case"], HEARTS, strict=True))
    for row in found.filter(pl.col("context") != "original", task="t1").iter_rows(named=True):
        heart = hearts[row["case"]]
        areas = (beating(heart.frames, heart.ed, heart.es)[..., 0] > 100).sum(axis=(1, 2))
        if heart.ed < heart.es:  # else it may name the fall before, which the window shows in part
            assert areas[row["start"] + row["pred_ed"]] == areas[heart.ed]
            assert areas[row["start"] + row["pred_es"]] == areas[heart.es]


# ---------------------------------------------------------------- broken ones among them

TRACED = {
    "beyond": (((10, 12.0), (60, 9.0)), "beyond the end"),
    "below": (((-3, 12.0), (20, 9.0)), "frame -3; frames are counted from 0"),
    "three": (((10, 12.0), (20, 9.0), (30, 8.0)), "3 frames are traced (10, 20, 30)"),
    "one": (((10, 12.0),), "1 frame is traced"),
    "none": ((), "no frame is traced"),
    "equal": (((10, 12.0), (20, 12.0)), "have equal volumes"),
    "number": (((10, float("nan")), (20, 9.0)), "lacks a number"),
}


def test_broken_clips_are_left_out_and_the_others_asked(
    overread: Overread, workspace: Path
) -> None:
    spoilt = [Heart(how.replace(" ", "-")) for how in SPOILT]
    traced = [Heart(name, traced=rows) for name, (rows, _) in TRACED.items()]
    root = write_echonet(workspace / "set", [*spoilt, *HEARTS, *traced])
    for how in SPOILT:
        spoil(root / "Videos" / f"{how.replace(' ', '-')}.avi", how)
    done = run(overread, root)
    assert done.code == 0
    assert "Traceback" not in done.err
    assert set(answers()["case"]) == {"a", "b", "c"}
    said = left_out()
    assert len(said) == len(SPOILT) + len(TRACED)
    assert all(why in said[how.replace(" ", "-")] for how, (_, why) in SPOILT.items())
    assert all(why in said[name] for name, (_, why) in TRACED.items())
    assert any(f"{len(said)} of {len(said) + 3} are left out" in x for x in done.err.splitlines())


@pytest.mark.parametrize("how", ["text", "empty", "half", "gone", "huge frame"])
def test_a_set_of_which_nothing_is_left_is_refused(
    overread: Overread, workspace: Path, how: str
) -> None:
    path = write_clips(workspace / "set", [Heart("a")])
    spoil(workspace / "set" / "clips" / "a.avi", how)
    done = run(overread, path)
    assert done.code == 2
    assert "no clip can be asked about, 1 are left out" in done.complaint
    assert SPOILT[how][1] in done.complaint
    assert not Path("run").exists()


def test_broken_lists_are_refused(overread: Overread, workspace: Path) -> None:
    root = write_echonet(workspace / "set", [Heart("a")])
    listed = (root / "FileList.csv").read_text()
    for text, why in (
        (listed.replace("Split", "Part"), "FileList.csv has no column Split"),
        (listed + listed.splitlines()[1] + "\n", 'FileName "a" stands in row 2 already'),
        (listed.replace(",60,VAL", ",many,VAL"), 'row 2: NumberOfFrames is "many"'),
    ):
        (root / "FileList.csv").write_text(text)
        done = run(overread, root)
        assert done.code == 2
        assert why in done.complaint


def test_masks_that_do_not_go_with_their_clips(overread: Overread, workspace: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    root = _camus(workspace / "set", HEARTS)
    for name, shape in (("a", (SIDE, SIDE - 4, 20)), ("b", (16, 14, 60))):
        home = root / "database_nifti" / f"patient{name}"
        write_nifti(home / f"patient{name}_4CH_half_sequence_gt.nii.gz", np.zeros(shape))
    assert run(overread, root).code == 0
    assert set(answers()["case"]) == {"patientc_4CH"}
    said = left_out()
    assert "are of 20 frames and it has 60" in said["patienta_4CH"]
    assert "are 16 x 14 and its frames 32 x 28" in said["patientb_4CH"]


def test_damage_that_is_met_on_the_way_is_unanswered_with_its_reason(
    overread: Overread, workspace: Path
) -> None:
    """Every packet is there and one is zeros: opening finds nothing, decoding does."""
    path = write_clips(workspace / "set", HEARTS)
    damage_a_frame(workspace / "set" / "clips" / "a.avi", 15, "avi")
    done = run(overread, path)
    assert done.code == 3
    assert "Traceback" not in done.err
    found = answers()
    assert set(found.filter(pl.col("case") != "clips/a")["outcome"]) == {"answered"}
    bad = found.filter(case="clips/a", task="t1")
    assert bad["outcome"].to_list() == ["unanswered"]
    assert bad["pred_ed"].to_list() == [None]
    assert any("clips/a.avi: damaged or cut short" in str(cell) for cell in bad.row(0))
