"""`overread build grounding`: what it prints, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overread.cli import build as command
from support import datasets
from support.commands import Overread, tree

BUILD = ("build", "grounding")


@pytest.fixture
def own(workspace: Path) -> Path:
    return datasets.write_folder(workspace / "ward")


def test_it_ends_with_the_table_what_was_left_out_and_the_next_command(
    overread: Overread, own: Path
) -> None:
    done = overread(*BUILD, "--folder", own, "--out", "set")
    assert done.code == 0, done
    assert "cases have a box to mask, and a category needs 100. Of " in done.err
    lines = done.out.splitlines()
    assert lines[0] == "What the set is made of"
    assert "What was left out" in lines
    assert lines[-2] == "set/manifest.csv"
    assert lines[-1].startswith("Next: overread run grounding --cases set --reader ")
    words = {line.split()[0]: line.split() for line in lines if line.startswith("all ")}
    assert int(words["all"][-1]) == Path("set/manifest.csv").read_bytes().count(b"\n") - 1


def test_json_for_a_machine(overread: Overread, own: Path) -> None:
    done = overread(*BUILD, "--folder", own, "--out", "set", "--policy", "open", "--json")
    told = json.loads(done.out)
    assert (told["name"], told["policy"], told["folder"]) == ("films", "open", "set")
    assert told["facts"]["cases"] == sum(r["positive"] + r["negative"] for r in told["strata"])
    assert "declares no policy" in done.err


def test_it_says_unasked_what_the_cases_can_show_as_plan_does(
    overread: Overread, own: Path
) -> None:
    built = overread(*BUILD, "--folder", own, "--out", "set", "--policy", "open")
    reader = ("--reader", "control:looks")
    planned = overread("plan", "grounding", "--cases", "set", *reader)
    said = built.out[built.out.index("What these cases can show") :].split("\n\n")[0]
    assert said in planned.out
    assert "with 80 % power" in said
    assert "CGR" in said
    assert "Every model's category will be `insufficient`: " in said
    asked = overread("plan", "grounding", "--cases", "set", *reader, "--json")
    machine = overread(*BUILD, "--folder", own, "--out", "again", "--policy", "open", "--json")
    assert json.loads(machine.out)["reach"] == json.loads(asked.out)[0]["reach"]


def test_a_long_list_of_exclusions_is_cut_on_the_screen_only(
    overread: Overread, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_SHOWN", 0)
    done = overread(*BUILD, "--folder", own, "--out", "set")
    assert "lines more: set/exclusions.csv." in done.out
    assert len(Path("set/exclusions.csv").read_text("utf-8").splitlines()) > 1


def test_columns_of_another_name(overread: Overread, own: Path) -> None:
    text = own.read_text("utf-8").replace("image,finding,label", "file,what,truth", 1)
    own.write_text(text, "utf-8")
    columns = [
        word for c in ("image=file", "finding=what", "label=truth") for word in ("--column", c)
    ]
    done = overread(*BUILD, "--folder", own, *columns, "--out", "set")
    assert done.code == 0, done
    refused = overread(*BUILD, "--folder", own, "--out", "second")
    assert "has no column image" in refused.complaint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build",), "benchmark"),
        (("build", "m3cot", "--out", "set"), '"m3cot" has no builder'),
        ((*BUILD, "--nih", "x"), "--out is missing"),
        ((*BUILD, "--out", "set"), "Give one of --mimic"),
        ((*BUILD, "--nih", "x", "--rsna", "y", "--out", "set"), "two sets"),
        ((*BUILD, "--nih", "nowhere", "--out", "set"), "nowhere is not a folder"),
        ((*BUILD, "--nih", "ward", "--out", "set"), "has no Data_Entry_2017"),
        ((*BUILD, "--mimic", "ward", "--out", "set"), "patients.csv"),
        ((*BUILD, "--master-list", "no.csv", "--out", "set"), "no.csv: there is no such file"),
        ((*BUILD, "--master-list", "ward/films.csv", "--out", "set"), "has no column"),
        ((*BUILD, "--folder", "ward/films.csv", "--out", "ward"), "not empty"),
        ((*BUILD, "--folder", "ward/films.csv", "--out", "ward/films.csv"), "a file stands there"),
        (
            (*BUILD, "--folder", "ward/films.csv", "--out", "set", "--column", "label"),
            "OURS=THEIRS",
        ),
        (
            (*BUILD, "--folder", "ward/films.csv", "--out", "set", *("--column", "label=a") * 2),
            "given twice",
        ),
        ((*BUILD, "--folder", "ward/films.csv", "--out", "set", "--images", "no"), "no is not a f"),
        ((*BUILD, "--folder", "ward/films.csv", "--out", "set", "--no-images"), "--no-images"),
        ((*BUILD, "--folder", "ward/films.csv", "--out", "set", "--matched", "99"), "--matched 99"),
        ((*BUILD, "--folder", "ward/films.csv", "--out", "set", "--seed", "x"), "--seed"),
        (
            (*BUILD, "--folder", "ward/films.csv", "--out", "set", "--edition", "x"),
            'edition is "x"',
        ),
        ((*BUILD, "--folder", "ward/films.csv", "--out", "set", "--policy", "x"), "--policy x"),
    ],
)
def test_whatever_is_wrong_is_one_line_and_nothing_is_written(
    overread: Overread, own: Path, workspace: Path, words: tuple[str, ...], said: str
) -> None:
    before = tree(workspace)
    done = overread(*words)
    assert done.code == 2, done
    assert said in done.complaint
    after = {row for row in tree(workspace) ^ before if not Path(row[0]).is_dir()}
    assert after == set()


def test_a_missing_image_names_the_first_and_how_many(overread: Overread, own: Path) -> None:
    (own.parent / "films" / "0000.png").unlink()
    refused = overread(*BUILD, "--folder", own, "--out", "set")
    assert "films/0000.png" in refused.complaint
    assert not Path("set").exists()
    done = overread(*BUILD, "--folder", own, "--out", "set", "--skip-missing")
    assert done.code == 0
    assert "the image is not there" in done.out
