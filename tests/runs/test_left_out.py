"""What a set holds and a run does not ask about."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import pytest

from overread.benchmarks.base import Benchmark, Loaded
from overread.runs._opening import remarks_of, write_left_out


class Some(Benchmark):
    """As much of a benchmark as is looked at."""

    path = None

    def __init__(self, left: int | list[tuple[str, str]] | None, *remarks: str) -> None:
        if isinstance(left, int):
            left = [(f"c{n}", f'reason "{n}", and more.') for n in range(left)]
        # c0 is asked about in part.
        cases = [SimpleNamespace(case_id=name) for name in ("a", "b", "c0")]
        self.loaded = Loaded(cases, left, remarks)


def test_one_line_has_the_number_of_all_and_the_first_reason() -> None:
    first, other = remarks_of(Some(30, "no clip has masks."))
    assert first == (
        '30 of 32 are left out, wholly or in part; c0: reason "0", and more. '
        "All of them: left_out.csv of the run."
    )
    assert other == "no clip has masks."
    assert remarks_of(Some(0, "no clip has masks.")) == ("no clip has masks.",)
    assert remarks_of(Some(None)) == ()


@pytest.mark.parametrize("many", [0, 1, 250])
def test_the_file_has_every_one_with_its_reason(tmp_path: Path, many: int) -> None:
    write_left_out(tmp_path, Some(many))
    with (tmp_path / "left_out.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["name"], row["reason"]) for row in csv.DictReader(file)]
    assert rows == Some(many).left_out


def test_a_benchmark_that_leaves_nothing_out_writes_no_file(tmp_path: Path) -> None:
    write_left_out(tmp_path, Some(None))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＠", "\t=", " ="])
def test_no_spreadsheet_runs_what_a_set_is_called(tmp_path: Path, sign: str) -> None:
    hostile = Some([(f"{sign}cmd()", f"{sign}HYPERLINK()")])
    write_left_out(tmp_path, hostile)
    with (tmp_path / "left_out.csv").open(encoding="utf-8", newline="") as file:
        _, row = csv.reader(file)
    assert [cell[0] for cell in row] == ["'", "'"]
