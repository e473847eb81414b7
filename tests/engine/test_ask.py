"""The pipeline: every trial ends answered once or failed with its reason."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image

from overread.case import (
    Limits,
    Message,
    Picture,
    Prompt,
    ReaderFailure,
    Reply,
    Request,
    Source,
    Traits,
    Trial,
)
from overread.engine import Given, Sources, Store, Studio, Tally, ask, read_back
from overread.readers import Guard, open_reader
from support.answering import answering, response
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


MEANINGLESS = (
    (("Yes", 0.0), ("No", 0.0)),
    (("Yes", -9999.0), ("No", -9999.0)),
    (("Yes", 0.0), ("No", -9999.0)),
    (("Yes", 0.0),),
)


@pytest.mark.parametrize("filled_in", MEANINGLESS)
def test_log_probabilities_that_mean_nothing_are_not_read(store, studio, filled_in) -> None:
    """Some servers take the question for them and fill something in; a confidence of 1 for all."""
    reader = Scripted(lambda p: Reply("Yes", logprobs=filled_in))
    go(questions(100), reader, store, studio)
    given = Given()
    rows = list(read_back(questions(100), reader, store, studio, given))
    assert {reply.logprobs for _, reply, _ in rows if reply} == {None}
    assert given.filled_in == 100


@pytest.mark.parametrize("said", [-0.3, -17.5, -1e-9])
def test_one_that_means_something_speaks_for_all(store, studio, said: float) -> None:
    """A model that is sure of nearly everything may be rounded to 0 now and then."""
    odd = {"7": said}

    def say(prompt: Prompt) -> Reply:
        return Reply("Yes", logprobs=(("Yes", odd.get(prompt.text[-1], 0.0)), ("No", -9999.0)))

    reader = Scripted(say)
    go(questions(100), reader, store, studio)
    given = Given()
    rows = list(read_back(questions(100), reader, store, studio, given))
    assert all(reply and reply.logprobs for _, reply, _ in rows)
    assert given.filled_in == 0


def test_controls_and_too_few_replies_are_not_judged(store, studio) -> None:
    sure = lambda p: Reply("Yes", logprobs=(("Yes", 0.0),))  # noqa: E731
    for reader, n in ((Scripted(sure, name="control:sure:1"), 100), (Scripted(sure), 7)):
        go(questions(n), reader, store, studio)
        rows = read_back(questions(n), reader, store, studio)
        assert all(reply and reply.logprobs for _, reply, _ in rows)


@pytest.mark.slow
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


def test_only_a_reader_made_of_the_cases_is_told_which_case_it_is(store, studio) -> None:
    def says(prompt):
        return Reply(text=f"about {prompt.case or 'nothing'}")

    plain, control = Scripted(says), Scripted(says, name="c", traits=Traits(told_case=True))
    for reader, calls, said in (
        (plain, 1, ["about nothing"] * 3),
        (control, 3, [f"about case {n}" for n in range(3)]),
    ):
        # One question, put to three cases.
        go(questions(3, distinct=False), reader, store, studio)
        assert sum(reader.asked.values()) == calls
        found = read_back(questions(3, distinct=False), reader, store, studio)
        assert [reply.text for _, reply, _ in found if reply] == said


def test_no_spec_asks_to_be_told_the_case() -> None:
    from overread.case import BadInput
    from overread.readers import parse_spec

    for spec in ("openai:m@http://127.0.0.1:1/v1?told_case=true", "control:oracle?told_case=true"):
        with pytest.raises(BadInput, match='no option "told_case"'):
            parse_spec(spec)
    assert not parse_spec("openai:m@http://127.0.0.1:1/v1").traits.told_case


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


@pytest.mark.slow
def test_the_next_chunk_is_named_while_one_is_claimed(store, studio, monkeypatch) -> None:
    """Else whoever looks at its pictures waits for the store."""
    begun, claimed, overlapped = threading.Semaphore(0), [0], []
    digest, claim = studio.digest, store.claim

    async def begins(requests: list[Request]) -> bool:
        begun.release()
        return await digest(requests)

    def waits(keys: Sequence[bytes], *more: object) -> object:
        claimed[0] += 1
        begun.acquire(timeout=20)
        if claimed[0] < 4:  # there are chunks of 32, 64, 128 and 16
            overlapped.append(begun.acquire(timeout=20))
            begun.release()
        return claim(keys, *more)

    monkeypatch.setattr(studio, "digest", begins)
    monkeypatch.setattr(store, "claim", waits)
    tally = go(questions(240), Scripted(), store, studio)
    assert (tally.planned, tally.answered) == (240, 240)
    assert overlapped == [True] * 3


def test_pictures_that_cannot_be_shown_stop_no_run_that_has_others(
    tmp_path, store, studio, monkeypatch
) -> None:
    """Also where those that can stand in a chunk that is named and not yet claimed."""
    Image.new("L", (8, 8)).save(tmp_path / "sound.png")
    (tmp_path / "damaged.png").write_bytes((tmp_path / "sound.png").read_bytes()[:-20])
    tally, claimed, claim = Tally(), [0], store.claim

    def plan() -> Iterator[Trial]:
        for number in range(600):
            name = "damaged.png" if number < 224 else "sound.png"
            message = Message("user", (Picture(Source(str(tmp_path), name)), f"question {number}"))
            yield Trial(f"case {number}", {"image": "original"}, Request((message,)))

    def waits(keys: Sequence[bytes], *more: object) -> object:
        claimed[0] += 1
        ends = time.monotonic() + 20
        while claimed[0] == 4 and tally.failed < 224 and time.monotonic() < ends:
            time.sleep(0.01)
        return claim(keys, *more)

    monkeypatch.setattr(store, "claim", waits)
    go(plan, Scripted(), store, studio, tally=tally)
    assert tally.stopped is None
    assert (tally.planned, tally.answered, tally.failed) == (600, 376, 224)


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


def films(folder: Path, n: int, missing: int):
    """A plan of n questions on films, the first of which are not there."""
    Image.new("L", (8, 8), 77).save(folder / "film.png")

    def plan() -> Iterator[Trial]:
        for number in range(n):
            name = f"gone {number}.png" if number < missing else "film.png"
            parts = (Picture(Source(str(folder), name)), f"question {number}")
            yield Trial(f"case {number}", {}, Request((Message("user", parts),)))

    return plan


def test_a_few_missing_pictures_do_not_stop_a_run(store, studio, tmp_path: Path) -> None:
    tally = go(films(tmp_path, 160, missing=13), Scripted(delay=0.01), store, studio)
    assert tally.stopped is None
    assert (tally.answered, tally.failed) == (147, 13)
    assert tally.reasons == {"picture": 13}


def test_a_run_without_any_picture_stops_and_says_why(store, studio, tmp_path: Path) -> None:
    reader = Scripted()
    tally = go(films(tmp_path, 2000, missing=2000), reader, store, studio)
    assert tally.stopped is not None
    assert "gone" in tally.stopped
    assert tally.planned < 2000
    assert not reader.asked


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_unreadable_or_missing_pictures_in_front_do_not_stop_a_run(
    store, studio, tmp_path: Path, there: bool, delay: float
) -> None:
    plan = films(tmp_path, 160, missing=40)
    if there:
        for number in range(40):
            (tmp_path / f"gone {number}.png").write_bytes(b"no picture %d" % number)
    tally = go(plan, Scripted(delay=delay, limits=Limits(concurrency=64)), store, studio)
    assert tally.stopped is None
    assert (tally.answered, tally.failed) == (120, 40)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 1200])
def test_a_run_of_pictures_that_cannot_be_read_stops(store, studio, tmp_path: Path, n: int) -> None:
    plan = films(tmp_path, n, missing=n)
    for number in range(n):
        (tmp_path / f"gone {number}.png").write_bytes(b"no picture %d" % number)
    reader = Scripted()
    tally = go(plan, reader, store, studio)
    assert tally.stopped is not None
    assert "unknown format" in tally.stopped
    assert tally.failed == 20 or tally.failed < 1200
    assert not reader.asked


def good(text: str = "Yes", **usage: int) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}], "usage": usage}).encode()


# Everything here is one response of an otherwise good server.
ODD = {
    "redirect": response(b"", 302, b"Location: http://x/\xff\xfe"),
    "deep": response(b"[" * 100_000),
    "deep 500": response(b"[" * 100_000, 500),
    "code": response('{"error": {"message": "no", "code": "²"}}'.encode()),
    "long code": response(b'{"error": {"code": "' + b"9" * 5000 + b'"}}'),
    "surrogate": response(b'{"error": {"message": "half \\ud83d", "code": 400}}'),
    "reason": b"HTTP/1.1 500 \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "no HTTP": b"\x00\x01\xff\xfe\r\n\r\n",
}
ODD_BUT_GOOD = {
    "tokens": response(good(prompt_tokens=2**70, completion_tokens=2**63)),
    "logprob": response(
        b'{"choices": [{"message": {"content": "Yes"}, "logprobs": {"content": '
        b'[{"token": "Yes", "logprob": -1' + b"0" * 400 + b"}]}}]}"
    ),
}


def test_odd_responses_are_failures_of_their_own_trials_only(store, studio) -> None:
    named = ODD | ODD_BUT_GOOD

    def plan() -> Iterator[Trial]:
        for name in [
            *(f"plain {n}" for n in range(100)),
            *named,
            *(f"more {n}" for n in range(100)),
        ]:
            yield Trial(name, {}, Request((Message("user", (name,)),)))

    def answer(request: bytes) -> bytes:
        asked = json.loads(request.partition(b"\r\n\r\n")[2])["messages"][0]["content"]
        return named.get(asked, response(good()))

    async def against_the_server() -> tuple[Tally, dict[str, str]]:
        async with answering(answer) as url:
            spec = f"openai:m@{url}?attempts=2&backoff=0.001"
            reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
            tally = await ask(plan, reader, store, studio, dataset=1)
            await reader.close()
            rows = read_back(plan, reader, store, studio)
            return tally, {t.case: why for t, reply, why in rows if reply is None}

    tally, failed = asyncio.run(against_the_server())
    assert set(failed) == set(ODD)
    assert (tally.answered, tally.failed) == (200 + len(ODD_BUT_GOOD), len(ODD))
    assert store.count() == tally.answered
    assert all(reason.isprintable() for reason in failed.values())


def test_what_had_come_back_is_kept_when_a_reader_breaks_down(store, studio) -> None:
    def say(prompt):
        if prompt.text == "question 300":
            raise RuntimeError("a fault nobody foresaw")
        return Reply(text="fine")

    reader = Scripted(say, limits=Limits(concurrency=64))
    with pytest.raises(ExceptionGroup) as caught:
        go(questions(400), reader, store, studio)
    assert caught.group_contains(RuntimeError, match="a fault nobody foresaw")
    # Those before it were taken up before it; some of the 64 workers may have waited for a slot.
    assert store.count() == sum(reader.asked.values()) - 1 >= 300 - 64
    assert store.under_way == set()


def test_no_call_begins_after_a_stop(store, studio) -> None:
    stop = asyncio.Event()

    class Watched(Scripted):
        began_late = 0

        async def reply(self, prompt):
            self.began_late += stop.is_set()
            if len(self.asked) == 12:
                stop.set()
            return await super().reply(prompt)

    # Far more workers than the slots the pace begins with: most of them are waiting for one.
    reader = Watched(delay=0.02, limits=Limits(concurrency=64))
    tally = go(questions(5000), reader, store, studio, stop=stop)
    assert reader.began_late == 0
    assert 12 <= tally.answered == store.count() < 100


def test_a_call_that_was_stopped_while_it_waited_is_asked_by_the_next_run(store, studio) -> None:
    stop = asyncio.Event()
    limits = Limits(concurrency=64)  # of which the pace begins with few
    reader = Scripted(lambda p: stop.set() or Reply(text="x"), limits=limits, delay=0.01)
    first = go(questions(300), reader, store, studio, stop=stop)
    assert first.answered < 300
    assert store.under_way == set()
    again = go(questions(300), reader, store, studio)
    assert again.answered == 300 - first.answered
    assert set(reader.asked.values()) == {1}


def test_two_readers_of_one_identity_ask_each_request_once(store, studio) -> None:
    readers = [Scripted(delay=0.005), Scripted(delay=0.005)]

    async def both() -> list[Tally]:
        jobs = (ask(questions(200), reader, store, studio, dataset=1) for reader in readers)
        return await asyncio.gather(*jobs)

    tallies = asyncio.run(both())
    total = readers[0].asked + readers[1].asked
    assert len(total) == 200
    assert set(total.values()) == {1}
    assert sum(tally.answered for tally in tallies) == 200
    assert [tally.settled for tally in tallies] == [200, 200]
    assert store.under_way == set()


@pytest.mark.slow
def test_a_tally_says_when_it_waits_for_another_process(tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    other = Scripted(delay=0.3)
    tally, seen = Tally(), []

    async def both() -> None:
        with Store(place) as theirs, Store(place) as ours:
            studios = [Studio(Sources(store, 1)) for store in (theirs, ours)]
            asking = asyncio.create_task(ask(questions(4), other, theirs, studios[0], dataset=1))
            while not other.asked:
                await asyncio.sleep(0.01)
            waiting = asyncio.create_task(
                ask(questions(4), Scripted(), ours, studios[1], dataset=1, tally=tally)
            )
            while not waiting.done():
                seen.append(tally.waiting)
                await asyncio.sleep(0.01)
            await asyncio.gather(asking, waiting)
            for studio in studios:
                studio.close()

    asyncio.run(both())
    assert True in seen
    assert not tally.waiting
    assert (tally.kept, tally.answered) == (4, 0)


def test_a_long_call_keeps_its_claims_alive(store, studio, monkeypatch) -> None:
    monkeypatch.setattr(import_module("overread.engine.ask"), "_BEAT", 0.01)
    beats = []
    monkeypatch.setattr(store, "beat", lambda: beats.append(1))
    go(questions(1), Scripted(delay=0.2), store, studio)
    assert len(beats) >= 3


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("259200", "3 days"),
        ("7300", "2 hours"),
        ("1e400", "for ever"),
        ("inf", "for ever"),
        ("Fri, 01 Jan 9999 00:00:00 GMT", r"[\d,]+ days|for ever"),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_to_wait_for_days_is_not_waited_for(
    store, studio, header: str, told: str, status: int
) -> None:
    busy = response(b"come back later", status, f"Retry-After: {header}".encode())

    async def work() -> Tally:
        async with answering(lambda _: busy) as url:
            spec = f"openai:m@{url}?timeout=30&attempts=50"
            reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
            try:
                return await asyncio.wait_for(
                    ask(questions(3), reader, store, studio, dataset=1), timeout=60
                )
            finally:
                await reader.close()
                reasons.extend(r for _, _, r in read_back(questions(3), reader, store, studio))

    reasons: list[str] = []
    tally = asyncio.run(work())
    assert (tally.failed, tally.retried) == (3, 0)
    (kind,) = tally.reasons
    assert re.fullmatch(rf"HTTP {status} \(asks to wait ({told}); patience=600\)", kind)
    assert reasons == [f"{kind}: come back later"] * 3


@pytest.mark.slow
def test_patience_counts_all_the_waits_of_a_trial(store, studio) -> None:
    busy = ReaderFailure("HTTP 429: busy", heals=True, throttled=True, retry_after=0.2)
    reader = Scripted(lambda _: busy, limits=Limits(attempts=50, backoff=0.0, patience=0.5))
    tally = go(questions(2), reader, store, studio)
    assert tally.retried == 2 * 2
    assert set(reader.asked.values()) == {3}
    assert set(tally.reasons) == {"HTTP 429 (asks to wait 0.2 seconds; patience=0.5)"}


@pytest.mark.slow
def test_what_waits_to_be_kept_is_bounded_by_its_length(store, studio, monkeypatch) -> None:
    """A few long replies fill the queue as many short ones do."""
    monkeypatch.setattr(import_module("overread.engine.ask"), "_PENDING_SIZE", 1_000_000)
    most = 0
    commit = store.commit

    def slow(replies, failures, asker) -> None:
        nonlocal most
        most = max(most, sum(len(reply.text) for _, _, reply in replies))
        commit(replies, failures, asker)

    monkeypatch.setattr(store, "commit", slow)
    reader = Scripted(lambda p: Reply(p.text * 20_000), limits=Limits(concurrency=4))
    tally = go(questions(200), reader, store, studio)
    assert tally.answered == 200
    crew = 4 + 2 * studio.threads
    assert most <= 1_000_000 + (crew + 1) * 20_000 * len("question 100")
    long = sum(len(r.text) for _, r, _ in read_back(questions(200), reader, store, studio))
    assert long > 30_000_000
