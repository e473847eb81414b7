"""Uniform guesses in the windows that were shown."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.heartbeat.chance import (
    published_lengths,
    published_uniform,
    uniform_error,
)
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.measures import measure
from support.heart_answers import found, rows, tables_of

BY = {"task": "t1", "context": "original", "format": "edv_esv"}
TRUTH = [(3, 12), (4, 14), (8, 19)]
COUNTS = [21, 24, 28]
START = 30


def measured(edition, seed, name, phase):
    some = rows([[[None]]] * 3, [[t] for t in TRUTH], wanted="edv_esv", count=COUNTS)
    ed, es = ([t[at] + START for t in TRUTH] for at in (0, 1))
    rules = msgspec.structs.replace(edition, boot=100, seed=seed)
    return found(measure(tables_of(some, ed=ed, es=es), rules), name, **BY | {"phase": phase})


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("phase", ["ed", "es"])
def test_chance_is_that_of_the_windows_shown(phase, seed):
    got = measured(CORRECTED, seed, "chance_mae", phase)
    truths = [t[phase == "es"] for t in TRUTH]
    assert (got.value, got.low, got.high) == uniform_error(COUNTS, truths, seed=seed)
    assert (got.n, got.method.rpartition(":")[2]) == (3, str(seed))


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("phase", ["ed", "es"])
def test_the_notebook_as_shipped_has_its_own_lengths_and_absolute_truths(phase, seed):
    got = measured(AUTHORS, seed, "chance_mae_shipped", phase)
    ed, es = ([t[at] + START for t in TRUTH] for at in (0, 1))
    both = published_uniform(published_lengths(ed, es), ed, es, seed=seed)
    assert (got.value, got.low, got.high) == both[phase == "es"]


def test_a_video_without_a_first_seed_is_guessed_by_its_next():
    some = rows([[[None], [None]]] * 2, [[(3, 12)] * 2, [(4, 14)] * 2], wanted="edv_esv", count=24)
    some = [row for row in some if (row["case"], row["seed"]) != ("v001", 2020)]
    rules = msgspec.structs.replace(CORRECTED, boot=100)
    got = found(measure(tables_of(some), rules), "chance_mae", **BY | {"phase": "ed"})
    assert (got.n, got.value) == (2, uniform_error([24, 24], [3, 4]).mean)
