"""`--engine ray`: trials are shown and asked by the actors of a Ray cluster (`desk.py`).

This process plans, claims and commits as ever: it is the only writer. An actor gets recipes and
questions, never pixels; it renders what it asks about. Ray restarts an actor that died and asks
nothing again by itself: what the dead one had in hand is handed out again here, so that nothing
that was committed is asked twice.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import secrets
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

import overread
from overread.case import BadInput, Fact, Limits
from overread.engine.crew import Failed, Hire, Queue, Settled, Tally, Wanted
from overread.engine.desk import CHUNK, LETTER, Desk, Opening, Opens, Taken
from overread.readers import Guard
from overread.scratch import scratch_folder

_IN_HAND = 1024  # most trials an actor has at once
_WAITING = 512  # trials taken from the plan and not handed out
_LIVES = 3  # an actor died so often while a trial was under way: it is not handed out again
_DEATHS = 8  # so many in a row, and no trial settled: nothing will come of it
_PATIENCE = 30.0  # until it is said what is waited for
_LEAVES_WITHIN = 10.0
_KNOCKS_FOR = 10.0
# As small as Ray takes it: pictures never go through it.
_OBJECT_STORE = 80 << 20
_SPARE = 2  # processors that no actor asks for


class Seated(msgspec.Struct, frozen=True):
    """Somebody who is asked on a cluster: under which name, and how an actor opens it.

    `whole`: it fills a device, so every actor has one and each bears what one bears. Others share
    one server, whose limits are divided among their actors.
    """

    name: str
    opens: Opens
    # Looked up when they are sent: no key is held here.
    variables: Callable[[], Mapping[str, str]] = dict
    whole: bool = False


class _Hand:
    """An actor, as it is seen from here: what it has in hand."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.token = ""
        self.out: dict[bytes, Wanted] = {}
        self.room = 0
        self.slots = 0
        self.deaths = 0
        self.waits_since = 0.0


class _Gone(Exception):
    """The actor is another than the one that was given trials."""


def _is_here(address: str) -> bool:
    """Whether an address is this machine's own, in whatever network: only such can be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        socket.create_server((address, 0), family=family).close()
    except OSError:
        return False
    return True


# Who says nothing of a data set has a credentialed one.
_CLOSED: Final = Guard()


class Cluster:
    """Ray, begun when somebody is first asked something; and everybody's actors."""

    def __init__(
        self,
        seated: Sequence[Seated],
        *,
        address: str | None = None,
        actors: int | None = None,
        tell: Callable[[str], None] | None = None,
        guard: Guard = _CLOSED,
    ) -> None:
        check(address, actors)
        self._guard = guard
        self._seated = {one.name: one for one in seated}
        self._address, self._actors = address, actors
        self._tell = tell or (lambda line: None)
        self._hands: dict[str, list[_Hand]] = {}
        self._attested: dict[str, list[tuple[dict[str, Fact], tuple[str, ...]]]] = {}
        self._beginning = asyncio.Lock()
        self._tried = self._began = False
        self._joined_before = False
        self._stack = ExitStack()
        self._nodes = self._gpus = 1
        self._processors = 1.0

    def crew(self, name: str) -> Hire | None:
        """Whoever settles the trials of a reader; None for one that has no actors."""
        seated = self._seated.get(name)
        return None if seated is None else partial(RayCrew, self, seated)

    def attested(self, name: str) -> tuple[dict[str, Fact], tuple[str, ...]]:
        """What the actors of a reader say of how its replies came about."""
        facts: dict[str, list[Fact]] = {}
        remarks: dict[str, None] = {}
        for told, said in self._attested.get(name, ()):
            for fact, value in told.items():
                facts.setdefault(fact, []).append(value)
            remarks |= dict.fromkeys(said)
        return {fact: _together(values) for fact, values in facts.items()}, tuple(remarks)

    async def hands(self, seated: Seated, limits: Limits) -> list[_Hand]:
        """The actors of a reader, made when it is first asked."""
        async with self._beginning:
            if not self._began:
                self._tried = True
                await asyncio.to_thread(self._begin)
                self._began = True
            hands = self._hands.setdefault(seated.name, [])
            wanted = self._wanted(seated, limits)
            while len(hands) < wanted:
                hands.append(_Hand(self._actor(seated)))
        return hands[:wanted]

    def _wanted(self, seated: Seated, limits: Limits) -> int:
        usual = self._gpus or self._nodes if seated.whole else max(2, self._nodes)
        return min(self._actors or usual, limits.concurrency)

    def _begin(self) -> None:
        ray = _ray()
        most = sum(self._actors or 2 for _ in self._seated)
        if ray.is_initialized():  # a program's own
            self._joined_before = True
        elif self._address is None:
            self._start(most + _SPARE)
        else:
            self._knock()
            try:
                ray.init(address=self._address, **_QUIET)
            except Exception as error:
                words = " ".join(str(error).split())[:200]
                raise BadInput(
                    f"--address {self._address}: no Ray cluster can be joined there ({words}). "
                    "Start one with ray start --head, or leave --address out."
                ) from None
        has: Mapping[str, float] = ray.cluster_resources()
        nodes = [str(node["NodeManagerAddress"]) for node in ray.nodes() if node["Alive"]]
        for node in nodes:  # questions travel to every one of them
            if not self._guard.allows(node, node) and not _is_here(node):
                raise BadInput(self._guard.refusal(node, "a node of the Ray cluster"))
        self._nodes = len(nodes)
        self._gpus = int(has.get("GPU", 0))
        each = max(self._actors or 0, self._nodes, self._gpus, 2) * len(self._seated)
        # Explicit, and never all of them: an actor that finds no room would wait for ever.
        self._processors = max(0.01, round(min(1.0, (has.get("CPU", 1) - 0.5) / each) - 0.005, 2))

    def _knock(self) -> None:
        """Ray itself tries for ten minutes to reach a place where nobody is."""
        host, colon, port = (self._address or "").rpartition(":")
        if not colon:  # "auto": Ray knows the place, or says at once that it knows none
            return
        try:
            socket.create_connection((host.strip("[]"), int(port)), _KNOCKS_FOR).close()
        except (OSError, ValueError, OverflowError) as error:
            raise BadInput(
                f"--address {self._address}: nobody answers there ({error}). Give auto on a node "
                "of the cluster, or HOST:PORT of its head."
            ) from None

    def _start(self, processors: int) -> None:
        """A cluster of this machine alone, that ends with this process and leaves nothing behind.

        Its folder has a short path, for sockets are in it, and is nobody else's.
        """
        ray = _ray()
        folder = self._stack.enter_context(scratch_folder(Path("/tmp")))  # noqa: S108
        # Only who has the token gets in; without one Ray would leave its own in the user's home.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        self._tell("starting Ray on this machine …")
        try:
            ray.init(
                address="local",
                num_cpus=max(processors, (os.cpu_count() or 1) + _SPARE),
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE,
                _node_ip_address="127.0.0.1",
                _temp_dir=str(folder),
                **_QUIET,
            )
        except Exception as error:
            words = " ".join(str(error).split())[:200]
            raise BadInput(
                f"--engine ray: Ray does not start here ({words}). Leave --engine out."
            ) from None

    def _actor(self, seated: Seated) -> Any:
        ray = _ray()
        # Readers that fill a device share each with the others that do.
        filling = sum(1 for one in self._seated.values() if one.whole)
        share = int(10_000 / filling) / 10_000 if seated.whole and self._gpus else 0
        options = {"num_cpus": self._processors, "num_gpus": share}
        made = ray.remote(max_restarts=-1, max_task_retries=0, scheduling_strategy="SPREAD")(Desk)
        return made.options(**options).remote()

    def opening(self, seated: Seated, limits: Limits) -> tuple[bytes, bytes]:
        """What an actor is told, and apart from it the keys: those go from process to process and
        into no store.
        """
        from ray import cloudpickle

        try:
            packed = cloudpickle.dumps(
                Opening(overread.__version__, os.getcwd(), seated.opens, limits)
            )
        except Exception as error:
            raise BadInput(
                f"reader {seated.name}: it cannot be sent to another process "
                f"({type(error).__name__}). Leave --engine ray out."
            ) from None
        return packed, pickle.dumps(seated.variables())

    async def note(self, seated: Seated, hand: _Hand) -> None:
        """Keep what the reader of an actor says of its replies; a dead one says nothing."""
        from ray.exceptions import RayError

        with suppress(RayError, TimeoutError):
            told = await asyncio.wait_for(_call(hand.actor.end.remote()), _LEAVES_WITHIN)
            self._attested.setdefault(seated.name, []).append(pickle.loads(told))  # noqa: S301

    def say(self, line: str) -> None:
        self._tell(line)

    async def close(self) -> None:
        """End our actors, and Ray where we began it."""
        if not self._tried:
            return
        ray = _ray()
        hands = [hand for hands in self._hands.values() for hand in hands]
        closing = [
            asyncio.ensure_future(_call(hand.actor.close.remote())) for hand in hands if hand.token
        ]
        if closing:
            await asyncio.wait(closing, timeout=_LEAVES_WITHIN)
        for one in closing:
            one.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        for hand in hands:
            with suppress(Exception):
                ray.kill(hand.actor, no_restart=True)
        self._hands.clear()
        if not self._joined_before:
            await asyncio.to_thread(ray.shutdown)
        self._stack.close()
        self._tried = self._began = False


_QUIET: Final[Mapping[str, Any]] = {
    "log_to_driver": False, "configure_logging": False, "logging_level": "ERROR",
}  # fmt: skip


def check(address: str | None, actors: int | None) -> None:
    """Raise BadInput where Ray is not there, or cannot be what is asked for."""
    if find_spec("ray") is None:
        raise BadInput('--engine ray: Ray is not installed. Run pip install "overread[ray]".')
    if address is not None and "://" in address:
        raise BadInput(
            f"--address {address}: a client cannot be the one writer. Run the command on a node of "
            "the cluster, with --address auto."
        )
    if actors is not None and not 1 <= actors <= 10_000:
        raise BadInput(f"--actors {actors}: it must be from 1 to 10000.")


def _ray() -> Any:
    # Nothing is reported to Ray's makers; and what it has to say to a shell is said here.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


async def _call(reference: Any) -> Any:
    return await reference


def _together(values: Sequence[Fact]) -> Fact:
    """One fact of several actors: what they agree on, the largest number, or all that is said."""
    if len(set(values)) == 1:
        return values[0]
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) == len(values):
        return max(numbers)
    return " | ".join(sorted({str(value) for value in values}))


def shares(limits: Limits, actors: int) -> list[Limits]:
    """The limits of one server divided among actors: together never more than it bears."""

    def part(whole: int, place: int) -> int:
        return max(1, whole // actors + (place < whole % actors))

    rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
    return [
        msgspec.structs.replace(
            limits,
            concurrency=part(limits.concurrency, place),
            begin=part(limits.begin, place),
            requests_per_minute=rpm and rpm / actors,
            tokens_per_minute=tpm and tpm / actors,
        )
        for place in range(actors)
    ]


class _Line:
    """What waits to be handed out: what the dead left first, then what the plan brings.

    What was in hand at two deaths waits till last, and is then handed out alone: if a third actor
    dies of it, it was that.
    """

    def __init__(self, first: Wanted) -> None:
        self._waiting = deque([first])
        self._suspects: deque[Wanted] = deque()
        self._deaths: Counter[bytes] = Counter()
        self._left = 1
        self._ended = False
        self._changed = asyncio.Event()

    @property
    def done(self) -> bool:
        return self._ended and not self._left

    def change(self) -> None:
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()

    async def fill(self, queue: Queue) -> None:
        item = await queue.get()
        while item is not None:
            self._waiting.append(item)
            self._left += 1
            self.change()
            if len(self._waiting) >= _WAITING:
                await self.until(lambda: len(self._waiting) < _WAITING // 2)
            item = await queue.get()
        self._ended = True
        self.change()

    def ready(self, hand: _Hand) -> bool:
        """Whether there is something for this hand, or never will be."""
        alone = bool(self._suspects) and not hand.out
        free = hand.room - len(hand.out)
        return self.done or alone or (bool(self._waiting) and free >= max(1, hand.room // 4))

    def next(self, hand: _Hand) -> list[Wanted]:
        if self._waiting:
            many = min(CHUNK, hand.room - len(hand.out), len(self._waiting))
            return [self._waiting.popleft() for _ in range(many)]
        return [self._suspects.popleft()] if self._suspects and not hand.out else []

    def settled(self, key: bytes) -> None:
        self._left -= 1
        self._deaths.pop(key, None)
        self.change()

    def back(self, items: Sequence[Wanted]) -> list[Wanted]:
        """What a dead actor had in hand waits again; those it died of too often are returned."""
        given_up = []
        for item in reversed(items):
            self._deaths[item.key] += 1
            if self._deaths[item.key] >= _LIVES:
                given_up.append(item)
            elif self._deaths[item.key] == _LIVES - 1:
                self._suspects.appendleft(item)
            else:
                self._waiting.appendleft(item)
        self.change()
        return given_up


class RayCrew:
    """Has trials settled by actors: a pair of tasks for each hands them out and takes them back."""

    size = 1

    def __init__(
        self, cluster: Cluster, seated: Seated, limits: Limits, tally: Tally, stop: asyncio.Event
    ) -> None:
        self._cluster, self._seated, self._limits = cluster, seated, limits
        self._tally, self._stop = tally, stop
        self._hands: list[_Hand] = []

    async def work(self, queue: Queue, settled: Settled) -> None:
        first = await queue.get()
        if first is None:  # nothing to ask: no cluster is needed
            return
        self._hands = await self._cluster.hands(self._seated, self._limits)
        line = _Line(first)
        whole = self._seated.whole
        many = len(self._hands)
        limits = [self._limits] * many if whole else shares(self._limits, many)
        async with asyncio.TaskGroup() as group:
            filling = group.create_task(line.fill(queue))
            stopping = group.create_task(self._pass_on(line))
            tending = [
                group.create_task(self._tend(hand, own, line, settled))
                for hand, own in zip(self._hands, limits, strict=True)
            ]
            await asyncio.gather(filling, *tending)
            stopping.cancel()
        begun = [hand for hand in self._hands if hand.token]
        await asyncio.gather(*(self._cluster.note(self._seated, hand) for hand in begun))

    async def _pass_on(self, line: _Line) -> None:
        """A request to stop reaches every actor."""
        await self._stop.wait()
        for hand in self._hands:
            hand.actor.stop.remote()
        line.change()

    async def _tend(self, hand: _Hand, limits: Limits, line: _Line, settled: Settled) -> None:
        from ray.exceptions import ActorDiedError, RayError

        hand.waits_since = time.monotonic()
        while not line.done:
            try:
                if not await self._begin(hand, limits, line):
                    await self._drop(hand, line, settled)
                    return
                if self._stop.is_set():
                    hand.actor.stop.remote()
                await self._both(
                    self._feed(hand, line, settled), self._collect(hand, line, settled)
                )
            except (RayError, _Gone) as error:
                given_up = line.back(list(hand.out.values()))
                hand.out.clear()
                # One that begins again cannot be reached for a while: that is the same death.
                hand.deaths += bool(hand.token) or isinstance(error, ActorDiedError)
                if hand.token:
                    hand.token, hand.waits_since = "", time.monotonic()
                for item in given_up:
                    line.settled(item.key)
                    why = f"worker died: {_LIVES} processes ended while this was under way"
                    await settled(item, Failed(why))
                if hand.deaths >= _DEATHS:
                    why = f"{hand.deaths} workers in a row died ({type(error).__name__})"
                    self._give_up(f"{why}; nothing they had in hand is lost")
                await self._pause(0.1 * 2**hand.deaths)

    async def _begin(self, hand: _Hand, limits: Limits, line: _Line) -> bool:
        """Have the actor take its place; False where the run stops, or others are done, first."""
        packed = self._cluster.opening(self._seated, limits)
        call = asyncio.ensure_future(_call(hand.actor.begin.remote(*packed)))
        stopping = asyncio.ensure_future(self._stop.wait())
        while not call.done() and not stopping.done() and not line.done:
            await asyncio.wait((call, stopping), timeout=1, return_when=asyncio.FIRST_COMPLETED)
            if time.monotonic() > hand.waits_since + _PATIENCE:
                hand.waits_since = float("inf")
                self._cluster.say(
                    f"{self._seated.name}: waiting for room on the Ray cluster, or for its model "
                    "to be opened there …"
                )
        stopping.cancel()
        if not call.done():
            call.cancel()
            return False
        token, fault = pickle.loads(call.result())  # noqa: S301
        if fault:
            raise BadInput(fault)
        hand.token, hand.room = token, max(2 * limits.concurrency, 32)
        hand.waits_since = float("inf")
        return True

    async def _drop(self, hand: _Hand, line: _Line, settled: Settled) -> None:
        """The run stops before this hand began: what waits is let go."""
        while not line.done:
            hand.room = CHUNK
            await line.until(lambda: line.ready(hand))
            for item in line.next(hand):
                line.settled(item.key)
                await settled(item, None)

    async def _feed(self, hand: _Hand, line: _Line, settled: Settled) -> None:
        while True:
            await line.until(lambda: line.ready(hand))
            items = line.next(hand)
            if not items and line.done:
                return
            if self._stop.is_set():
                for item in items:
                    line.settled(item.key)
                    await settled(item, None)
                continue
            hand.out.update((item.key, item) for item in items)
            line.change()
            for letter in _letters(items):
                await hand.actor.give.remote(hand.token, letter)

    async def _collect(self, hand: _Hand, line: _Line, settled: Settled) -> None:
        tally = self._tally
        while True:
            await line.until(lambda: bool(hand.out) or line.done)
            if not hand.out:
                return
            packed = await hand.actor.take.remote(hand.token)
            if not packed:
                raise _Gone
            taken: Taken = pickle.loads(packed)  # noqa: S301
            tally.retried += taken.retried
            hand.slots = taken.slots
            tally.slots = sum(one.slots for one in self._hands)
            if taken.astray:  # the node's trouble, and no trial's own
                self._give_up(taken.astray)
            for key, outcome in taken.outcomes:
                item = hand.out.pop(key)
                line.settled(key)
                lost = taken.astray and isinstance(outcome, Failed) and outcome.unseen
                await settled(item, None if lost else outcome)
            if taken.outcomes:
                hand.deaths = 0
            if taken.idle and not self._stop.is_set():
                hand.room = min(_IN_HAND, 2 * hand.room)
            if taken.crashed:
                raise RuntimeError(f"in an actor of Ray:\n{taken.crashed}")

    async def _both(self, *work: Any) -> None:
        """Until both are done, or one has failed: then neither."""
        tasks = [asyncio.ensure_future(one) for one in work]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _give_up(self, why: str) -> None:
        if self._tally.stopped is None:
            self._tally.stopped = why
        self._stop.set()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), min(seconds, 10.0))


def _letters(items: Sequence[Wanted]) -> Iterator[bytes]:
    """Messages that stay below what Ray would put into its object store."""
    packed = pickle.dumps(items, 5)
    if len(packed) <= LETTER or len(items) == 1:
        yield packed
        return
    half = len(items) // 2
    yield from _letters(items[:half])
    yield from _letters(items[half:])
