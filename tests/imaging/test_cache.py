"""The cache is bounded, forgets the least recently used, and renders each key once."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import Shown
from overread.imaging import Cache


def picture(size=100):
    return Shown("image/png", bytes(size))


def counting(made, key, size=100):
    def make():
        made.append(key)
        return picture(size)

    return make


def test_a_kept_picture_is_the_same_object_and_is_not_made_again():
    cache, made = Cache(), []
    first = cache.get("a", counting(made, "a"))
    assert cache.get("a", counting(made, "a")) is first
    assert made == ["a"]


def test_the_least_recently_used_goes_first():
    cache, made = Cache(most_bytes=600), []  # two pictures of 100 bytes, counted 2.4 times
    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(key, counting(made, key))
    assert made == ["a", "b", "c", "b"]


def test_the_base64_copy_is_counted():
    cache = Cache(most_bytes=10_000)
    cache.get("a", lambda: picture(1000))
    assert 2400 <= cache.held_bytes <= 2500


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 900)), max_size=60))
def test_it_never_holds_more_than_it_may(requests):
    cache = Cache(most_bytes=2000)
    for key, size in requests:
        cache.get(key, lambda size=size: picture(size))
        assert 0 <= cache.held_bytes <= 2000


def test_what_is_larger_than_the_cache_is_made_and_not_kept():
    cache, made = Cache(most_bytes=500), []
    cache.get("small", counting(made, "small"))
    for _ in range(2):
        assert len(cache.get("large", counting(made, "large", 10_000)).data) == 10_000
    cache.get("small", counting(made, "small"))
    assert made == ["small", "large", "large"]


def in_threads(count, work):
    barrier = threading.Barrier(count)
    results = [None] * count

    def run(index):
        barrier.wait()
        try:
            results[index] = work(index)
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
    return results


def test_threads_that_ask_at_once_share_one_rendering():
    cache, made = Cache(), []

    def slow():
        made.append(1)
        time.sleep(0.05)
        return picture()

    results = in_threads(8, lambda _: cache.get("a", slow))
    assert made == [1]
    assert all(result is results[0] for result in results)


def test_different_keys_do_not_wait_for_each_other():
    cache, meeting = Cache(), threading.Barrier(4, timeout=10)

    def meet():
        meeting.wait()  # passes only when all four are being made at once
        return picture()

    assert all(isinstance(r, Shown) for r in in_threads(4, lambda i: cache.get(i, meet)))


def test_an_exception_reaches_every_waiter_and_is_not_kept():
    cache, made = Cache(), []

    def fail():
        made.append(1)
        time.sleep(0.05)
        raise ValueError("no such file")

    results = in_threads(6, lambda _: cache.get("a", fail))
    assert made == [1]
    assert all(isinstance(r, ValueError) for r in results)
    assert cache.get("a", picture).data == bytes(100)


def test_an_interrupt_does_not_leave_the_key_locked():
    cache = Cache()

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get("a", interrupted)
    assert cache.get("a", picture).data == bytes(100)


def test_under_many_threads_the_sum_stays_right():
    cache = Cache(most_bytes=5000)

    def work(index):
        for step in range(300):
            key = (index * 7 + step * 13) % 23
            assert len(cache.get(key, lambda key=key: picture(10 * key + 1)).data) == 10 * key + 1
        return True

    assert in_threads(6, work) == [True] * 6
    assert 0 < cache.held_bytes <= 5000
    for key in range(100, 400):  # push everything else out: what remains is counted exactly
        cache.get(key, lambda: picture(100))
    assert cache.held_bytes == 5000 // 241 * 241
