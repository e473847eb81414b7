"""`overread compare`: a table, a sentence for each pair, or one line why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from overread.runs import run
from support.commands import Overread, tree

pytestmark = pytest.mark.usefixtures("no_pages")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    place = tmp_path_factory.mktemp("compared")
    for name, readers in (("pair", ["control:looks", "control:prior"]), ("one", ["control:looks"])):
        run(
            "grounding",
            "phantom:48",
            readers,
            settings={"boot": "200"},
            store=place / "store.sqlite",
            out=place / name,
        )
    return place


@pytest.fixture
def pair(kept: Path, workspace: Path) -> Path:
    for name in ("pair", "one"):
        shutil.copytree(kept / name, workspace / name)
    return Path("pair")


def test_the_terminal_has_the_table_and_a_line_for_each_pair(
    overread: Overread, pair: Path
) -> None:
    before = tree(Path())
    done = overread("compare", pair, "--measure", "accuracy")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "grounding, edition corrected+boot=200: models compared"
    assert lines[-1].startswith("control:looks is right on ")
    assert "of the same 48 cases than control:prior (95 % " in lines[-1]
    assert any(line.startswith("grounding|edition:corrected+boot=200|") for line in lines)
    assert tree(Path()) == before


def test_json_has_every_number(overread: Overread, pair: Path) -> None:
    done = overread("compare", pair, "one", "--json")
    (found,) = json.loads(done.out)["found"]
    assert found["readers"] == ["control:looks (pair)", "control:prior", "control:looks (one)"]
    assert len(found["differences"]) == len(found["lines"]) == 12
    first = found["differences"][0]
    assert first["measure"] == "diff_accuracy"
    assert first["low"] < first["value"] < first["high"]
    assert first["q"] is not None
    assert [run["folder"] for run in found["runs"]] == ["pair", "one"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere",), "nowhere: not a run folder"),
        (("pair", "pair"), "pair: the run is given twice"),
        (("one",), "there are no two readers to compare"),
        (("pair", "--reader", "someone"), '--reader "someone" is not in these runs; there are'),
        (("pair", "--measure", "speed"), "there are accuracy, cgr, uar, is"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    overread: Overread, pair: Path, words: tuple[str, ...], says: str
) -> None:
    before = tree(Path())
    done = overread("compare", *words)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before


def test_a_margin_says_who_is_not_worse(overread: Overread, pair: Path) -> None:
    done = overread("compare", pair, "one", "--measure", "accuracy", "--margin", "0.1", "--json")
    (found,) = json.loads(done.out)["found"]
    assert found["margin"] == 0.1
    by = {(one["reader"], one["by"]["versus"]): one["flags"] for one in found["differences"]}
    assert by["control:looks (pair)", "control:looks (one)"] == ["not_inferior", "equivalent"]
    assert by["control:looks (pair)", "control:prior"] == ["not_inferior"]
    assert by["control:prior", "control:looks (one)"] == ["inferior"]
    done = overread("compare", pair, "one", "--measure", "accuracy", "--margin", "0.1")
    said = done.out.splitlines()
    assert said[-2].endswith(
        "control:looks (pair) and control:looks (one) are equivalent in accuracy within 10.0 points."
    )
    assert any("margin 0.1" in line for line in said)


@pytest.mark.parametrize("margin", ["0", "-0.1", "nan", "5"])
def test_a_bad_margin_is_one_line(overread: Overread, pair: Path, margin: str) -> None:
    done = overread("compare", pair, f"--margin={margin}")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert f"--margin {margin}" in done.err
