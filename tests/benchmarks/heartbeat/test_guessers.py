"""What can be had without looking."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.authors.measures import published_lengths, published_uniform
from overread.benchmarks.heartbeat.authors.rules import length_guess
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.guessers import (
    coin_accuracy,
    expected_error,
    uniform_error,
)
from overread.benchmarks.heartbeat.measures import measure
from support.heart_answers import found, rows, tables_of

# ---------------------------------------------------------------- What can be had without looking

GOLDEN = Path(__file__).parents[2] / "golden" / "heartbeat"
MONTE_CARLO = json.loads((GOLDEN / "echo_montecarlo.json").read_text("utf-8"))
EDGES = json.loads((GOLDEN / "echo_edge_cases.json").read_text("utf-8"))
SHIPPED = MONTE_CARLO["T1_notebook_as_shipped_absolute_indices"]
RECENTRED = MONTE_CARLO["T1_notebook_on_recentred_indices"]
OURS = MONTE_CARLO["T1_OURS_true_window_lengths_exact"]
# What the golden file says the legacy generator was seeded with.
SEED = int(MONTE_CARLO["source"].partition("seed set by us to ")[2].partition(" ")[0])


@pytest.mark.parametrize("kind", [SHIPPED, RECENTRED], ids=["as shipped", "re-centred"])
def test_the_authors_guesses_draw_for_draw(kind):
    both = published_uniform(kind["lengths"], kind["gt_edv"], kind["gt_esv"], seed=SEED)
    for got, name in zip(both, ("edv", "esv"), strict=True):
        assert got.mean == pytest.approx(kind[name]["mean"], abs=1e-9)
        assert [got.low, got.high] == pytest.approx(kind[name]["ci95"], abs=1e-9)


@pytest.mark.parametrize("kind", [SHIPPED, RECENTRED, OURS])
def test_the_closed_form_is_exact(kind):
    for phase in ("edv", "esv"):
        exact = expected_error(kind["lengths"], kind[f"gt_{phase}"]).mean()
        assert exact == pytest.approx(kind[f"exact_mean_{phase}"], abs=1e-9)


def test_the_notebooks_own_lengths():
    got = published_lengths(SHIPPED["gt_edv"], SHIPPED["gt_esv"])
    assert got.tolist() == SHIPPED["lengths"]


def test_the_authors_coins_go_on_from_group_to_group():
    groups = MONTE_CARLO["T2"]["groups"]
    rng = np.random.default_rng(2025)
    got = {}
    for name in sorted(groups):
        phase = "edv" if "_edv_" in name else "esv"
        got[name] = coin_accuracy([int(x) for x in groups[name][f"gt_{phase}"]], rng)
    assert MONTE_CARLO["T2"]["expected"]
    for want in MONTE_CARLO["T2"]["expected"]:
        one = got[want["name"]]
        assert one.mean == pytest.approx(want["random_mean_accuracy"], abs=1e-9)
        assert one.low == pytest.approx(want["random_ci_low"], abs=1e-9)
        assert one.high == pytest.approx(want["random_ci_high"], abs=1e-9)


@given(st.integers(1, 80), st.integers(-90, 170))
def test_the_closed_form_against_adding_up(frames, truth):
    slow = sum(abs(k - truth) for k in range(frames)) / frames
    assert expected_error([frames], [truth])[0] == pytest.approx(slow)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(2, 60), st.integers(0, 59)), min_size=1, max_size=12))
def test_uniform_guesses_do_not_depend_on_the_order(windows):
    windows = [(n, min(g, n - 1)) for n, g in windows]
    one = uniform_error(*zip(*windows, strict=True), trials=200)
    two = uniform_error(*zip(*windows[::-1], strict=True), trials=200)
    assert one == pytest.approx(two)
    assert one.low <= one.high


def test_uniform_guesses_reach_every_frame_of_the_window_and_none_beyond():
    # Each of thirty frames has a share of 3.3 %: more than 2.5, less than 5.
    assert uniform_error([30], [0]) == (14.5, 0.0, 29.0)


def test_guesses_drawn_some_at_a_time_are_those_drawn_at_once():
    frames, truths = np.full(300, 25), np.full(300, 4)
    got = uniform_error(frames, truths, seed=3)
    once = np.random.default_rng(3).integers(0, frames, size=(10_000, 300))
    bounds = np.percentile(np.abs(once - 4).mean(axis=1), [2.5, 97.5])
    assert [got.low, got.high] == bounds.tolist()


def test_uniform_guesses_follow_the_seed():
    windows = [20, 30, 40], [3, 9, 20]
    assert uniform_error(*windows, trials=200, seed=1) == uniform_error(
        *windows, trials=200, seed=1
    )
    assert uniform_error(*windows, trials=200, seed=1) != uniform_error(
        *windows, trials=200, seed=2
    )


@pytest.mark.parametrize("case", EDGES["length_prior"]["cases"])
def test_the_length_of_the_authors_window_gives_both_answers_away(case):
    assert length_guess(case["num_frames"]) == (case["guess_first"], case["guess_second"])
    assert length_guess(case["num_frames"]) == (case["gt_first"], case["gt_second"])


@given(st.integers(0, 500))
def test_the_length_guess_inverts_the_window(between):
    margin = 2 * between // 3
    assert length_guess(between + 2 * margin + 1) == (margin, margin + between)


# ------------------- Uniform guesses in the windows that were shown, and whom the windows leave out

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
