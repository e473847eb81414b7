"""Skill's lower bound: nobody who names one frame has any."""

from __future__ import annotations

import numpy as np
import pytest

from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.measures import measure
from support.heart_answers import found, rows, tables_of

BY = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}


@pytest.mark.parametrize("n", [4, 6, 12, 40])
@pytest.mark.parametrize("seed", range(3))
def test_no_constant_is_surely_above_the_best_constant(n, seed):
    truth = np.random.default_rng(seed).integers(0, 12, n).tolist()
    for constant in {int(np.median(truth)), min(truth), 5}:
        tables = tables_of(rows([[[constant]]] * n, [[t] for t in truth], wanted="edv", count=24))
        skill = found(measure(tables, CORRECTED), "skill", **BY)
        if skill.low is not None:
            assert skill.low <= 1e-12


def test_a_reader_that_follows_the_truth_is_surely_above_it():
    truth = np.random.default_rng(3).integers(0, 12, 30).tolist()
    said = [[[t + (k % 3 == 0)]] for k, t in enumerate(truth)]
    tables = tables_of(rows(said, [[t] for t in truth], wanted="edv", count=24))
    skill = found(measure(tables, CORRECTED), "skill", **BY)
    assert 0.5 < skill.low < skill.value < 1
