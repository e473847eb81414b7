"""The pipeline: every trial ends answered once or failed with its reason."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from overread.case import (
    Limits,
    Message,
    Picture,
    ReaderFailure,
    Reply,
    Request,
    Source,
    Traits,
    Trial,
)
from overread.engine import Sources, Store, Studio, Tally, ask, read_back
from support.readers import Scripted, questions


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as made:
        yield made


@pytest.fixture
def studio(store: Store) -> Iterator[Studio]:
    made = Studio(Sources(store, 1))
    yield made
    made.close()


def go(plan, reader, store: Store, studio: Studio, **options: object) -> Tally:
    return asyncio.run(ask(plan, reader, store, studio, dataset=1, **options))


def test_every_trial_is_asked_once_and_read_back_in_plan_order(store, studio) -> None:
    reader = Scripted()
    tally = go(questions(1000), reader, store, studio)
    assert (tally.planned, tally.answered, tally.failed) == (1000, 1000, 0)
    assert set(reader.asked.values()) == {1}
    rows = list(read_back(questions(1000), reader, store, studio))
    assert [trial.case for trial, _, _ in rows] == [f"case {n}" for n in range(1000)]
    assert all(
        r is not None and r.text == f"question {n}"[::-1] for n, (_, r, _) in enumerate(rows)
    )


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    for asked, kept, answered in ((300, 0, 300), (400, 300, 100)):
        with Store(tmp_path / "store.sqlite") as store:
            again, studio = Scripted(), Studio(Sources(store, 1))
            tally = go(questions(asked), again, store, studio)
            studio.close()
        assert (tally.kept, tally.answered) == (kept, answered)
    assert sum(again.asked.values()) == 100


def test_equal_requests_under_way_share_one_call(store, studio) -> None:
    reader = Scripted(delay=0.01)
    tally = go(questions(600, distinct=False), reader, store, studio)
    assert sum(reader.asked.values()) == 1
    assert tally.shared + tally.kept + tally.answered == 600
    assert all(reply for _, reply, _ in read_back(questions(600), reader, store, studio)) is False
    shared = read_back(questions(600, distinct=False), reader, store, studio)
    assert all(reply is not None for _, reply, _ in shared)


def test_sampled_replies_are_not_shared_between_cases(store, studio) -> None:
    reader = Scripted()
    go(questions(50, greedy=False, distinct=False), reader, store, studio)
    assert reader.asked["the same question"] == 50


def test_concurrency_is_bounded(store, studio) -> None:
    reader = Scripted(delay=0.002, limits=Limits(concurrency=5))
    go(questions(200), reader, store, studio)
    assert 1 < reader.most_at_once <= 5


def test_what_heals_is_asked_again_and_what_does_not_is_recorded_at_once(store, studio) -> None:
    tries: dict[str, int] = {}

    def say(prompt):
        tries[prompt.text] = tries.get(prompt.text, 0) + 1
        number = int(prompt.text.split()[1])
        if number % 5 == 0 and tries[prompt.text] < 3:
            return ReaderFailure("HTTP 503: busy", heals=True)
        if number % 7 == 1:
            return ReaderFailure("HTTP 400: bad", heals=False)
        if number % 11 == 2:
            return ReaderFailure("HTTP 500: broken", heals=True)
        return Reply(text="fine")

    reader = Scripted(say, limits=Limits(concurrency=8, attempts=3, backoff=0.001))
    tally = go(questions(100), reader, store, studio)
    reasons = {
        trial.case: reason
        for trial, reply, reason in read_back(questions(100), reader, store, studio)
        if reply is None
    }
    assert tally.answered + tally.failed == 100
    assert len(reasons) == tally.failed
    assert reasons["case 1"] == "HTTP 400: bad"
    assert tries["question 1"] == 1
    assert reasons["case 2"] == "HTTP 500: broken (after 3 attempts)"
    assert "case 5" not in reasons


def test_a_failure_is_tried_again_by_the_next_run(store, studio) -> None:
    bad = Scripted(
        lambda p: ReaderFailure("HTTP 500", heals=True) if "3" in p.text else Reply(text="x")
    )
    go(questions(20), bad, store, studio)
    good = Scripted()
    tally = go(questions(20), good, store, studio)
    assert tally.failed == 0
    assert set(good.asked) == {"question 3", "question 13"}


def test_a_run_whose_first_trials_all_fail_alike_stops_and_says_why(store, studio) -> None:
    reader = Scripted(lambda p: ReaderFailure("HTTP 401: wrong key", heals=False))
    tally = go(questions(5000), reader, store, studio)
    assert tally.stopped is not None
    assert "HTTP 401: wrong key" in tally.stopped
    assert sum(reader.asked.values()) < 100


def test_failures_of_different_kinds_do_not_stop_a_run(store, studio) -> None:
    def say(prompt):
        odd = int(prompt.text.split()[1]) % 2
        return ReaderFailure("HTTP 400: a" if odd else "timeout: b", heals=False)

    tally = go(questions(100), Scripted(say), store, studio)
    assert tally.stopped is None
    assert tally.failed == 100


def test_stopping_keeps_what_is_done_and_begins_nothing_new(store, studio) -> None:
    reader = Scripted(delay=0.005)

    async def interrupted() -> Tally:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, stop.set)
        return await ask(questions(100_000), reader, store, studio, dataset=1, stop=stop)

    tally = asyncio.run(interrupted())
    assert 0 < tally.answered < 100_000
    assert store.count() == tally.answered == sum(reader.asked.values())


def test_a_missing_picture_fails_its_own_trial_only(store, studio, tmp_path: Path) -> None:
    def plan():
        for number in range(20):
            parts = ("q", f"{number}")
            if number == 7:
                parts = (Picture(Source(str(tmp_path), "gone.png")), "q")
            yield Trial(f"case {number}", {}, Request((Message("user", parts),)))

    reader = Scripted()
    tally = go(plan, reader, store, studio)
    assert (tally.answered, tally.failed) == (19, 1)
    rows = {t.case: (r, why) for t, r, why in read_back(plan, reader, store, studio)}
    assert rows["case 7"][0] is None
    assert "gone.png" in rows["case 7"][1]


def test_a_text_only_reader_never_receives_pixels_nor_has_them_rendered(store, studio) -> None:
    seen = []

    def say(prompt):
        seen.append(prompt)
        return Reply(text="Yes")

    def plan():
        for name in ("a.png", "b.png", "c.png"):  # none of them exists
            parts = (Picture(Source("/nowhere", name)), "Is it there?")
            yield Trial(name, {}, Request((Message("user", parts),)))

    go(plan, Scripted(say, traits=Traits(modality="text")), store, studio)
    assert len(seen) == 1
    assert seen[0].pictures == ()


def test_two_runs_on_one_store_ask_nothing_twice(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    readers = [Scripted(delay=0.002), Scripted(delay=0.003)]

    async def both() -> list[Tally]:
        stores = [Store(place), Store(place)]
        studios = [Studio(Sources(store, 1)) for store in stores]
        tallies = await asyncio.gather(
            *(
                ask(questions(2000), reader, store, studio, dataset=1)
                for reader, store, studio in zip(readers, stores, studios, strict=True)
            )
        )
        for store in stores:
            store.close()
        return tallies

    tallies = asyncio.run(both())
    total = readers[0].asked + readers[1].asked
    assert len(total) == 2000
    assert set(total.values()) == {1}
    assert sum(tally.answered for tally in tallies) == 2000
    assert all(tally.answered > 0 for tally in tallies)
