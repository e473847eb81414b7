"""Paths, their likeness, and the references of a task, against slow obvious definitions."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot.consistency import hot, scores_of, seen_in
from overread.benchmarks.m3cot.paths import (
    cells_of,
    lcs_length,
    medoid_path,
    mode_path,
    path_of,
    score_task,
    similarity,
)
from overread.benchmarks.m3cot.verdicts_authors import ORDERS

ALL = [path for n in range(5) for path in permutations(ORDERS, n)]
paths = st.sampled_from(ALL)
tasks = st.lists(paths, min_size=1, max_size=12)


def subsequences(path):
    return {some for n in range(len(path) + 1) for some in combinations(path, n)}


def test_there_are_65_paths():
    assert len(set(ALL)) == 65


@given(one=paths, two=paths)
def test_the_longest_common_subsequence(one, two):
    longest = max(len(some) for some in subsequences(one) & subsequences(two))
    assert lcs_length(one, two) == longest


@given(one=paths, two=paths)
def test_likeness_is_symmetric_from_0_to_1_and_1_of_equals_only(one, two):
    assert similarity(one, two) == similarity(two, one)
    assert 0 <= similarity(one, two) <= 1
    assert (similarity(one, two) == 1) is (one == two)


@given(ranks=st.lists(st.integers(-1, 6), min_size=4, max_size=4))
def test_a_path_names_each_category_above_0_once_in_order(ranks):
    path = path_of(dict(zip(ORDERS, ranks, strict=True)))
    assert set(path) == {name for name, rank in zip(ORDERS, ranks, strict=True) if rank > 0}
    told = [ranks[ORDERS.index(name)] for name in path]
    assert told == sorted(told)


def mean_likeness(reference, some):
    return sum(similarity(reference, path) for path in some) / len(some)


@given(some=tasks)
def test_the_medoid_is_the_best_observed_and_never_below_the_mode(some):
    best = max(mean_likeness(path, some) for path in some)
    assert score_task(some, "medoid").score == pytest.approx(best)
    assert mean_likeness(medoid_path(some), some) == pytest.approx(best)
    assert score_task(some, "mode").score <= best + 1e-12


@given(some=tasks)
def test_the_mode_is_the_first_of_the_most_frequent(some):
    most = max(some.count(path) for path in some)
    assert mode_path(some) == next(path for path in some if some.count(path) == most)


@given(some=tasks)
def test_set_apart_the_empty_path_is_no_reference_and_silence_no_consistency(some):
    for reference in ("mode", "medoid"):
        made = score_task(some, reference, apart=True)
        named = [path for path in some if path]
        assert bool(made.reference) is bool(named)
        if named:
            assert made.reference in named
        else:
            assert made.score == 0


@given(some=tasks, apart=st.booleans())
def test_counts_of_paths_score_like_the_paths_themselves(some, apart):
    seen = seen_in(*some)
    counts = hot(some, seen).sum(axis=0)[None, :]
    for reference in ("mode", "medoid"):
        one = scores_of(counts, seen, reference, apart=apart)
        assert one == pytest.approx([score_task(some, reference, apart=apart).score])


def test_no_paths_no_score():
    seen = seen_in(("modality",))
    assert np.isnan(scores_of(np.zeros((1, 1)), seen, "mode", apart=True)).all()
    with pytest.raises(ValueError, match="without paths"):
        score_task([], "mode")


def row(*orders):
    return dict(zip(ORDERS, orders, strict=True))


def test_numbers_come_back_from_the_file_as_numbers():
    rows = [row(1, 2.0, 3, 0), None, row("2", 1, None, 0), row(1.5, 0, 0, 0)]
    told = [path_of(cells) for cells in cells_of(rows)]
    assert told == [
        ("modality", "feature", "conclusion"),
        (),
        ("feature", "modality"),
        ("modality",),
    ]


def test_one_word_makes_its_whole_column_text_and_only_its_own():
    rows = [row("first", 2, 3, 0), row(1.0, 2.0, 3.0, 4.0), row(1, 2.0, 3, 0)]
    told = [path_of(cells) for cells in cells_of(rows)]
    assert told == [(), (), ("modality", "feature", "conclusion")]
    alone = [path_of(cells) for cells in cells_of(rows[1:])]
    assert alone[0] == ("modality", "feature", "conclusion", "others")


def test_truths_are_numbers_only_in_a_column_of_truths():
    assert path_of(cells_of([row(True, 0, 0, 0), row(False, 1, 0, 0)])[0]) == ("modality",)
    assert path_of(cells_of([row(True, 0, 0, 0), row(2, 1, 0, 0)])[0]) == ()
