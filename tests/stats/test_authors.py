"""The authors' stream, shared by many samples, is the stream each would have had alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.stats import (
    bootstrap_auroc,
    bootstrap_auroc_many,
    bootstrap_proportion,
    bootstrap_proportion_many,
    paired_bootstrap,
    paired_bootstrap_many,
)
from overread.stats._authors import resampled_sums, resamples

SIZES = st.lists(st.integers(1, 70), min_size=1, max_size=6)


def drawn(sizes: list[int], n_boot: int, seed: int) -> dict[int, np.ndarray]:
    found: dict[int, list[np.ndarray]] = {n: [] for n in sizes}
    for n, start, places in resamples(sizes, n_boot, seed):
        assert start == sum(part.shape[0] for part in found[n])
        found[n].append(places.copy())
    return {n: np.concatenate(parts) for n, parts in found.items()}


@given(SIZES, st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_every_size_sees_the_legacy_stream(sizes, n_boot, seed):
    for n, places in drawn(sizes, n_boot, seed).items():
        alone = np.random.RandomState(seed).randint(0, n, size=(n_boot, n))
        assert np.array_equal(places, alone)


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 2047, 2048, 2049, 2575, 70_000])
def test_sizes_on_both_sides_of_a_power_of_two(n):
    one_call = np.random.RandomState(9).randint(0, n, size=(7, n))
    by_row = np.random.RandomState(9)
    assert np.array_equal(drawn([n], 7, 9)[n], one_call)
    assert np.array_equal(np.stack([by_row.randint(0, n, n) for _ in range(7)]), one_call)


@pytest.mark.parametrize("words", [1, 3, 64, 1000])
def test_how_much_is_drawn_at_a_time_changes_nothing(words, monkeypatch):
    monkeypatch.setattr("overread.stats._authors._WORDS", words)
    for n, places in drawn([1, 5, 33, 60, 64], 12, 4).items():
        assert np.array_equal(places, np.random.RandomState(4).randint(0, n, size=(12, n)))


@pytest.mark.parametrize("copies", [1, 2, 3, 8, 23])
def test_sums_of_vectors_packed_side_by_side(copies):
    random = np.random.RandomState(copies)
    vectors = [random.randint(-1, 2, n) for n in (1, 40, 300) for _ in range(copies)]
    vectors += [np.full(n, value) for n in (7, 300) for value in (1, -1, 0)]
    for vector, sums in zip(vectors, resampled_sums(vectors, 50, 2), strict=True):
        places = np.random.RandomState(2).randint(0, vector.size, size=(50, vector.size))
        assert np.array_equal(sums, vector[places].sum(axis=1))


@pytest.mark.slow
def test_many_at_once_are_each_alone():
    random = np.random.RandomState(0)
    sizes = [0, 1, 30, 30, 30, 30, 64, 65, 100]
    a = [random.randint(0, 2, n) for n in sizes]
    b = [random.randint(0, 2, n) for n in sizes]
    scores = [random.uniform(size=n) for n in sizes]
    assert bootstrap_proportion_many(a, 300, 1) == [bootstrap_proportion(x, 300, 1) for x in a]
    for exact in (True, False):
        many = paired_bootstrap_many(list(zip(a, b, strict=True)), 300, 1, exact_ties=exact)
        alone = [
            paired_bootstrap(x, y, 300, 1, exact_ties=exact) for x, y in zip(a, b, strict=True)
        ]
        assert many == alone
    samples = list(zip(scores, a, strict=True))
    assert bootstrap_auroc_many(samples, 300, 1) == [bootstrap_auroc(*s, 300, 1) for s in samples]
    assert bootstrap_proportion_many([]) == []
    assert paired_bootstrap_many([]) == []
    assert bootstrap_auroc_many([]) == []


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 0.1]), min_size=1, max_size=12))
def test_values_that_are_not_zero_or_one_are_averaged(values):
    x = np.array(values)
    means = x[np.random.RandomState(3).randint(0, x.size, size=(60, x.size))].mean(axis=1)
    found = bootstrap_proportion(values, 60, 3)
    assert [found.low, found.high] == np.percentile(means, [2.5, 97.5]).tolist()
    assert found.sd == means.std(ddof=1)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=25))
def test_paired_bootstrap_is_the_obvious_resampling(pairs):
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    n, n_boot = a.size, 80
    places = np.random.RandomState(6).randint(0, n, size=(n_boot, n))
    sums = a[places].sum(axis=1) - b[places].sum(axis=1)
    total = int(a.sum() - b.sum())
    share = sum(abs(int(s) - total) >= abs(total) for s in sums) / n_boot
    means = a[places].mean(axis=1) - b[places].mean(axis=1)
    point = a.mean() - b.mean()
    rounded = float(np.mean(np.abs(means - point) >= abs(point)))
    exact, theirs = (paired_bootstrap(a, b, n_boot, 6, exact_ties=ties) for ties in (True, False))
    assert exact.p == max(share, 1 / n_boot)
    assert theirs.p == max(rounded, 1 / n_boot)
    assert theirs.p <= exact.p
    assert [theirs.low, theirs.high] == np.percentile(means, [2.5, 97.5]).tolist()
    assert theirs.sd == means.std(ddof=1)
    assert exact.sd == pytest.approx(theirs.sd, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [([1, 0], [1]), ([2, 0], [0, 0]), ([0.5], [1])])
def test_paired_bootstrap_refuses_what_it_cannot_pair(a, b):
    with pytest.raises(ValueError, match="outcome"):
        paired_bootstrap(a, b)
