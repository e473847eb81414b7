"""What a set holds and a run does not ask about: told before anybody is asked, and kept."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from overread.benchmarks.base import Benchmark
from overread.judging.sheet import guarded

# Where one line for the user goes.
Tell = Callable[[str], None]
_FILE = "left_out.csv"


def remarks_of(bench: Benchmark) -> tuple[str, ...]:
    """A line on what is left out, with the first reason, and the benchmark's own lines."""
    lines = tuple(bench.remarks)
    left = bench.left_out
    if left:
        # Something may be asked about in part only, and be in both.
        total = len({name for name, _ in left} | {case.case_id for case in bench.cases()})
        name, reason = left[0]
        what = f"{len(left)} of {total} are left out, wholly or in part"
        lines = (f"{what}; {name}: {reason.rstrip('.')}. All of them: {_FILE} of the run.", *lines)
    return lines


def write_left_out(folder: Path, bench: Benchmark) -> None:
    """One row for each that is left out, with its reason; only the header where there is none."""
    left = bench.left_out
    if left is None:  # it asks about everything
        return
    with (folder / _FILE).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("name", "reason"))
        rows.writerows([guarded(cell) for cell in row] for row in left)
