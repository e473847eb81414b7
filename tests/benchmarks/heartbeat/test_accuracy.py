"""Passes become one vote."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.authors.rules import stops
from overread.benchmarks.heartbeat.pair_measures import decided, majority

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
    got = decided(said, np.ones((4, 1)), asked, "wrong")
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
    assert decided(said, true, asked, "wrong").item() == ours
    theirs = decided(said, true, asked, "dropped").item()
    assert theirs == authors if authors is not None else np.isnan(theirs)
