"""Sheets for people are written whole or not at all, beside whatever else is there."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import overread.report
from overread.benchmarks.medcmr import people_sheets
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS
from overread.case import BadInput
from overread.runs import error_sample, measure, rank_sample, run
from overread.runs._judge import ErrorSample, RankSample
from support.commands import tree
from support.medcmr_sets import item, mcq, write_release

READERS = ("control:letter-a", "control:format-breaker")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody judged."""
    place = tmp_path_factory.mktemp("kept")
    cases = write_release(place / "set", [mcq(n) for n in range(21)], [item(n) for n in range(7)])
    store, out = place / "store.sqlite", place / "run"
    return run("medcmr", cases, READERS, settings={"boot": "100"}, store=store, out=out).folder


def test_the_errors_are_counted(kept: Path, tmp_path: Path) -> None:
    made = error_sample(kept, tmp_path / "out", reader=READERS[0])
    # A is right for every fifth item.
    assert made == ErrorSample(
        sheet=tmp_path / "out" / "errors.csv",
        page=tmp_path / "out" / "errors.html",
        rows=16,
        holds="errors to label",
    )
    few = error_sample(kept, tmp_path / "few", reader=READERS[0], per_dimension=1)
    assert few.rows == 7


def test_replies_that_nobody_judged_can_be_ranked(kept: Path, tmp_path: Path) -> None:
    made = rank_sample(kept, tmp_path / "out", n=3)
    assert made == RankSample(sheet=tmp_path / "out" / "ranks.csv", items=3, rows=6)
    with made.sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with made.sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for number, row in enumerate(rows):
            writer.writerow(row | dict.fromkeys(COMPONENTS, str(1 + number % 2)))
    found = measure(kept, settings={"ranks": str(made.sheet)}).records
    ratios = [m for m in found if m.measure == "win_ratio"]
    assert {m.by["rater"] for m in ratios} == {"human"}
    assert all(m.value is not None for m in ratios)
    gaps = [m for m in found if m.measure == "win_ratio_gap"]
    assert {(m.value, m.note) for m in gaps} == {(None, "not judged")}


def test_other_files_of_the_folder_stay(kept: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("mine")
    error_sample(kept, tmp_path, reader=READERS[0])
    rank_sample(kept, tmp_path, n=2)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"note.txt", "errors.csv", "errors.html", "ranks.csv"}
    assert note.read_text() == "mine"


@pytest.mark.parametrize("name", ["errors.csv", "errors.html"])
def test_a_link_to_nowhere_is_not_written_through(kept: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match=f"{name} is there already"):
        error_sample(kept, tmp_path, reader=READERS[0])
    assert {path.name for path in tmp_path.iterdir()} == {name}


def test_what_breaks_in_the_midst_leaves_nothing(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(overread.report, "error_page", broken)
    monkeypatch.setattr(people_sheets, "write_csv", broken)
    before = tree(tmp_path, kept)
    with pytest.raises(OSError, match="no space"):
        error_sample(kept, tmp_path / "out", reader=READERS[0])
    with pytest.raises(OSError, match="no space"):
        rank_sample(kept, tmp_path / "out")
    assert tree(tmp_path, kept) == before


def test_a_sheet_comes_back_as_it_went_out(kept: Path, tmp_path: Path) -> None:
    made = error_sample(kept, tmp_path, reader=READERS[1])
    found = people_sheets.read_error_sheet(made.sheet)
    assert len(found) == made.rows == 21
    assert {one.reader for one in found} == {READERS[1]}
    assert {one.error for one in found} == {None}
