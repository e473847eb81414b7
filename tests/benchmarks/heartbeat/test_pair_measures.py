"""Votes and accuracies of telling two frames apart."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.heartbeat import pair_measures
from overread.benchmarks.heartbeat.authors.measures import right_votes, stops
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.guessers import Chance, coin_accuracy
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.pair_measures import majority, right_by_majority
from support.heart_answers import found, rows, tables_of

# ---------------------------------------------------------------- Passes become one vote

PASSES = st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0, np.nan]), min_size=1, max_size=6)


@given(PASSES)
def test_the_majority_against_counting(passes):
    votes = Counter("?" if x not in (0, 1) else x for x in passes if not np.isnan(x))
    most = [word for word, times in votes.items() if times == max(votes.values())]
    got = majority(np.array([[passes]]))[0, 0]
    if len(most) == 1 and most[0] != "?":
        assert got == most[0]
    else:
        assert np.isnan(got)


@pytest.mark.parametrize(
    ("votes", "stopped"),
    [([0, 1], False), ([np.nan, 1], False), ([0, 2], True), ([-1, 1], True), ([np.nan] * 2, True)],
)
def test_where_the_published_code_stops(votes, stopped):
    assert stops(np.array(votes, float)[:, None]).tolist() == [stopped]


def test_a_video_without_a_majority_is_wrong_and_one_never_asked_is_not_counted():
    said = np.array([[[0, 1, np.nan]], [[np.nan] * 3], [[1, 1, 0]], [[np.nan] * 3]])
    asked = np.array([[True], [True], [True], [False]])
    got = right_by_majority(said, np.ones((4, 1)), asked)
    assert np.array_equal(got, [[0], [0], [1], [np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    ("passes", "truth", "ours", "authors"),
    [
        ([2, 2, 1], 1, 0, 1),  # the mean, 1.67, is cut to 1; two of three name no frame
        ([2, 3, 1], 1, 0, None),  # whichever numbers they are; a mean of 2 stops the code
        ([2, 1, 1], 1, 1, 1),
        ([2, 1], 1, 0, 1),  # a tie
        ([2, 1, 0], 1, 0, 1),
        ([1, 1, 0], 1, 1, 0),
    ],
)
def test_votes_for_no_frame_outvote_a_right_one_in_ours_and_help_it_in_the_codes_mean(
    passes, truth, ours, authors
):
    said, true = np.array([[passes]], float), np.array([[truth]], float)
    asked = np.array([[True]])
    assert right_by_majority(said, true, asked).item() == ours
    theirs = right_votes(said, true).item()
    assert theirs == authors if authors is not None else np.isnan(theirs)


# -------------------------- Measures of telling two frames apart, beside what is worked out by hand

EDITIONS = [msgspec.structs.replace(edition, boot=100) for edition in (AUTHORS, CORRECTED)]
BY = {"task": "t2", "context": "original", "format": "edv", "phase": "ed"}


def test_seeds_agree_where_both_are_wrong_too():
    said = [[[0], [0], [1]], [[1], [1], [1]]]
    got = measure(tables_of(rows(said, [[1] * 3, [0] * 3], task="t2")), EDITIONS[1])
    assert found(got, "seed_agreement", **BY).value == pytest.approx((1 / 3 + 1) / 2)


@pytest.mark.parametrize("edition", EDITIONS, ids=["authors", "corrected"])
def test_the_lenient_reading_has_its_own_accuracy(edition):
    some = rows([[[1]], [[None]], [[0]]], [[1], [1], [1]], task="t2")
    some[1] |= {"lenient_ed": 1}
    got = measure(tables_of(some), edition)
    strict, lenient = (found(got, name, **BY).value for name in ("accuracy", "accuracy_lenient"))
    assert strict == pytest.approx(1 / 2 if edition.name == "authors" else 1 / 3)
    assert lenient == pytest.approx(2 / 3)


def test_the_authors_count_videos_and_seeds_that_have_a_vote():
    some = rows([[[1], [None]], [[0], [1]]], [[1, 1], [1, 1]], task="t2")
    authors, ours = (
        found(measure(tables_of(some), edition), "accuracy", **BY) for edition in EDITIONS
    )
    assert (authors.n, authors.value) == (3, pytest.approx((1 / 2 + 1) / 2))
    assert (ours.n, ours.value) == (4, pytest.approx(2 / 4))


def test_a_seed_at_which_the_published_code_stops_has_no_precision():
    some = rows([[[1], [7]], [[1], [1]]], [[1, 1], [0, 1]], task="t2")
    got = measure(tables_of(some), EDITIONS[0])
    assert [found(got, name, **BY).n for name in ("precision", "recall", "f1")] == [1, 1, 1]
    assert found(got, "precision", **BY).value == 1 / 2
    assert found(got, "accuracy", **BY).value == 1 / 2


# ---------------------------------------------------------------- coins


def two_groups():
    """Two readers in two contexts; the first reader of the table is the last by name."""
    truth = {"edv": [[1, 0], [0, 0], [1, 1]], "esv": [[0, 1], [1, 1], [0, 0]]}
    return truth, [
        row
        for context in ("original", "segmented")
        for reader in ("z", "a")
        for wanted in ("esv", "edv")
        for row in rows(
            [[[1], [1]]] * 3, truth[wanted], wanted=wanted, task="t2", context=context,
            reader=reader,
        )
    ]  # fmt: skip


def test_the_authors_coins_go_on_by_name_and_start_anew_in_each_context():
    truth, some = two_groups()
    got = measure(tables_of(some), EDITIONS[0])
    for context in ("original", "segmented"):
        rng = np.random.default_rng(2025)
        for reader in ("a", "z"):
            for wanted in ("edv", "esv"):
                want = coin_accuracy([first for first, _ in truth[wanted]], rng)
                by = BY | {"context": context, "format": wanted, "phase": wanted[:2]}
                one = found(got, "chance_accuracy", reader=reader, **by)
                assert (one.value, one.low, one.high, one.n) == (*want, 3)


def test_our_coins_are_fair_and_the_same_for_all():
    _, some = two_groups()
    got = measure(tables_of(some), EDITIONS[1])
    want = coin_accuracy([0, 1, 1], np.random.default_rng(2025))
    for reader in ("a", "z"):
        one = found(got, "chance_accuracy", reader=reader, **BY)
        assert (one.value, one.low, one.high, one.n) == (0.5, want.low, want.high, 3)


def test_our_coins_are_drawn_anew_for_every_group(monkeypatch):
    drawn = []

    def coins(truth, rng):
        drawn.append((truth.tolist(), int(rng.integers(1 << 30))))
        return Chance(0.5, 0.0, 1.0)

    monkeypatch.setattr(pair_measures, "coin_accuracy", coins)
    measure(tables_of(two_groups()[1]), EDITIONS[1])
    assert len(drawn) == 8
    assert len({number for _, number in drawn}) == 1
    assert all(truth == sorted(truth) for truth, _ in drawn)
