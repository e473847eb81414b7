"""Skill: nobody who names one frame has any, and who sees as people do has."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left, Window
from overread.benchmarks.heartbeat.edition import CORRECTED, Options
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.trials import window_of
from overread.phantoms.heart_rhythm import rhythm
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


# ---------------------------------------------------------------- in windows of real distances


@pytest.fixture(scope="module")
def hearts():
    """The windows of 400 phantom hearts, whose distances are those of real clips."""
    found = []
    for number in range(400):
        kept = rhythm(np.random.default_rng([11, number]), 0.5)
        ed, es = kept.phases
        case = HeartbeatCase(case_id=f"h{number}", clip="", frames=kept.frames, ed=ed, es=es)
        found.append(window_of(case, CORRECTED, Options()))
    return found


def skill_in(windows, sd, phase):
    """The skill of an observer whose answers stray by `sd` frames, be it out of the window."""
    rng = np.random.default_rng(5)
    wanted = {"ed": "edv", "es": "esv"}[phase]
    truth = [getattr(window, phase) for window in windows]
    said = np.rint(truth + sd * rng.standard_normal(len(truth)))
    answers = rows([[[int(p)]] for p in said], [[t] for t in truth], wanted=wanted, count=30)
    rules = msgspec.structs.replace(CORRECTED, boot=1000)
    return found(
        measure(tables_of(answers), rules), "skill", reader="r",
        **{**BY, "format": wanted, "phase": phase},
    )  # fmt: skip


@pytest.mark.parametrize("phase", ["ed", "es"])
def test_an_observer_of_three_frames_has_skill(hearts, phase):
    windows = [window for window in hearts if isinstance(window, Window)]
    assert {window.count for window in windows} == {30}
    got = skill_in(windows, 3, phase)
    assert got.value > 0.25
    assert got.low > 0
    assert got.label is None


def test_about_one_clip_in_twelve_fits_no_window(hearts):
    """8.5 % of 10,024 real ones; here of 400."""
    assert 0.04 < np.mean([isinstance(window, Left) for window in hearts]) < 0.14


@pytest.mark.parametrize("phase", ["ed", "es"])
def test_in_the_window_of_version_0_1_such_an_observer_had_none(phase):
    old = Options(frames=24, reach=2.0)
    windows = []
    for number in range(400):
        ed, es = (kept := rhythm(np.random.default_rng([11, number]), 0.5)).phases
        case = HeartbeatCase(case_id=f"h{number}", clip="", frames=kept.frames, ed=ed, es=es)
        found_ = window_of(case, CORRECTED, old)
        if isinstance(found_, Window):
            windows.append(found_)
    got = skill_in(windows, 3, phase)
    assert got.value < 0.1
    assert got.label == "cannot tell"
