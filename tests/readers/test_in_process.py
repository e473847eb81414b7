"""Asks wait in line and are answered in batches by one thread. The model here is a stand-in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest

from overread.case import Decoding, Prompt, PromptMessage, ReaderFailure, Reply
from overread.readers.in_process import InProcessReader, OutOfMemory, shape_of
from overread.readers.spec import ReaderSpec

SPEC = ReaderSpec(kind="hf", model="m")


class Echo:
    """Says the question backwards; notes what it was asked together. Waits for leave to begin."""

    def __init__(self, say: Callable[[Prompt, int], str] = lambda p, n: p.text[::-1]) -> None:
        self.facts = {"architecture": "Echo"}
        self.batches: list[list[str]] = []
        self.leave = threading.Event()
        self.leave.set()
        self.stopped = False
        self._say = say

    def answer(self, prompts: Sequence[Prompt]) -> list[Reply]:
        self.leave.wait(10)
        self.batches.append([prompt.text for prompt in prompts])
        return [Reply(self._say(prompt, len(prompts))) for prompt in prompts]

    def stop(self) -> None:
        self.stopped = True


def prompt(text: str, **decoding: float) -> Prompt:
    return Prompt((PromptMessage("user", (text,)),), Decoding(**decoding))  # type: ignore[arg-type]


def asked(
    engine: Echo, prompts: Sequence[Prompt], batch: int = 4
) -> tuple[list[object], InProcessReader]:
    """Ask all of them while the engine is kept busy with a first one, so that they wait together."""
    reader = InProcessReader(SPEC, "identity", batch, lambda: engine)

    async def work() -> list[object]:
        engine.leave.clear()
        first = asyncio.create_task(reader.reply(prompt("first")))
        others = [asyncio.create_task(reader.reply(one)) for one in prompts]
        await asyncio.sleep(0)  # each stands in line
        engine.leave.set()
        replies = await asyncio.gather(*others, return_exceptions=True)
        await first
        await reader.close()
        return list(replies)

    return asyncio.run(work()), reader


def texts(many: int) -> list[Prompt]:
    return [prompt(f"question {number:02}") for number in range(many)]


def test_what_waits_is_asked_together_and_everybody_gets_his_own() -> None:
    engine = Echo()
    replies, reader = asked(engine, texts(40))
    assert [reply.text for reply in replies] == [p.text[::-1] for p in texts(40)]  # type: ignore[attr-defined]
    assert max(map(len, engine.batches)) == 4
    assert engine.stopped
    assert reader.facts["batch"] == 4


def test_the_first_are_asked_alone_and_together_and_the_difference_is_counted() -> None:
    engine = Echo()
    _, reader = asked(engine, texts(40))
    assert reader.facts["batch_noise"] == 0.0
    assert reader.facts["batch_compared"] == 16
    assert "0 of 16 answers differed" in reader.remarks[0]
    assert sum(map(len, engine.batches)) == 1 + 40 + 16  # each of the sixteen twice


def test_where_a_batch_changes_answers_all_are_asked_alone() -> None:
    replies, reader = asked(Echo(lambda p, n: f"{p.text} among {n}"), texts(40))
    assert {reply.text[-7:] for reply in replies} == {"among 1"}  # type: ignore[attr-defined]
    assert reader.facts["batch"] == 1
    assert reader.facts["batch_differing"] == 4
    assert "so all were asked alone" in reader.remarks[0]


def test_only_what_is_of_one_shape_shares_a_batch() -> None:
    kinds = [prompt("short"), prompt("x" * 900), prompt("short", max_tokens=99)] * 6
    engine = Echo()
    asked(engine, kinds, batch=8)
    assert all(len({len(text) for text in batch}) == 1 for batch in engine.batches[1:])
    assert shape_of(prompt("short", seed=1)) == shape_of(prompt("other", seed=2))


def test_memory_that_runs_out_halves_a_batch_and_ends_nothing() -> None:
    def say(one: Prompt, among: int) -> str:
        if among > 2:
            raise OutOfMemory
        return one.text

    replies, reader = asked(Echo(say), texts(20), batch=8)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert reader.facts["batch"] == 2
    assert "memory ran out; at most 2 were asked at once." in reader.remarks


def test_one_trial_that_does_not_fit_fails_alone() -> None:
    def say(one: Prompt, among: int) -> str:
        if "07" in one.text:
            raise OutOfMemory("16 GB wanted")
        return one.text

    replies, _ = asked(Echo(say), texts(12))
    (failure,) = [reply for reply in replies if not isinstance(reply, Reply)]
    assert isinstance(failure, ReaderFailure)
    assert failure.reason == "out of memory: one trial alone does not fit (16 GB wanted)"
    assert not failure.heals


def test_what_a_model_raises_is_the_failure_of_its_trial_in_one_line() -> None:
    def say(one: Prompt, among: int) -> str:
        if "03" in one.text:
            raise ValueError("odd\n\x1b[31m shape")
        return one.text

    replies, _ = asked(Echo(say), texts(12))
    (failure,) = [reply for reply in replies if not isinstance(reply, Reply)]
    assert str(failure) == "model: ValueError: odd �[31m shape"


def test_a_model_that_cannot_be_loaded_fails_every_trial_and_nothing_waits() -> None:
    def load() -> Echo:
        raise OSError("no such weights")

    reader = InProcessReader(SPEC, "identity", 4, load)

    async def work() -> list[object]:
        found = await asyncio.gather(*map(reader.reply, texts(3)), return_exceptions=True)
        await reader.close()
        return list(found)

    assert {str(one) for one in asyncio.run(work())} == {"model: OSError: no such weights"}
    assert reader.facts == {}


def test_closing_leaves_nobody_waiting() -> None:
    engine = Echo()
    engine.leave.clear()
    reader = InProcessReader(SPEC, "identity", 1, lambda: engine)

    async def work() -> list[object]:
        asked = [asyncio.create_task(reader.reply(one)) for one in texts(3)]
        await asyncio.sleep(0)
        engine.leave.set()
        await reader.close()
        return list(await asyncio.gather(*asked, return_exceptions=True))

    replies = asyncio.run(work())
    assert len(replies) == 3
    assert all(isinstance(one, Reply) or "closed" in str(one) for one in replies)


def test_who_is_cancelled_is_not_asked_and_closing_waits_for_nobody() -> None:
    engine = Echo()
    engine.leave.clear()
    reader = InProcessReader(SPEC, "identity", 4, lambda: engine)

    async def work() -> None:
        first = asyncio.create_task(reader.reply(prompt("first")))
        second = asyncio.create_task(reader.reply(prompt("second")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        engine.leave.set()
        assert (await first).text == "tsrif"
        await reader.close()
        with pytest.raises(ReaderFailure, match="closed"):
            await reader.reply(prompt("third"))

    asyncio.run(work())
    assert all("second" not in batch for batch in engine.batches)
