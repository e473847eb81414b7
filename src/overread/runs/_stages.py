"""The questions of a run in their order: first trials, then what follows from the replies.

A plan makes its trials anew at every call; one that follows from replies reads them back from the
store, so a resumed run is no special case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import Limits, Prompt, Reader, Reply, Traits, Trial
from overread.engine import Plan, Store, Studio, read_back
from overread.runs._asking import trials_of


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
