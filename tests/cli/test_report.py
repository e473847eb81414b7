"""`overread report`: where the page went, or one line why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from overread.runs import run
from support.commands import Overread, tree


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    place = tmp_path_factory.mktemp("reported")
    run(
        "grounding",
        "phantom:48",
        ["control:looks"],
        settings={"boot": "200"},
        store=place / "store.sqlite",
        out=place / "run",
    )
    return place / "run"


@pytest.fixture
def folder(kept: Path, workspace: Path) -> Path:
    shutil.copytree(kept, workspace / "a")
    return Path("a")


def test_it_ends_with_the_page(overread: Overread, folder: Path) -> None:
    done = overread("report", folder, "--cases", 2, "--csv", "c", "--latex", "l")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[-1] == "a/report.html"
    assert [line.partition(":")[0] for line in lines[:-1]] == ["csv", "latex"]
    assert lines[0] == f"csv: {len([*Path('c').iterdir()])} files in c"


def test_records_for_others_have_every_number_of_a_reader(overread: Overread, folder: Path) -> None:
    assert overread("report", folder, "--cases", 0, "--eee", "e").code == 0
    (path,) = Path("e").glob("*.json")
    held = json.loads(path.read_text())
    by_name = {one["evaluation_result_id"]: one for one in held["evaluation_results"]}
    kept = json.loads((folder / "measures.json").read_text("utf-8"))["measures"]
    numbers = [one for one in kept if one["value"] is not None and "versus" not in one["by"]]
    assert len(by_name) == len(numbers)
    error = by_name["grounding/brier"]["metric_config"]
    assert (error["lower_is_better"], error["max_score"]) == (True, 1)
    first = path.read_bytes()
    overread("report", folder, "--cases", 0, "--eee", "e")
    assert path.read_bytes() == first


def test_json_has_the_measures_and_the_files(overread: Overread, folder: Path) -> None:
    done = overread("report", folder, "--out", "p.html", "--cases", 2, "--latex", "l", "--json")
    found = json.loads(done.out)
    assert found["page"] == "p.html"
    assert found["cards"] == [[2, 48]]
    assert {Path(name) for name in found["files"]["latex"]} == {*Path("l").iterdir()}
    (one,) = found["runs"]
    kept = json.loads((folder / "measures.json").read_text("utf-8"))
    assert one["measures"] == kept["measures"]
    assert (one["edition"], one["signature"]) == (kept["edition"], kept["signature"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere",), "nowhere: not a run folder"),
        (("a", "a"), "a: the run is given twice"),
        (("a", "--out", "note.txt"), "--out note.txt: another file stands there"),
        (("a", "--cases", "-3"), "--cases -3: it must be from 0 to"),
        (("a", "--csv", "x", "--latex", "x"), "--csv and --latex name the same folder"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_written(
    overread: Overread, folder: Path, words: tuple[str, ...], says: str
) -> None:
    Path("note.txt").write_text("mine")
    before = tree(Path())
    done = overread("report", *words)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before
