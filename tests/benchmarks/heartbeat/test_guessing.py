"""Uniform guesses in the windows that were shown, and whom the windows leave out."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.heartbeat.authors.rules import published_lengths
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.guessers import published_uniform, uniform_error
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


# ---------------------------------------------------------------- left out


def left_out(edition=CORRECTED, asked_under="corrected", **facts):
    """Five clips asked in T2, three of them also in T1; by group k of n."""
    some = rows([[[3]]] * 3, [[4], [5], [9]], wanted="edv", count=30)
    some += rows([[[1]]] * 5, [[1]] * 5, wanted="edv", task="t2")
    tables = msgspec.structs.replace(tables_of(some, **facts), asked_under=asked_under)
    made = measure(tables, msgspec.structs.replace(edition, boot=100))
    return {
        (m.by.get("ef", ""), m.by.get("fps", "")): (m.k, m.n)
        for m in made
        if m.measure == "left_out"
    }


def test_whom_no_window_fits_is_counted_by_ef_and_frame_rate():
    got = left_out(ef=[55.0, 60.0, 50.0, 39.9, 40.0], fps=[50.0, 60.0, 50.0, 30.0, 59.9])
    assert got == {
        ("", ""): (2, 5),
        ("below 40", ""): (1, 1),
        ("40 to 50", ""): (1, 1),
        ("50 or more", ""): (0, 3),
        ("", "below 40"): (1, 1),
        ("", "40 to 60"): (1, 3),
        ("", "60 or more"): (0, 1),
    }


def test_what_the_set_does_not_know_is_no_group():
    assert left_out() == {("", ""): (2, 5)}
    got = left_out(ef=[55.0, None, 50.0, None, 40.0])
    assert got["unknown", ""] == (1, 2)


def test_of_windows_that_others_showed_nothing_is_said():
    assert left_out(asked_under="") == {}
    assert left_out(AUTHORS) == {}
