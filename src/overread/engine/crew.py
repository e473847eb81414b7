"""What becomes of one trial between its claim and its commit: shown, asked, asked again.

The same whoever does it: this process, or an actor of a Ray cluster (`on_ray.py`). Who plans,
claims and commits is `ask.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from overread.case import BadInput, Limits, Reader, ReaderFailure, Reply, Request
from overread.engine.pace import Pace
from overread.engine.studio import Slot, Studio


class Tally(msgspec.Struct):
    """What happened so far; progress displays read it while `ask` writes it."""

    planned: int = 0
    kept: int = 0
    shared: int = 0
    answered: int = 0
    failed: int = 0
    retried: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    slots: int = 0
    began: float = msgspec.field(default_factory=time.monotonic)
    waiting: bool = False
    stops_early: bool = True
    stopped: str | None = None
    reasons: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def settled(self) -> int:
        return self.kept + self.shared + self.answered + self.failed


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """A trial that is ours to ask, by the key of its reply."""

    key: bytes
    digest: bytes
    pictures: dict[Slot, bytes]
    request: Request
    # Which case it is about, where the reader is told.
    case: str


class Failed(NamedTuple):
    """Why there is no reply; `unseen` where a picture of it could not be made."""

    reason: str
    unseen: bool = False


# None: nothing came of it, for the run is to stop.
Outcome: TypeAlias = Reply | Failed | None
Settled: TypeAlias = Callable[[Wanted, Outcome], Awaitable[None]]
Queue: TypeAlias = "asyncio.Queue[Wanted | None]"


class Crew(Protocol):
    """Whoever settles trials: `size` of `work` run at once, each until its None in the queue."""

    @property
    def size(self) -> int: ...
    async def work(self, queue: Queue, settled: Settled) -> None: ...


# Makes the crew of a reader that may be asked so much, given where it counts and what stops it.
Hire: TypeAlias = Callable[[Limits, Tally, asyncio.Event], Crew]


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


class LocalCrew:
    """Asks in this process. More workers than slots: while some wait for a reply, others render."""

    def __init__(
        self,
        reader: Reader,
        studio: Studio,
        limits: Limits,
        tally: Tally,
        stop: asyncio.Event,
    ) -> None:
        self._reader, self._studio, self._tally, self._stop = reader, studio, tally, stop
        self._limits = limits
        self._pace = Pace(self._limits)
        self.size = self._limits.concurrency + 2 * studio.threads
        # Set when the trial before has its place in line; nobody comes before the first.
        self._turn = _set_event()

    @property
    def idle(self) -> bool:
        """Whether more calls could be under way than are."""
        return self._pace.active < int(self._pace.slots)

    async def work(self, queue: Queue, settled: Settled) -> None:
        while (item := await queue.get()) is not None:
            if self._stop.is_set():
                await settled(item, None)
                continue
            earlier, self._turn = self._turn, asyncio.Event()
            own = self._turn
            try:
                await settled(item, await self._outcome(item, earlier, own))
            finally:
                own.set()

    async def _outcome(self, item: Wanted, earlier: asyncio.Event, own: asyncio.Event) -> Outcome:
        """Show and ask one trial.

        Who is asked one at a time is asked in the order of the plan, whichever picture is ready
        first: what is timed is compared with what was asked just before. So a trial waits until the
        `earlier` one stands in line for the reader, and then lets the next one.
        """
        try:
            prompt = await self._studio.show(item.request, item.digest, item.pictures)
        except BadInput as error:
            return Failed(f"picture: {error}", unseen=True)
        if item.case:
            prompt = msgspec.structs.replace(prompt, case=item.case)
        if not prompt.decoding.greedy:
            prompt = msgspec.structs.replace(prompt, draw=item.key.hex())
        limits, pace, attempt, waited = self._limits, self._pace, 0, 0.0
        if limits.concurrency == 1:
            await earlier.wait()
        while True:
            attempt += 1
            await pace.acquire()
            own.set()
            if self._stop.is_set():  # it waited for a slot: nothing new begins
                pace.give_back()
                return None
            began = time.monotonic()
            try:
                reply = await self._reader.reply(prompt)
            except ReaderFailure as failure:
                pace.heard(failure)
                demand = failure.retry_after or 0.0
                patient = waited + demand <= limits.patience
                if failure.heals and attempt < limits.attempts and patient:
                    waited += demand
                    self._tally.retried += 1
                    if await self._wait(failure, attempt):
                        continue
                    return None
                pace.give_back()
                reason = failure.reason
                if failure.heals and not patient:
                    reason = _told_to_wait(reason, demand, limits.patience)
                tries = f" (after {attempt} attempts)" if attempt > 1 else ""
                return Failed(reason + tries)
            tokens = (reply.tokens_in or 0) + (reply.tokens_out or 0)
            pace.succeeded(time.monotonic() - began, tokens)
            self._tally.slots = int(pace.slots)
            return reply

    async def _wait(self, failure: ReaderFailure, attempt: int) -> bool:
        """Wait before another attempt; False when the run is to stop instead.

        A call that was turned away keeps its slot meanwhile: another would be turned away too.
        """
        if not failure.throttled:
            self._pace.give_back()
        try:
            await asyncio.wait_for(self._stop.wait(), self._pace.delay(failure, attempt))
        except TimeoutError:
            return True
        finally:
            if failure.throttled:
                self._pace.give_back()
        return False


def _told_to_wait(reason: str, demand: float, patience: float) -> str:
    """The reason with what the server asked for in its kind, where every summary shows it."""
    kind, colon, rest = reason.partition(":")
    return f"{kind} (asks to wait {_spoken(demand)}; patience={patience:g}){colon}{rest}"


def _spoken(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            number = seconds / length
            return f"{number:,.0f} {unit}" if number < 1e6 else "for ever"
    return f"{seconds:.3g} seconds"
