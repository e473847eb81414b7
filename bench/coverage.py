"""`python -m bench coverage`: do 95 % intervals hold the truth in 95 % of studies, and do tests err
as often as they say? Simulated through the functions that every benchmark measures with.

Every cell is a design: items, items a patient, how alike a patient's items are, the true rate, and
how many judges. `python -m bench.coverage --table` prints the rows of docs/statistics.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from overread.case import Measure
from overread.measuring.contrasts import paired
from overread.measuring.estimates import (
    Resampling,
    clustered_share,
    columns_of,
    counted_in,
    estimated,
    mean_of_columns,
    quotients,
)
from overread.stats import FEW, calibrated_p, groups_p

Floats = NDArray[np.float64]
RECORD = Measure(reader="r", measure="m")
TIMES = 600
# What must hold: coverage of intervals, and errors of the first kind (exact tests may err less).
COVERAGE = (0.93, 0.985)
TYPE_ONE = 0.06
# Of cells that do not, at most this share, none below this coverage.
EXCEPTIONS, LEAST = 0.1, 0.85


class Design(NamedTuple):
    """Items, items a patient, correlation within patients, true rate, judges."""

    items: int
    each: int
    alike: float
    rate: float
    judges: int = 1

    @property
    def patients(self) -> int:
        return self.items // self.each

    @property
    def owners(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.patients), self.each)


def designs(
    rates: tuple[float, ...] = (0.02, 0.5, 0.95), judges: tuple[int, ...] = (1,)
) -> Iterator[Design]:
    for items, each, alike, rate, by in product(
        (20, 50, 300), (1, 2, 5), (0.0, 0.3, 0.6), rates, judges
    ):
        if each > 1 or not alike:
            yield Design(items, each, alike, rate, by)


# ---------------------------------------------------------------- what happens in one study


def right(draw: np.random.Generator, design: Design, rate: float | None = None) -> Floats:
    """Whether each item is answered rightly: patients share a part of what makes an item hard."""
    at = design.rate if rate is None else rate
    own = np.sqrt(design.alike) * draw.standard_normal(design.patients)[design.owners]
    rest = np.sqrt(1 - design.alike) * draw.standard_normal(design.owners.size)
    return (own + rest < ndtri(at)).astype(float)


def judged(draw: np.random.Generator, design: Design, marks: Floats) -> Floats:
    """The marks as judges see them (items x judges), each wrong in one of ten by itself."""
    wrong = draw.random((marks.size, design.judges)) < 0.1
    return np.abs(marks[:, None] - wrong)


def share(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    return clustered_share(RECORD, right(draw, design) == 1, design.owners), design.rate


def panel(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    table = judged(draw, design, right(draw, design))
    return _finished(design, columns_of(table), mean_of_columns, counted_in(table)), _seen(design)


def harmonic(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """F1 of a precision and a recall, each judged by itself."""
    marks = right(draw, design)
    columns = np.hstack([columns_of(judged(draw, design, marks)) for _ in range(2)])
    half = columns.shape[1] // 2

    def again(totals: Floats) -> Floats:
        one, two = mean_of_columns(totals[:, :half]), mean_of_columns(totals[:, half:])
        return quotients(2 * one * two, one + two)

    counted = np.ones(marks.size, dtype=bool)
    return _finished(design, columns, again, counted), _seen(design)


def amount(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """A mean error in frames: skewed, as errors are."""
    own = np.sqrt(design.alike) * draw.standard_normal(design.patients)[design.owners]
    values = np.abs(own + np.sqrt(1 - design.alike) * draw.standard_normal(design.owners.size))
    table = 4 * values[:, None]
    limits = (0.0, np.inf)
    found = _finished(design, columns_of(table), mean_of_columns, counted_in(table), limits)
    return found, 4 * float(np.sqrt(2 / np.pi))


def _seen(design: Design) -> float:
    return 0.9 * design.rate + 0.1 * (1 - design.rate)


def _finished(
    design: Design,
    columns: Floats,
    again: Any,
    counted: Any,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Measure:
    made = estimated(RECORD, columns, again, counted, limits=limits)
    return Resampling(design.owners, boot=2, seed=0).finish([made])[0]


def alike_readers(draw: np.random.Generator, design: Design) -> tuple[Measure, float]:
    """The difference of two readers of one rate that find the same items hard."""
    common = right(draw, design)
    one, two = (np.where(draw.random(common.size) < 0.6, common, right(draw, design)) for _ in "ab")
    if design.judges > 1:
        one, two = (judged(draw, design, marks).mean(axis=1) for marks in (one, two))
    return paired(RECORD, one, two, design.owners), 0.0


def even_groups(draw: np.random.Generator, design: Design) -> float | None:
    """P of two groups of patients with one rate, one group's with more items each."""
    owners = design.owners
    group = (owners < design.patients // 3).astype(int)
    thinned = (group == 1) | (np.arange(owners.size) % design.each == 0)
    marks = right(draw, design)
    return groups_p(marks[thinned], group[thinned], owners[thinned], n_perm=199)


def honest_confidence(draw: np.random.Generator, design: Design) -> float | None:
    """P of calibration of a reader whose probabilities mean what they say."""
    said = draw.beta(2, 1, design.items)
    return calibrated_p(said, draw.random(design.items) < said, times=199)


# ---------------------------------------------------------------- how often it holds

INTERVALS: dict[str, tuple[Callable[..., tuple[Measure, float]], list[Design]]] = {
    "share": (share, list(designs())),
    "mean of judges": (panel, list(designs(judges=(1, 3)))),
    "F1": (harmonic, list(designs(judges=(1, 3)))),
    "amount": (amount, list(designs(rates=(0.5,)))),
    "difference of readers": (alike_readers, list(designs(judges=(1, 3)))),
}
TESTS: dict[str, tuple[Callable[..., float | None], list[Design]]] = {
    "groups of patients": (even_groups, list(designs(rates=(0.5, 0.95)))),
    "calibrated": (honest_confidence, [Design(n, 1, 0.0, 0.5) for n in (20, 50, 300)]),
}


class Cell(NamedTuple):
    kind: str
    design: Design
    coverage: float | None
    type_one: float | None

    @property
    def holds(self) -> bool:
        within = self.coverage is None or COVERAGE[0] <= self.coverage <= COVERAGE[1]
        return within and (self.type_one is None or self.type_one <= TYPE_ONE)


def covered(kind: str, design: Design, times: int = TIMES) -> Cell:
    """How often intervals of such studies hold the truth; and tests reject what is true."""
    draw = np.random.default_rng([len(kind), *(int(100 * part) for part in design)])
    make = INTERVALS[kind][0]
    held = rejected = tested = 0
    for _ in range(times):
        record, truth = make(draw, design)
        held += record.low is None or record.low - 1e-12 <= truth <= record.high + 1e-12
        tested += record.p is not None
        rejected += record.p is not None and record.p <= 0.05
    return Cell(kind, design, held / times, rejected / times if tested else None)


def erring(kind: str, design: Design, times: int = TIMES) -> Cell:
    draw = np.random.default_rng([len(kind), *(int(100 * part) for part in design)])
    found = [TESTS[kind][0](draw, design) for _ in range(times)]
    return Cell(kind, design, None, sum(p is not None and p <= 0.05 for p in found) / times)


def simulate(times: int = TIMES) -> list[Cell]:
    cells = [covered(kind, one, times) for kind, (_, all_) in INTERVALS.items() for one in all_]
    return cells + [erring(kind, one, times) for kind, (_, all_) in TESTS.items() for one in all_]


def of_every_measure() -> dict[str, Any]:
    """All cells; ok where at most a tenth of them leaves the limits, and none is far off."""
    cells = simulate()
    odd = [cell for cell in cells if not cell.holds]
    exact = [
        cell
        for cell in odd
        if cell.coverage is not None and cell.coverage > COVERAGE[1] and cell.type_one is not None
    ]
    low = [cell for cell in cells if cell.coverage is not None and cell.coverage < LEAST]
    judged_odd = [cell for cell in odd if cell not in exact]
    return {
        "ok": len(judged_odd) <= EXCEPTIONS * len(cells) and not low,
        "cells": len(cells),
        "outside": len(judged_odd),
        "exact tests above": len(exact),
        "few patients among them": sum(cell.design.patients < 2 * FEW for cell in judged_odd),
        "lowest coverage": min(c.coverage for c in cells if c.coverage is not None),
        "exceptions": [_told(cell) for cell in judged_odd],
    }


def _told(cell: Cell) -> str:
    return f"{cell.kind} {cell.design._asdict()}: coverage {cell.coverage}, type I {cell.type_one}"


def table(times: int = TIMES) -> Iterator[str]:
    """The rows of docs/statistics.md: by kind, items and items a patient."""
    yield "| number | items | a patient | coverage | errors of the first kind |"
    yield "|---|---|---|---|---|"
    groups: dict[tuple[str, int, int], list[Cell]] = {}
    for cell in simulate(times):
        groups.setdefault((cell.kind, cell.design.items, cell.design.each), []).append(cell)
    for (kind, items, each), cells in groups.items():
        spans = []
        for name in ("coverage", "type_one"):
            found = [x for cell in cells if (x := getattr(cell, name)) is not None]
            spans.append(f"{min(found):.3f} to {max(found):.3f}" if found else "–")
        yield f"| {kind} | {items} | {each} | {spans[0]} | {spans[1]} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.coverage", description=__doc__)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--times", type=int, default=TIMES)
    print("\n".join(table(parser.parse_args().times)))
