"""`python -m bench multireader`: does the analysis of several readers err as often as it says?

Studies without a difference are drawn by the model of Roe and Metz (AUROC) and by a normal model of
right answers (shares), with 3, 4, 5 and 10 readers, and analysed by `stats.model_against_readers`
and `stats.conditions_apart`. C. A. Roe and C. E. Metz (1997), Academic Radiology 4, 298.
`python -m bench.multireader --times 4000` prints the table of docs/reader-studies.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from overread.stats import MultiReader, conditions_apart, model_against_readers

Floats = NDArray[np.float64]
TIMES = 2000
READERS = (3, 4, 5, 10)
# What must hold, but for chance.
TYPE_ONE = (0.03, 0.07)
# Variances of case, condition by case, reader by case and the rest, by how alike readings are (the
# first letter of a structure); of reader and condition by reader, by how unlike readers are (the
# second) and the AUROC, which is that of a separation.
_CASES = {"H": (0.3, 0.3, 0.2, 0.2), "L": (0.1, 0.1, 0.2, 0.6)}
_READERS = {
    "L": {0.702: 0.0055, 0.855: 0.0055, 0.962: 0.0055},
    "H": {0.702: 0.011, 0.855: 0.030, 0.962: 0.056},
}
_SEPARATION = {0.702: 0.75, 0.855: 1.5, 0.962: 2.5}
# Of right answers, on a scale where one reader's have variance 0.98: what readers share of a case.
_HARD, _REST = 0.7, 0.7


class Design(NamedTuple):
    """Readers against a model, or under two conditions; a share or an AUROC, of so many cases.

    `cases` are of each class for an AUROC. Readers of shares are `unlike` by a standard deviation
    on the normal scale: between readers, or of condition by reader.
    """

    asks: Literal["model", "conditions"]
    cases: int
    merit: float
    structure: str = ""
    unlike: float = 0.0

    @property
    def generator(self) -> np.random.Generator:
        name = map(ord, self.asks + self.structure)
        return np.random.default_rng(
            [*name, self.cases, int(1000 * self.merit), int(100 * self.unlike)]
        )

    @property
    def known(self) -> str:
        """Why it is known not to hold, if it is."""
        if self.merit > 0.7 and self.unlike > 0.5 and not self.structure:
            return "readers' shares differ much and lie to one side"
        return ""


class Cell(NamedTuple):
    """How often so many readers' study finds a difference that is none; and as published."""

    design: Design
    readers: int
    rejected: float
    published: float
    times: int

    @property
    def holds(self) -> bool:
        """Within the limits, but for what chance does in so many studies (one in twenty)."""
        low, high = (1.645 * np.sqrt(limit * (1 - limit) / self.times) for limit in TYPE_ONE)
        return bool(TYPE_ONE[0] - low <= self.rejected <= TYPE_ONE[1] + high)


def designs() -> Iterator[Design]:
    for asks, first, second, merit, cases in product(
        ("model", "conditions"), "HL", "HL", _SEPARATION, (25, 50, 100)
    ):
        yield Design(asks, cases, merit, first + second)
    for (asks, unlike), rate, cases in product(
        (("model", (0.0, 0.3, 0.6)), ("conditions", (0.0, 0.15, 0.4))), (0.5, 0.8, 0.9), (80, 250)
    ):
        for sd in unlike:
            yield Design(asks, cases, rate, unlike=sd)


Study = tuple[Floats, Floats]
"""Figures of merit, and with each case left out: of a model and readers, or by condition."""


def studies(design: Design, times: int, readers: int = max(READERS)) -> Iterator[Study]:
    draw = design.generator
    one = _areas if design.structure else _shares
    for _ in range(times):
        yield one(draw, design, readers)


def _areas(draw: np.random.Generator, design: Design, readers: int) -> Study:
    """AUROC by the model of Roe and Metz. A model has what a condition has, and no reader.

    It is as good as readers are on average, whose own shifts lower their AUROC.
    """
    case, by_condition, by_reader, rest = np.sqrt(_CASES[design.structure[0]])
    shift = np.sqrt(_READERS[design.structure[1]][design.merit])
    apart, n = _SEPARATION[design.merit], design.cases
    classes = []
    for ill in (0, 1):
        hard = case * draw.standard_normal(n)
        if design.asks == "model":
            size = (1 + readers, n)
            own = np.hypot(by_reader, rest) * draw.standard_normal(size)
            own[1:] += np.sqrt(2) * shift * draw.standard_normal((readers, 1))
            own[0] += by_condition * draw.standard_normal(n)
            own[1:] += by_condition * draw.standard_normal(n)
            of_model = apart / np.sqrt(1 + 2 * shift**2)
            own += ill * np.array([of_model, *[apart] * readers])[:, None]
        else:
            size = (2, readers, n)
            own = rest * draw.standard_normal(size) + by_reader * draw.standard_normal(size[1:])
            own += by_condition * draw.standard_normal((2, 1, n))
            own += shift * draw.standard_normal((readers, 1))
            own += shift * draw.standard_normal((2, readers, 1)) + ill * apart
        classes.append(own + hard)
    return areas_left_out(*classes)


def areas_left_out(well: Floats, ill: Floats) -> Study:
    """AUROC of scores without ties, cases last; and with each case left out, the ill ones last."""
    below = _ranks(np.concatenate([well, ill], axis=-1))
    wells, ills = well.shape[-1], ill.shape[-1]
    of_ill = (below[..., wells:] - _ranks(ill)) / wells
    of_well = 1 - (below[..., :wells] - _ranks(well)) / ills
    whole = of_ill.mean(axis=-1)
    parts = [
        (one.shape[-1] * whole[..., None] - one) / (one.shape[-1] - 1) for one in (of_well, of_ill)
    ]
    return whole, np.moveaxis(np.concatenate(parts, axis=-1), -1, 0)


def _ranks(scores: Floats) -> Floats:
    """How many of the same row lie below."""
    return scores.argsort(axis=-1).argsort(axis=-1).astype(float)


def _shares(draw: np.random.Generator, design: Design, readers: int) -> Study:
    """Shares of right answers; a model has what readers have on average."""
    n, unlike, easy = design.cases, design.unlike, ndtri(design.merit)
    hard = _HARD * draw.standard_normal(n)
    alone = _HARD**2 + _REST**2
    if design.asks == "model":
        own = hard + _REST * draw.standard_normal((1 + readers, n))
        own[0] += easy * np.sqrt(alone)
        own[1:] += unlike * draw.standard_normal((readers, 1)) + easy * np.sqrt(alone + unlike**2)
    else:
        by_condition, by_reader, rest = 0.4, 0.35, np.sqrt(_REST**2 - 0.4**2 - 0.35**2)
        own = hard + rest * draw.standard_normal((2, readers, n))
        own += by_reader * draw.standard_normal((readers, n))
        own += by_condition * draw.standard_normal((2, 1, n))
        own += 0.3 * draw.standard_normal((readers, 1))
        own += unlike * draw.standard_normal((2, readers, 1))
        own += easy * np.sqrt(alone + 0.3**2 + unlike**2)
    right = own > 0
    whole = right.mean(axis=-1)
    return whole, np.moveaxis((right.sum(axis=-1, keepdims=True) - right) / (n - 1), -1, 0)


def analysed(design: Design, study: Study, readers: int) -> MultiReader | None:
    """The first so many readers of a study."""
    whole, parts = study
    if design.asks == "conditions":
        return conditions_apart(whole[:, :readers], parts[:, :, :readers])
    of = slice(1, 1 + readers)
    return model_against_readers(float(whole[0]), whole[of], parts[:, 0], parts[:, of])


def erring(design: Design, times: int = TIMES, readers: Iterable[int] = READERS) -> list[Cell]:
    counts = {count: np.zeros(2) for count in readers}
    for study in studies(design, times, max(counts)):
        for count, wrong in counts.items():
            found = analysed(design, study, count)
            if found is not None:
                wrong += found.p <= 0.05, found.published.p <= 0.05
    return [
        Cell(design, count, *(float(x) for x in wrong / times), times)
        for count, wrong in counts.items()
    ]


def _erring(job: tuple[Design, int]) -> list[Cell]:
    return erring(*job)


def simulate(times: int = TIMES) -> list[Cell]:
    """All cells, over the cores there are."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(_erring, [(design, times) for design in designs()])
        return [cell for cells in found for cell in cells]


def of_every_design() -> dict[str, Any]:
    """ok where every design but those known not to holds within the limits."""
    return summed_up(simulate())


def summed_up(cells: list[Cell]) -> dict[str, Any]:
    promised = [cell for cell in cells if not cell.design.known]
    bare = [cell for cell in promised if not cell.holds]
    return {
        "ok": not bare,
        "cells": len(cells),
        "promised": len(promised),
        "outside by more than chance": [_told(cell) for cell in bare],
        "least": _told(min(promised, key=lambda cell: cell.rejected)),
        "most": _told(max(promised, key=lambda cell: cell.rejected)),
        "known not to hold": [
            _told(cell) for cell in cells if cell.design.known and not cell.holds
        ],
    }


def _told(cell: Cell) -> str:
    said = f"{cell.rejected:.3f}, as published {cell.published:.3f}"
    return f"{tuple(cell.design)}, {cell.readers} readers: {said}"


def table(cells: Iterable[Cell]) -> Iterator[str]:
    """The lowest and the highest by question, kind of figure and number of readers."""
    yield "| | readers | found where there is none | as published |"
    yield "|---|---|---|---|"
    groups: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        merit = "AUROC" if cell.design.structure else "shares"
        asks = "model against readers" if cell.design.asks == "model" else "two conditions"
        what = cell.design.known or f"{asks}, {merit}"
        groups.setdefault((what, cell.readers), []).append(cell)
    for (what, readers), some in sorted(groups.items()):
        spans = (
            f"{min(found):.3f} to {max(found):.3f}"
            for found in ([one.rejected for one in some], [one.published for one in some])
        )
        yield f"| {what} | {readers} | {' | '.join(spans)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.multireader", description=__doc__)
    parser.add_argument("--times", type=int, default=TIMES)
    simulated = simulate(parser.parse_args().times)
    print("\n".join(table(simulated)))
    for name, said in summed_up(simulated).items():
        print(name, said, sep=": ")
