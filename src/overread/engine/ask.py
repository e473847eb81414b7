"""Trials become replies: a bounded pipeline from a plan to committed rows.

plan (a generator, never a list) -> skip what the store has -> claim -> render in threads -> call
the reader at the pace it bears -> commit in groups. Memory is flat however long the plan; `kill -9`
loses only calls under way; nothing is asked twice.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from overread.case import BadInput, Inline, Reader, ReaderFailure, Reply, Request, Source, Trial
from overread.engine.pace import Pace
from overread.engine.reply_store import Asker, Kept, ReplyStore, Row
from overread.engine.studio import (
    Slot,
    SourceDigest,
    Studio,
    digests,
    reply_key,
    request_digest,
)

T = TypeVar("T")

_CHUNK = 512
# What may wait to be committed before callers wait, and what is committed without waiting for more:
# so many replies, or so many characters of them.
_PENDING, _PENDING_SIZE = 4096, 1 << 25
_GROUP, _GROUP_SIZE = 512, 1 << 22
_GATHER = 0.05
_ALIKE = 8  # the first trials that, failing all alike, stop a run
_BEAT = 15.0
_GRACE = 20.0  # seconds that calls under way get after a request to stop


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


class _Item(msgspec.Struct, frozen=True, gc=False):
    key: bytes
    digest: bytes
    pictures: dict[Slot, bytes]
    request: Request
    # Which case it is about, where the reader is told.
    case: str


async def ask(
    plan: Plan,
    reader: Reader,
    store: ReplyStore,
    studio: Studio,
    *,
    dataset: int,
    tally: Tally | None = None,
    stop: asyncio.Event | None = None,
    judges: bool = False,
) -> Tally:
    """Have every trial of the plan answered in the store, or recorded as failed with its reason.

    `plan` is called again for another pass when a second process was asking some of the same
    trials. `stop` ends it gracefully: calls under way finish, nothing new begins. `judges`: the
    reader was enrolled as a judge.
    """
    asking = _Asking(
        *(plan, reader, store, studio, dataset, store.asker(reader, judges=judges)),
        *(Pace(reader.limits), tally or Tally(), stop or asyncio.Event()),
    )
    try:
        while await asking.one_pass():
            asking.tally.waiting = True
            await asyncio.sleep(0.2)  # another process asks what is left: look again
        asking.tally.waiting = False
    finally:
        asking.close()  # also keeps what had come back when something unforeseen happened
    return asking.tally


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


class _Asking(msgspec.Struct):
    plan: Plan
    reader: Reader
    store: ReplyStore
    studio: Studio
    dataset: int
    asker: Asker
    pace: Pace
    tally: Tally
    stop: asyncio.Event
    under_way: set[bytes] = set()
    failed: set[bytes] = set()
    alike: set[str] = set()  # kinds of failure of trials that were really tried
    queued: int = 0
    whole: bool = False  # the plan has come to its end
    unseen: str = ""
    first_pass: bool = True
    replies: list[Row] = []
    size: int = 0  # of the replies
    failures: list[tuple[bytes, int, str]] = []
    writer: ThreadPoolExecutor = msgspec.field(
        default_factory=partial(ThreadPoolExecutor, 1, thread_name_prefix="store")
    )
    something_to_commit: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    closing: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    # Set when the trial before has its place in line; nobody comes before the first.
    turn: asyncio.Event = msgspec.field(default_factory=_set_event)
    committed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def close(self) -> None:
        self.writer.shutdown(wait=True)
        if self.replies or self.failures:
            self.store.commit(self.replies, self.failures, self.asker)
        self._let_go(list(self.under_way))

    def _let_go(self, keys: Sequence[bytes]) -> None:
        self.under_way.difference_update(keys)
        self.store.under_way.difference_update(keys)

    # ------------------------------------------------------------ one pass over the plan

    async def one_pass(self) -> bool:
        """Plan, ask, commit. True when another process still holds some of the trials."""
        queue: asyncio.Queue[_Item | None] = asyncio.Queue(2 * _CHUNK)
        # More workers than slots: while some wait for a reply, others render the next pictures.
        crew = self.reader.limits.concurrency + 2 * self.studio.threads
        async with asyncio.TaskGroup() as group:
            committer = group.create_task(self._commit_groups())
            heart = group.create_task(self._beat())
            workers = [group.create_task(self._work(queue)) for _ in range(crew)]
            # A task of its own: a full queue must not keep a request to stop waiting.
            filler = group.create_task(self._fill(queue, crew))
            await self._finish([filler, *workers])
            self.closing.set()
            self.something_to_commit.set()
            await committer
            heart.cancel()
        self.first_pass = False
        self.closing.clear()
        await self._in_writer(self.studio.sources.keep)
        return not self.stop.is_set() and filler.result()

    async def _beat(self) -> None:
        """Keep our claims alive however long a single call lasts."""
        while True:
            await asyncio.sleep(_BEAT)
            await self._in_writer(self.store.beat)

    async def _fill(self, queue: asyncio.Queue[_Item | None], crew: int) -> bool:
        """Queue what is ours to ask, then an end for each worker."""
        elsewhere = False
        for chunk in chunks(self.plan(), _CHUNK, first=32):
            if self.stop.is_set():
                break
            items = await self._keyed(chunk)
            if items:
                keys = [item.key for item in items]
                claimed = await self._in_writer(self.store.claim, keys, self.asker)
                elsewhere = elsewhere or bool(claimed.elsewhere)
                # What another process is asking will have been kept when this run ends.
                if self.first_pass:
                    self.tally.shared += claimed.lately
                    self.tally.kept += len(claimed.answered) - claimed.lately
                    self.tally.kept += len(claimed.elsewhere)
                self.queued += len(claimed.ours)
                for item in items:
                    if item.key in claimed.ours:
                        await queue.put(item)
                    else:
                        self._let_go([item.key])
            self._stop_if_nothing_is_seen()
            await asyncio.sleep(0)  # let callers run between chunks that need nothing
        else:
            self.whole = True
            self._stop_if_nothing_is_seen()
        for _ in range(crew):
            await queue.put(None)
        return elsewhere

    async def _keyed(self, chunk: list[Trial]) -> list[_Item]:
        """The trials of a chunk that are not under way, each key once."""
        traits, tally = self.reader.traits, self.tally
        requests = [trial.request.for_reader(traits) for trial in chunk]
        if await _digest_sources(requests, self.studio):
            await self._in_writer(self.studio.sources.keep)
        items: dict[bytes, _Item] = {}
        shared = 0
        for trial, request in zip(chunk, requests, strict=True):
            try:
                digest, pictures = digests(request, self.studio.sources)
            except BadInput as error:
                self.unseen = f"picture: {error}"
                if self.first_pass:
                    self._count_failure(self.unseen)
                continue
            greedy, told = request.decoding.greedy, traits.told_case
            key = reply_key(self.reader.identity, digest, trial, greedy=greedy, told_case=told)
            if key in self.failed:
                continue
            if key in items or key in self.store.under_way:  # perhaps another reader's, the same
                shared += 1
                continue
            self.under_way.add(key)
            self.store.under_way.add(key)
            items[key] = _Item(key, digest, pictures, request, trial.case if told else "")
        if self.first_pass:
            tally.planned += len(chunk)
            tally.shared += shared
        return list(items.values())

    # ------------------------------------------------------------ calling the reader

    async def _work(self, queue: asyncio.Queue[_Item | None]) -> None:
        while (item := await queue.get()) is not None:
            if self.stop.is_set():
                self._let_go([item.key])  # its claim goes with the store's closing
                continue
            earlier, self.turn = self.turn, asyncio.Event()
            own = self.turn
            try:
                await self._settle(item, earlier, own)
            finally:
                own.set()

    async def _settle(self, item: _Item, earlier: asyncio.Event, own: asyncio.Event) -> None:
        """Show, ask and keep one trial.

        Who is asked one at a time is asked in the order of the plan, whichever picture is ready
        first: what is timed is compared with what was asked just before. So a trial waits until the
        `earlier` one stands in line for the reader, and then lets the next one.
        """
        try:
            prompt = await self.studio.show(item.request, item.digest, item.pictures)
        except BadInput as error:
            self.unseen = f"picture: {error}"
            self._fail(item.key, self.unseen)
            self._stop_if_nothing_is_seen()
            return
        if item.case:
            prompt = msgspec.structs.replace(prompt, case=item.case)
        if not prompt.decoding.greedy:
            prompt = msgspec.structs.replace(prompt, draw=item.key.hex())
        limits, attempt, waited = self.reader.limits, 0, 0.0
        if limits.concurrency == 1:
            await earlier.wait()
        while True:
            attempt += 1
            await self.pace.acquire()
            own.set()
            if self.stop.is_set():  # it waited for a slot: nothing new begins
                self.pace.give_back()
                self._let_go([item.key])
                return
            began = time.monotonic()
            try:
                reply = await self.reader.reply(prompt)
            except ReaderFailure as failure:
                self.pace.heard(failure)
                demand = failure.retry_after or 0.0
                patient = waited + demand <= limits.patience
                if failure.heals and attempt < limits.attempts and patient:
                    waited += demand
                    self.tally.retried += 1
                    if await self._wait(failure, attempt):
                        continue
                    self._let_go([item.key])
                    return
                self.pace.give_back()
                reason = failure.reason
                if failure.heals and not patient:
                    reason = _told_to_wait(reason, demand, limits.patience)
                tries = f" (after {attempt} attempts)" if attempt > 1 else ""
                self._fail(item.key, reason + tries)
                return
            tokens = (reply.tokens_in or 0) + (reply.tokens_out or 0)
            self.pace.succeeded(time.monotonic() - began, tokens)
            await self._keep(item.key, reply)
            return

    async def _wait(self, failure: ReaderFailure, attempt: int) -> bool:
        """Wait before another attempt; False when the run is to stop instead.

        A call that was turned away keeps its slot meanwhile: another would be turned away too.
        """
        if not failure.throttled:
            self.pace.give_back()
        try:
            await asyncio.wait_for(self.stop.wait(), self.pace.delay(failure, attempt))
        except TimeoutError:
            return True
        finally:
            if failure.throttled:
                self.pace.give_back()
        return False

    async def _finish(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Wait for filler and workers; once asked to stop, no longer than the grace period."""
        pending = set(tasks)
        deadline: float | None = None
        while pending:
            _, pending = await asyncio.wait(pending, timeout=0.5)
            if self.stop.is_set():
                deadline = deadline or time.monotonic() + _GRACE
                if time.monotonic() > deadline:
                    for task in pending:
                        task.cancel()
                    break

    # ------------------------------------------------------------ keeping what came back

    async def _keep(self, key: bytes, reply: Reply) -> None:
        tally = self.tally
        tally.answered += 1
        tally.tokens_in += reply.tokens_in or 0
        tally.tokens_out += reply.tokens_out or 0
        tally.slots = int(self.pace.slots)
        self.replies.append((key, self.dataset, reply))
        self.size += len(reply.text) + len(reply.reasoning or "")
        self.something_to_commit.set()
        while len(self.replies) > _PENDING or self.size > _PENDING_SIZE:
            self.committed.clear()
            await self.committed.wait()

    def _fail(self, key: bytes, reason: str) -> None:
        self.failed.add(key)
        self.failures.append((key, self.dataset, reason))
        self.something_to_commit.set()
        self._count_failure(reason)
        self.alike.add(reason.partition(":")[0])
        if len(self.alike) == 1 and reason != self.unseen:
            self._stop_if_alike(reason, len(self.failed))

    def _count_failure(self, reason: str) -> None:
        self.tally.failed += 1
        self.tally.reasons[reason.partition(":")[0]] += 1

    def _stop_if_alike(self, reason: str, failed: int) -> None:
        tally = self.tally
        # Where some replies are kept the reader has answered before: what fails now fails alone.
        early = tally.answered == 0 and tally.kept == 0 and tally.stopped is None
        if failed >= _ALIKE and tally.stops_early and early:
            tally.stopped = f"the first {failed} trials all failed alike: {reason}"
            self.stop.set()

    def _stop_if_nothing_is_seen(self) -> None:
        """An unseen file is its trial's own trouble; a chunk of nothing else is the run's."""
        tally = self.tally
        looked = self.whole or tally.planned >= _CHUNK
        nothing = tally.kept == 0 and set(tally.reasons) == {"picture"}
        if looked and nothing and len(self.failed) >= min(self.queued, _CHUNK):
            self._stop_if_alike(self.unseen, tally.failed)

    async def _commit_groups(self) -> None:
        """Commit what has gathered, at most every `_GATHER` seconds: a commit costs as much as many
        rows, so at thousands of replies a second small groups were measured to double the cost.
        """
        while not self.closing.is_set() or self.replies or self.failures:
            if not self.replies and not self.failures:
                self.something_to_commit.clear()
                await self.something_to_commit.wait()
                continue
            if len(self.replies) < _GROUP and self.size < _GROUP_SIZE:
                with suppress(TimeoutError):  # the last are not waited for
                    await asyncio.wait_for(self.closing.wait(), _GATHER)
            replies, failures = self.replies, self.failures
            self.replies, self.failures, self.size = [], [], 0
            await self._in_writer(self.store.commit, replies, failures, self.asker)
            self._let_go([row[0] for row in (*replies, *failures)])
            del replies, failures  # not kept while the next are gathered
            self.committed.set()

    async def _in_writer(self, do: Callable[..., T], *args: object) -> T:
        # Shielded: what waits for its turn to be committed is committed even if the run breaks off.
        return await asyncio.shield(
            asyncio.get_running_loop().run_in_executor(self.writer, do, *args)
        )


async def _digest_sources(requests: list[Request], studio: Studio) -> bool:
    """Read what must be read to name these requests; whether there was anything."""
    unknown = list(studio.sources.unknown(requests))
    loop = asyncio.get_running_loop()
    # A share for each thread: handing one file over costs as much as digesting it.
    shares = [unknown[at :: studio.threads] for at in range(min(studio.threads, len(unknown)))]
    await asyncio.gather(
        *[loop.run_in_executor(studio.pool, _digest, studio.sources, one) for one in shares]
    )
    return bool(unknown)


def _digest(digest: SourceDigest, sources: Sequence[Source | Inline]) -> None:
    """A file that is not there is an error of its own trials, found again when they are keyed."""
    for source in sources:
        with suppress(BadInput):
            digest(source)


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


# ------------- Plans: trials made anew at every call, taken in lists, and read back in their order

Plan = Callable[[], Iterable[Trial]]
_READ_AT_ONCE = 64  # replies held at once: each may have megabytes
# So many of the first trials are looked at for so many replies that tell whether log-probabilities
# mean anything.
_LOOKED_AT, _ENOUGH = 512, 8


class Given(msgspec.Struct):
    """When replies were given and by what, counted as they are read back.

    `first` and `last` are seconds since 1970, 0 where no reply has a time. `readers` are rows of
    the store. `filled_in` counts those whose log-probabilities were taken away, for none of the
    reader's means anything. `before` counts those that were there when the store was opened, and
    `last_before` is when the last of them was given.
    """

    first: int = 0
    last: int = 0
    replies: int = 0
    before: int = 0
    last_before: int = 0
    filled_in: int = 0
    models: Counter[str] = msgspec.field(default_factory=Counter)
    fingerprints: Counter[str] = msgspec.field(default_factory=Counter)
    readers: Counter[int] = msgspec.field(default_factory=Counter)

    def add(self, kept: Kept) -> None:
        reply, at, reader, before = kept
        self.replies += 1
        if before:
            self.before += 1
            self.last_before = max(self.last_before, at)
        if at:
            self.first = min(self.first, at) if self.first else at
            self.last = max(self.last, at)
        self.readers[reader] += 1
        if reply.model:
            self.models[reply.model] += 1
        if reply.fingerprint:
            self.fingerprints[reply.fingerprint] += 1


NOT_ASKED: Final = "not asked yet"
"""Why there is no reply to a trial that nobody tried."""


def read_back(
    plan: Plan,
    reader: Reader,
    store: ReplyStore,
    studio: Studio,
    given: Given | None = None,
    *,
    judges: bool = False,
) -> Iterator[tuple[Trial, Reply | None, str]]:
    """Every trial in plan order with its kept reply, or None and the reason there is none.

    The order of the plan, not of arrival, so that what is written from it is always the same.
    Where the first replies all have log-probabilities of exactly 0 and 1, which no model has, those
    of all are taken away.
    """
    asker = store.asker(reader, judges=judges)
    filled_in = _filled_in(plan, reader, store, studio, asker)
    for chunk in chunks(plan(), _READ_AT_ONCE):
        planned = list(_keys(chunk, reader, studio))
        keys = [key for _, key, _ in planned if key]
        replies = store.get(keys, asker)
        failures = store.failures([key for key in keys if key not in replies])
        for trial, key, why in planned:
            kept = replies.get(key)
            if kept is None:
                yield trial, None, failures.get(key, why)
                continue
            if given is not None:
                given.add(kept)
            reply = kept.reply
            if filled_in and reply.logprobs:
                reply = msgspec.structs.replace(reply, logprobs=None)
                if given is not None:
                    given.filled_in += 1
            yield trial, reply, ""


def _keys(
    trials: Iterable[Trial], reader: Reader, studio: Studio
) -> Iterator[tuple[Trial, bytes, str]]:
    """Trials with the keys of their replies, or with none and the reason; and else what to say."""
    traits = reader.traits
    for trial in trials:
        request = trial.request.for_reader(traits)
        try:
            digest = request_digest(request, studio.sources)
        except BadInput as error:
            yield trial, b"", str(error)
            continue
        greedy, told = request.decoding.greedy, traits.told_case
        key = reply_key(reader.identity, digest, trial, greedy=greedy, told_case=told)
        yield trial, key, NOT_ASKED


def _filled_in(plan: Plan, reader: Reader, store: ReplyStore, studio: Studio, asker: Asker) -> bool:
    """Whether the first log-probabilities of a reader are all of exactly 0 and 1.

    Few are not judged, nor is a control, which knows what it says.
    """
    if reader.identity.startswith("control:"):
        return False
    first: list[Reply] = []
    for chunk in chunks(islice(plan(), _LOOKED_AT), _READ_AT_ONCE):
        keys = [key for _, key, _ in _keys(chunk, reader, studio) if key]
        first += [kept.reply for kept in store.get(keys, asker).values() if kept.reply.logprobs]
        if len(first) >= _ENOUGH:
            return all(reply.certain for reply in first)
    return False


class Lacking(NamedTuple):
    """A trial without a reply: its key, what is to be shown of it, and when it was last tried why
    it failed; or with a `fault`, for which it cannot be shown at all.
    """

    key: bytes
    request: Request
    digest: bytes = b""
    pictures: Mapping[Slot, bytes] = {}
    failed: str = ""
    fault: str = ""


async def lacking(
    plan: Plan, reader: Reader, store: ReplyStore, studio: Studio, *, judges: bool = False
) -> AsyncIterator[tuple[int, list[Lacking]]]:
    """How many trials of the plan there are, and those without a reply, chunk by chunk in order."""
    asker = store.asker(reader, judges=judges)
    traits = reader.traits
    for chunk in chunks(plan(), _CHUNK):
        requests = [trial.request.for_reader(traits) for trial in chunk]
        if await _digest_sources(requests, studio):
            studio.sources.keep()
        found: list[Lacking] = []
        for trial, request in zip(chunk, requests, strict=True):
            try:
                digest, pictures = digests(request, studio.sources)
            except BadInput as error:
                found.append(Lacking(b"", request, fault=str(error)))
                continue
            greedy, told = request.decoding.greedy, traits.told_case
            key = reply_key(reader.identity, digest, trial, greedy=greedy, told_case=told)
            found.append(Lacking(key, request, digest, pictures))
        kept = store.known([one.key for one in found if one.key], asker)
        open_ = [one for one in found if one.key not in kept]
        why = store.failures([one.key for one in open_ if one.key])
        yield len(chunk), [one._replace(failed=why.get(one.key, "")) for one in open_]


def chunks(trials: Iterable[Trial], size: int, first: int | None = None) -> Iterator[list[Trial]]:
    """Lists of trials: of `size`, or growing to it from `first` so that work begins at once."""
    iterator, length = iter(trials), first or size
    while chunk := list(islice(iterator, length)):
        yield chunk
        length = min(size, 2 * length)
