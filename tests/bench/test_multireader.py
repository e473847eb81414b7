"""A small part of the simulation of several readers: a difference that is none is found in 5 %.

`python -m bench multireader` does all of it. 2,000 studies leave 1 point open to either side.
"""

from __future__ import annotations

import numpy as np
import pytest
from bench.multireader import (
    Cell,
    Design,
    areas_left_out,
    designs,
    erring,
    studies,
    summed_up,
    table,
)
from scipy.stats import rankdata

from overread.stats import _multireader, jackknifed

DESIGNS = (
    Design("model", 25, 0.962, "LL"),
    Design("conditions", 25, 0.962, "HH"),
    Design("model", 100, 0.855, "HH"),
    Design("conditions", 50, 0.855, "LH"),
    Design("conditions", 100, 0.702, "LH"),
    Design("model", 80, 0.5, unlike=0.3),
    Design("conditions", 80, 0.8, unlike=0.15),
)


@pytest.fixture(autouse=True)
def no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted here is p, of 58,000 studies: the ends of their intervals would be looked for
    in three quarters of the time. That they say what p says is tested in tests/stats."""
    monkeypatch.setattr(_multireader, "_greatest", lambda _: float("nan"))


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_three_readers_and_more_err_as_often_as_is_said(design: Design) -> None:
    for cell in erring(design, 2000):
        assert 0.03 <= cell.rejected <= 0.07, cell


@pytest.mark.slow
def test_the_published_formula_errs_more_often_where_three_readers_differ() -> None:
    (cell,) = erring(Design("model", 80, 0.5, unlike=0.6), 2000, [3])
    assert cell.rejected <= 0.07
    assert cell.published > 0.08


def test_scores_are_left_out_at_once_as_one_by_one() -> None:
    draw = np.random.default_rng(0)
    well, ill = draw.standard_normal((3, 7)), 1 + draw.standard_normal((3, 5))
    scores, of_ill = np.concatenate([well, ill], axis=1), np.arange(12) >= 7

    def areas(keep):
        ranks, ones = rankdata(scores[:, keep], axis=1), of_ill[keep]
        n = ones.sum()
        return (ranks[:, ones].sum(axis=1) - n * (n + 1) / 2) / (n * (~ones).sum())

    for one, other in zip(areas_left_out(well, ill), jackknifed(areas, range(12)), strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize("merit", ["AUROC", "share"])
@pytest.mark.parametrize("asks", ["model", "conditions"])
def test_studies_are_drawn_without_a_difference(asks: str, merit: str) -> None:
    found = next(
        one for one in designs() if one.asks == asks and bool(one.structure) == (merit == "AUROC")
    )
    figures = np.array([whole for whole, _ in studies(found, 400, 3)])
    apart = (
        figures[:, 0] - figures[:, 1:].mean(axis=1)
        if asks == "model"
        else (figures[:, 1] - figures[:, 0]).mean(axis=1)
    )
    assert abs(apart.mean()) < 3 * apart.std() / 20
    assert figures.mean() == pytest.approx(found.merit, abs=0.02)


def test_a_design_outside_fails_unless_it_is_known_to_be() -> None:
    promised, known = Design("model", 80, 0.5), Design("model", 80, 0.9, unlike=0.6)
    for design, rejected, ok in (
        (promised, 0.05, True),
        (promised, 0.09, False),
        (promised, 0.02, False),
        (known, 0.02, True),
    ):
        cells = [Cell(promised, 3, 0.05, 0.06, 4000), Cell(design, 4, rejected, 0.06, 4000)]
        assert summed_up(cells)["ok"] == ok
    assert [line.count("|") for line in table(cells)] == [5, 5, 5, 5]
