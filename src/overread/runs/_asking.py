"""All readers asked at once, until done or interrupted.

The questions of a run have an order: first trials, then what follows from the replies. A plan makes
its trials anew at every call; one that follows from replies reads them back from the store, so a
resumed run is no special case.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from itertools import chain, groupby
from typing import Any, TypeVar

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import Limits, Prompt, Reader, Reply, Traits, Trial
from overread.engine import Plan, Store, Studio, Tally, ask, read_back
from overread.readers import Served
from overread.runs._choosing import Tell

T = TypeVar("T")


def trials_of(
    bench: Benchmark, chosen: frozenset[str] | None, reader: Reader
) -> Callable[[], Iterator[Trial]]:
    """A plan: every trial of every chosen case for this reader, in order, at every call."""

    def plan() -> Iterator[Trial]:
        for case in bench.cases():
            if chosen is None or case.case_id in chosen:
                yield from bench.trials(case, reader.traits)

    return plan


class Job(msgspec.Struct, frozen=True):
    """A plan, who is asked, what happened so far, and whether it is asked as a judge."""

    plan: Plan
    reader: Reader
    tally: Tally
    judges: bool


async def ask_in_turn(
    rounds: Generator[Sequence[Job], None, None],
    readers: Sequence[Reader],
    judges: Sequence[Reader],
    store: Store,
    studio: Studio,
    dataset: int,
    tell: Tell | None = None,
) -> bool:
    """Ask the jobs of each round at once, so that a picture rendered for one reader serves all.

    A round is made when the one before is done: its plans may read what was said there. True if
    interrupted; nothing more is begun then, nor when a reader was stopped. All are closed.
    """
    stops: list[asyncio.Event] = []
    interrupted = asyncio.Event()

    def interrupt() -> None:
        if interrupted.is_set():  # a second Ctrl-C does not wait for calls under way
            raise KeyboardInterrupt
        interrupted.set()
        for stop in stops:
            stop.set()
        print("stopping: calls under way may finish …", file=sys.stderr)

    with _on_interrupt(interrupt), closing(rounds):
        try:
            await _look(readers, store, tell)
            await _look(judges, store, tell, judges=True)
            for jobs in rounds:
                stops[:] = [asyncio.Event() for _ in jobs]
                await asyncio.gather(
                    *(
                        ask(
                            job.plan,
                            job.reader,
                            store,
                            studio,
                            dataset=dataset,
                            tally=job.tally,
                            stop=stop,
                            judges=job.judges,
                        )
                        for job, stop in zip(jobs, stops, strict=True)
                    )
                )
                if interrupted.is_set() or any(job.tally.stopped for job in jobs):
                    break
        finally:
            for reader in (*readers, *judges):
                await reader.close()
    return interrupted.is_set()


async def _look(
    readers: Sequence[Reader], store: Store, tell: Tell | None, *, judges: bool = False
) -> None:
    """Keep how servers list their models, and say where one lists it otherwise than before."""
    served = [reader for reader in readers if isinstance(reader, Served)]
    for reader, now in zip(
        served, await asyncio.gather(*(reader.listed() for reader in served)), strict=True
    ):
        before = store.note_served(reader, now, judges=judges)
        if before and tell is not None:
            tell(
                f"{'judge ' * judges}{reader.name}: the server lists the model as {now}, and "
                f"listed it as {before} when it last answered. If its weights changed, give it "
                "revision=NAME, or ask anew with --fresh."
            )


class _on_interrupt:  # noqa: N801 - reads as a statement
    """Call something on SIGINT and SIGTERM while inside, where this thread may handle signals."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._set: list[signal.Signals] = []

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self._act)
                self._set.append(number)

    def __exit__(self, *_: object) -> None:
        for number in self._set:
            asyncio.get_running_loop().remove_signal_handler(number)


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run on uvloop; from inside a running loop (a notebook), in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner(loop_factory=_fast_loop()) as runner:
            return runner.run(work)
    return _in_thread(work)


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    outcome: Future[T] = Future()
    cancels: list[Callable[[], object]] = []

    async def noted() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancels.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work

    def target() -> None:
        try:
            outcome.set_result(run_async(noted()))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=target)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        while thread.is_alive() and not cancels:  # it is only beginning
            time.sleep(0.001)
        for cancel in cancels:
            cancel()
        thread.join()  # what has come back is committed before the interrupt goes on
        raise
    return outcome.result()


class Stage(msgspec.Struct, frozen=True):
    """Some questions of a reader; those of the next stage are known when these are answered."""

    name: str
    plan: Plan
    # One at a time: what is timed under load is queueing, not the model.
    alone: bool = False


def stages_of(
    bench: Benchmark,
    chosen: frozenset[str] | None,
    reader: Reader,
    store: Store,
    studio: Studio,
) -> list[Stage]:
    """What a reader is asked: its trials; what follows from its replies; what is timed."""
    first = trials_of(bench, chosen, reader)
    found = [Stage("trials", first)]
    if bench.follows:
        found.append(Stage("follow-ups", _following(bench, first, reader, store, studio)))
    if bench.times:
        found.append(Stage("timing", _timed(bench, chosen, reader.traits), alone=True))
    return found


def whole_plan(stages: Sequence[Stage]) -> Plan:
    """Every trial of every stage, in their order."""
    return lambda: chain.from_iterable(stage.plan() for stage in stages)


def _following(bench: Benchmark, first: Plan, reader: Reader, store: Store, studio: Studio) -> Plan:
    def plan() -> Iterator[Trial]:
        said = read_back(first, reader, store, studio)
        for case, replies in groupby(said, key=lambda one: one[0].case):
            kept = [(trial, reply) for trial, reply, _ in replies if reply is not None]
            yield from bench.follow_ups(case, kept, reader.traits)

    return plan


def _timed(bench: Benchmark, chosen: frozenset[str] | None, traits: Traits) -> Plan:
    return lambda: bench.timed(chosen, traits)


class Alone:
    """A reader that is asked one question at a time, all else as it is."""

    def __init__(self, reader: Reader) -> None:
        self.name = reader.name
        self.identity = reader.identity
        self.traits = reader.traits
        self.limits: Limits = msgspec.structs.replace(reader.limits, concurrency=1)
        self._reader = reader

    async def reply(self, prompt: Prompt) -> Reply:
        return await self._reader.reply(prompt)

    async def close(self) -> None:
        await self._reader.close()
