"""What can be had without looking."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.authors.rules import length_guess, published_lengths
from overread.benchmarks.heartbeat.guessers import (
    coin_accuracy,
    expected_error,
    published_uniform,
    uniform_error,
)

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
