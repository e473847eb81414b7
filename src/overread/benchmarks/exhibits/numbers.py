"""Cells of judged numbers: see `overread.benchmarks.exhibits.cells`."""

from __future__ import annotations

from functools import partial

from overread.benchmarks.exhibits import cells
from overread.benchmarks.exhibits.cells import NOT_ASKED, coefficient, plain, worth
from overread.benchmarks.exhibits.cells import UNTRIED_MARK as LIMITED
from overread.benchmarks.exhibits.cells import with_tests as tested

__all__ = ["LIMITED", "NOT_ASKED", "cell", "coefficient", "plain", "tested", "worth"]

cell = partial(cells.cell, absent=NOT_ASKED)
