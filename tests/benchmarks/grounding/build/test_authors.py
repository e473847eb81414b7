"""The builder's random stream: one integer per executed sample (GROUNDING 2.1)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.authors import Stream


@given(st.integers(0, 2**32), st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60))))
def test_each_sample_is_seeded_by_the_next_integer_and_drawn_as_pandas_draws(seed, draws):
    stream, integers = Stream(seed), np.random.default_rng(seed)
    for available, size in draws:
        own = np.random.RandomState(int(integers.integers(2**31)))
        # Choosing without replacement is the start of a permutation.
        expected = own.permutation(available)[: min(size, available)]
        assert stream.sample(available, size).tolist() == expected.tolist()


@given(st.integers(0, 2**32), st.integers(1, 100), st.integers(1, 100))
def test_a_sample_holds_distinct_positions_and_no_more_than_there_are(seed, available, size):
    positions = Stream(seed).sample(available, size)
    assert len(set(positions.tolist())) == len(positions) == min(size, available)
    assert all(0 <= position < available for position in positions)


def test_a_step_with_nothing_to_sample_draws_nothing():
    stream, untouched = Stream(42), Stream(42)
    assert not stream.sample(0, 10).size
    assert not stream.sample(10, 0).size
    assert stream.swap(0, 0) == (0, 0)
    assert stream.swap(1000, 1000) == untouched.swap(1000, 1000)


def test_two_samples_of_one_stream_differ_and_two_streams_of_one_seed_do_not():
    stream = Stream(1)
    first, second = stream.sample(50, 50).tolist(), stream.sample(50, 50).tolist()
    assert first != second
    assert Stream(1).sample(50, 50).tolist() == first
