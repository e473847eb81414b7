"""The pace: grow while it pays, halve when told, keep within the meters."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import Limits, ReaderFailure
from overread.engine.pace import Pace

TOO_MANY = ReaderFailure("HTTP 429", heals=True, throttled=True)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def failed(pace: Pace, failure: ReaderFailure) -> None:
    """A call failed, and its slot is free."""
    pace.heard(failure)
    pace.give_back()


async def rounds(pace: Pace, clock: Clock, n: int, latency: float) -> None:
    """n rounds of as many calls as there are slots, each taking `latency`."""
    for _ in range(n):
        calls = int(pace.slots)
        for _ in range(calls):
            await pace.acquire()
        clock.now += latency
        for _ in range(calls):
            pace.succeeded(latency, 0)


def test_slots_double_while_latency_holds_up_to_the_ceiling() -> None:
    clock = Clock()
    pace = Pace(Limits(concurrency=64), clock=clock)
    seen = [pace.slots]

    async def go() -> None:
        for _ in range(4):
            await rounds(pace, clock, 1, 0.05)
            seen.append(pace.slots)

    asyncio.run(go())
    assert seen == [8, 16, 32, 64, 64]


def test_slots_stay_when_latency_doubles_and_nothing_is_gained() -> None:
    clock = Clock()
    pace = Pace(Limits(concurrency=1024), clock=clock)

    async def go() -> None:
        for _ in range(10):  # a server that does 100 a second whatever is thrown at it
            await rounds(pace, clock, 1, pace.slots / 100)

    asyncio.run(go())
    assert pace.slots <= 64


def test_a_refusal_halves_once_per_burst_then_growth_is_slow() -> None:
    clock = Clock()
    pace = Pace(Limits(concurrency=64), clock=clock)

    async def go() -> None:
        await rounds(pace, clock, 3, 0.05)
        for _ in range(10):
            await pace.acquire()
        for _ in range(10):
            failed(pace, TOO_MANY)
        assert pace.slots == 32
        clock.now += 1
        await rounds(pace, clock, 2, 0.05)
        assert pace.slots == 34
        clock.now += 1
        await pace.acquire()
        failed(pace, TOO_MANY)
        assert pace.slots == 17

    asyncio.run(go())


def test_never_fewer_than_one_slot() -> None:
    clock = Clock()
    pace = Pace(Limits(concurrency=4), clock=clock)

    async def go() -> None:
        for _ in range(20):
            await pace.acquire()
            clock.now += 10
            failed(pace, TOO_MANY)

    asyncio.run(go())
    assert pace.slots == 1


def test_a_failure_that_is_not_a_refusal_leaves_the_pace_alone() -> None:
    pace = Pace(Limits(concurrency=64))

    async def go() -> None:
        await pace.acquire()
        failed(pace, ReaderFailure("HTTP 500", heals=True))

    asyncio.run(go())
    assert pace.slots == 8


def test_no_more_calls_at_once_than_slots_and_a_cancelled_waiter_loses_no_slot() -> None:
    pace = Pace(Limits(concurrency=2))

    async def go() -> None:
        await pace.acquire()
        await pace.acquire()
        waiting = [asyncio.create_task(pace.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        waiting[0].cancel()
        pace.succeeded(0.01, 0)
        await asyncio.sleep(0.01)
        assert [task.done() for task in waiting] == [True, True, False]
        assert pace.active == 2
        waiting[2].cancel()

    asyncio.run(go())


def test_first_come_first_served() -> None:
    pace = Pace(Limits(concurrency=1))
    served: list[object] = []

    async def call(name: object) -> None:
        await pace.acquire()
        served.append(name)
        await asyncio.sleep(0)
        pace.give_back()

    async def go() -> None:
        await pace.acquire()
        waiting = [asyncio.create_task(call(number)) for number in range(5)]
        await asyncio.sleep(0)
        pace.give_back()
        await call("newcomer")  # the slot is free at this moment, but it is another's
        await asyncio.gather(*waiting)

    asyncio.run(go())
    assert served == [0, 1, 2, 3, 4, "newcomer"]
    assert pace.active == 0


def test_a_waiter_cancelled_as_it_is_called_passes_its_slot_on() -> None:
    pace = Pace(Limits(concurrency=1))

    async def go() -> None:
        await pace.acquire()
        first, second = (asyncio.create_task(pace.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        pace.give_back()
        first.cancel()
        await asyncio.wait_for(second, 1)
        assert first.cancelled()
        assert pace.active == 1

    asyncio.run(go())


@pytest.mark.slow
def test_requests_per_minute_space_calls_out() -> None:
    pace = Pace(Limits(concurrency=64, requests_per_minute=1200))

    async def go() -> float:
        began = asyncio.get_running_loop().time()
        for _ in range(11):
            await pace.acquire()
            pace.succeeded(0.001, 0)
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(go()) >= 0.5  # ten gaps of 50 ms: a lower bound, never a race


@pytest.mark.slow
def test_tokens_per_minute_hold_calls_back() -> None:
    pace = Pace(Limits(concurrency=64, tokens_per_minute=6000))  # 100 a second, 1,000 in hand

    async def go() -> float:
        began = asyncio.get_running_loop().time()
        for _ in range(12):
            await pace.acquire()
            pace.succeeded(0.001, 100)
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(go()) >= 0.9


def test_a_call_that_failed_used_no_tokens() -> None:
    clock = Clock()
    pace = Pace(Limits(concurrency=64, tokens_per_minute=6000), clock=clock)  # 1,000 in hand

    async def go() -> None:
        await pace.acquire()
        pace.succeeded(0.001, 500)
        for _ in range(50):  # at 100 tokens each they would be 5,000
            await pace.acquire()
            failed(pace, ReaderFailure("HTTP 500", heals=True))

    asyncio.run(asyncio.wait_for(go(), 2))


@given(st.integers(1, 30), st.floats(0, 1), st.floats(0.001, 10))
def test_jitter_stays_below_the_exponential_ceiling(n: int, draw: float, backoff: float) -> None:
    limits = Limits(backoff=backoff)
    failure = ReaderFailure("x", heals=True)
    wait = Pace(limits, draw=lambda: draw).delay(failure, n)
    assert 0 <= wait <= min(60.0, backoff * 2 ** (n - 1))


def test_retry_after_is_honoured_and_bounded() -> None:
    asked = ReaderFailure("x", heals=True, retry_after=7.0)
    assert 7 <= Pace(Limits(), draw=lambda: 1.0).delay(asked, 1) <= 8
    absurd = ReaderFailure("x", heals=True, retry_after=1e9)
    assert Pace(Limits(), draw=lambda: 0.0).delay(absurd, 1) == 600
