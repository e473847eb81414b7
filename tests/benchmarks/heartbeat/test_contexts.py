"""Does the overlay help? Paired by video."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from overread.benchmarks.families import with_q
from overread.benchmarks.heartbeat import contexts
from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.measures import flip_p, measure
from overread.case import Measure
from support.heart_answers import found, rows, tables_of

KEY = {"task": "t1", "context": "segmented", "format": "edv", "phase": "ed", "versus": "original"}


def test_the_difference_is_of_the_same_videos():
    plain = rows([[[4]], [[9]], [[30]]], [[1], [2], [3]], context="original")
    red = rows([[[1]], [[3]], [[None]]], [[1], [2], [3]], context="segmented")
    got = found(measure(tables_of(plain + red), CORRECTED), "diff_mae", **KEY)
    assert got.value == pytest.approx(((0 - 3) + (1 - 7)) / 2)
    assert got.n == 2
    assert got.q is not None


def test_a_shift_of_every_video_is_found_and_its_interval_excludes_none():
    rng = np.random.default_rng(0)
    truth = [[int(t)] for t in rng.integers(5, 20, 30)]
    plain = rows([[[t[0] + int(rng.integers(4, 8))]] for t in truth], truth, context="original")
    red = rows([[[t[0] + int(rng.integers(0, 3))]] for t in truth], truth, context="segmented")
    words = rows([[[t[0] + 1]] for t in truth], truth, context="non_medical")
    got = measure(tables_of(plain + red + words), CORRECTED)
    helps = found(got, "diff_mae", **KEY)
    assert helps.high < 0
    assert helps.p < 0.001
    other = found(got, "diff_mae", **KEY | {"context": "non_medical", "versus": "segmented"})
    assert other.n == 30


def test_the_two_frame_task_has_its_own():
    plain = rows([[[0]], [[0]]], [[1], [0]], task="t2", context="original")
    red = rows([[[1]], [[0]]], [[1], [0]], task="t2", context="segmented")
    got = found(measure(tables_of(plain + red), CORRECTED), "diff_accuracy", **KEY | {"task": "t2"})
    assert got.value == pytest.approx(0.5)


def test_the_sign_flips_against_all_of_them():
    each, patients = np.array([1.0, 2.5, -0.5, 3.0, 1.0]), [0, 0, 1, 2, 3]
    sums = [3.5, -0.5, 3.0, 1.0]
    total = sum(sums)
    signs = list(product((-1, 1), repeat=4))
    beyond = [abs(np.dot(s, np.abs(sums))) >= total - 1e-9 for s in signs]
    got = flip_p(each, np.array(patients), 40_000, 0)
    assert got == pytest.approx(np.mean(beyond), abs=0.01)


def test_the_sign_flips_do_not_mind_names_or_order():
    each, patients = np.array([1.0, 2.0, -3.0, 0.5]), np.array([3, 1, 2, 0])
    one = flip_p(each, patients, 500, 0)
    assert one == flip_p(each[::-1], patients[::-1], 500, 0)
    assert one == flip_p(each, np.array([10, 20, 30, 40]), 500, 0)
    assert one == flip_p(-each, patients, 500, 0)


def test_the_clips_of_a_patient_change_sign_together():
    plain = rows([[[9]] for _ in range(8)], [[1]] * 8, context="original")
    red = rows([[[1]] for _ in range(8)], [[1]] * 8, context="segmented")
    alone, pairs = (
        found(measure(tables_of(plain + red, patients), CORRECTED), "diff_mae", **KEY).p
        for patients in (None, list("aabbccdd"))
    )
    # All eight, or all four, on one side: 2 of 2^8, 2 of 2^4.
    assert alone == pytest.approx(2 / 2**8, rel=0.3)
    assert pairs == pytest.approx(2 / 2**4, rel=0.1)


def test_the_sign_flips_follow_the_seed():
    each, patients = np.random.default_rng(0).normal(0.3, 1, 20), np.arange(20)
    assert len({flip_p(each, patients, 500, seed) for seed in range(5)}) > 1


def test_signs_that_are_kept_are_those_drawn_anew(monkeypatch):
    """Few patients, other few, and too many for one drawing, twice each."""
    monkeypatch.setattr(contexts, "_CHUNK", 2000)
    rng, kept = np.random.default_rng(0), {}
    for n in (5, 9, 5, 30, 30):
        each = rng.normal(0.3, 1, n)
        assert flip_p(each, np.arange(n), 200, 0, kept) == flip_p(each, np.arange(n), 200, 0)


def test_p_is_never_0_for_the_data_are_among_the_draws():
    assert flip_p(np.ones(40), np.arange(40), 100, 0) == 1 / 101


def test_one_patient_has_no_p():
    assert flip_p(np.array([1.0, 2.0]), np.array([7, 7]), 100, 0) is None


def test_p_is_adjusted_within_its_family():
    """Benjamini and Hochberg by hand: two readers beside the same context, one beside another."""
    by = {"a": 0.01, "b": 0.04, "c": 0.03}
    records = [
        Measure(reader=name, measure="diff_mae", p=p, family="one" if name != "c" else "two")
        for name, p in by.items()
    ]
    got = {record.reader: record.q for record in with_q(records)}
    assert got == pytest.approx({"a": 0.02, "b": 0.04, "c": 0.03})
