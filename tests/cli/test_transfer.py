"""`overread transfer`: two runs on one page, as a table, as JSON and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import Overread, tree
from support.kept_runs import kept_run

RATES = {
    "a": {"uar": 0.9, "accuracy": 0.6},
    "b [x] {y}": {"uar": 0.8, "accuracy": 0.7},
    "c": {"uar": 0.7, "accuracy": None},
}


@pytest.fixture
def runs(workspace: Path) -> tuple[Path, Path]:
    kept_run(workspace / "here", RATES)
    kept_run(workspace / "there", {name: {**own, "accuracy": 0.5} for name, own in RATES.items()})
    return Path("here"), Path("there")


def test_the_table(overread: Overread, runs: tuple[Path, Path]) -> None:
    done = overread("transfer", *runs, "--wide")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "Do the numbers hold on other cases?"
    assert lines[1].split() == ["model", "measure", "here@0", "there@0"]
    assert any(line.startswith("b [x] {y}") and "80.0 [0.0, 100.0] n=100" in line for line in lines)
    assert any(line.startswith("c ") and "accuracy" in line and "n/a" in line for line in lines)
    assert "uar over all models (n=3): Spearman 1.000, p 0.3333 (exact)." in lines
    assert "accuracy over all models (n=2): no rank correlation;" in done.out
    assert lines[-2:] == [
        f"grounding|edition:corrected|cases:100@{name}" for name in ("here", "there")
    ]


def test_a_machine_gets_the_same(overread: Overread, runs: tuple[Path, Path]) -> None:
    found = json.loads(overread("transfer", *runs, "--json").out)
    assert (found["first"], found["second"], found["edition"]) == ("here", "there", "corrected")
    assert len(found["pairs"]) == 6
    (uar,) = (record for record in found["correlations"] if record["by"]["of"] == "uar")
    assert uar["value"] == 1


def test_nothing_is_written_unless_asked_for(overread: Overread, runs: tuple[Path, Path]) -> None:
    before = tree(Path())
    overread("transfer", *runs)
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("suffix", "starts"), [("svg", b"<svg"), ("json", b"{"), ("csv", b"reader")]
)
def test_the_drawing(
    overread: Overread, runs: tuple[Path, Path], suffix: str, starts: bytes
) -> None:
    done = overread("transfer", *runs, "--figure", f"uar.{suffix}")
    assert (done.code, done.err) == (0, "")
    drawn = Path(f"uar.{suffix}").read_bytes()
    assert drawn.lstrip().startswith(starts)
    if suffix == "csv":
        assert len(drawn.splitlines()) == 1 + len(RATES)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("here",), "second"),
        (("here", "nowhere"), "nowhere"),
        (("here", "theirs"), "here stands under corrected, theirs under authors"),
        (("here", "strangers"), "here and strangers have no reader in common by name"),
        (("here", "other"), "other is a run of medcmr; transfer takes grounding runs"),
        (("here", "there", "--figure", "uar.bmp"), "uar.bmp: a figure is saved as .svg"),
        (("here", "there", "--figure", "no/uar.svg"), "there is no folder no"),
    ],
)
def test_what_cannot_be_compared(
    overread: Overread, runs: tuple[Path, Path], words: tuple[str, ...], says: str
) -> None:
    kept_run(Path("theirs"), RATES, edition="authors")
    kept_run(Path("strangers"), {"z": RATES["a"]})
    kept_run(Path("other"), RATES, benchmark="medcmr")
    before = tree(Path())
    done = overread("transfer", *words)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before
