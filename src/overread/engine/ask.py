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

from overread.case import BadInput, Reader, Reply, Request, Trial
from overread.engine.crew import Crew, Hire, LocalCrew, Outcome, Queue, Tally, Wanted
from overread.engine.reply_store import Asker, Kept, ReplyStore, Row
from overread.engine.studio import Slot, Studio, digests, reply_key, request_digest

T = TypeVar("T")

_CHUNK = 256
# Trials that wait for a caller. Few, for two chunks wait behind them.
_QUEUE = 64
# What may wait to be committed before callers wait, and what is committed without waiting for more:
# so many replies, or so many characters of them.
_PENDING, _PENDING_SIZE = 2560, 1 << 25
_GROUP, _GROUP_SIZE = 512, 1 << 22
_GATHER = 0.05
_ALIKE = 8  # the first trials that, failing all alike, stop a run
_BEAT = 15.0
_GRACE = 20.0  # seconds that calls under way get after a request to stop


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
    crew: Hire | None = None,
) -> Tally:
    """Have every trial of the plan answered in the store, or recorded as failed with its reason.

    `plan` is called again for another pass when a second process was asking some of the same
    trials. `stop` ends it gracefully: calls under way finish, nothing new begins. `judges`: the
    reader was enrolled as a judge. `crew`: who shows and asks, in place of this process.
    """
    tally, stop = tally or Tally(), stop or asyncio.Event()
    limits = reader.limits
    asking = _Asking(
        *(plan, reader, store, studio, dataset, store.asker(reader, judges=judges)),
        crew(limits, tally, stop) if crew else LocalCrew(reader, studio, limits, tally, stop),
        *(tally, stop),
    )
    try:
        while await asking.one_pass():
            asking.tally.waiting = True
            await asyncio.sleep(0.2)  # another process asks what is left: look again
        asking.tally.waiting = False
    finally:
        asking.close()  # also keeps what had come back when something unforeseen happened
    return asking.tally


class _Asking(msgspec.Struct):
    plan: Plan
    reader: Reader
    store: ReplyStore
    studio: Studio
    dataset: int
    asker: Asker
    crew: Crew
    tally: Tally
    stop: asyncio.Event
    under_way: set[bytes] = set()
    failed: set[bytes] = set()
    alike: set[str] = set()  # kinds of failure of trials that were really tried
    queued: int = 0
    looked: int = 0  # trials of chunks that were queued
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
        queue: Queue = asyncio.Queue(_QUEUE)
        crew = self.crew
        async with asyncio.TaskGroup() as group:
            committer = group.create_task(self._commit_groups())
            heart = group.create_task(self._beat())
            workers = [group.create_task(crew.work(queue, self._settled)) for _ in range(crew.size)]
            # A task of its own: a full queue must not keep a request to stop waiting.
            filler = group.create_task(self._fill(queue))
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

    async def _fill(self, queue: Queue) -> bool:
        """Queue what is ours to ask, then an end for each worker.

        While a chunk is claimed and queued the next is named: whoever looks at its pictures need
        not wait for the store.
        """
        elsewhere = False
        parts = chunks(self.plan(), _CHUNK, first=32)
        coming = self._named(parts)
        try:
            while coming is not None and not self.stop.is_set():
                items = await coming
                looked = self.tally.planned
                coming = self._named(parts)
                if items:
                    elsewhere = await self._claim(items, queue) or elsewhere
                self.looked = looked
                self._stop_if_nothing_is_seen()
                await asyncio.sleep(0)  # let callers run between chunks that need nothing
        finally:
            if coming is not None:
                coming.add_done_callback(lambda done: done.cancelled() or done.exception())
                coming.cancel()
        if coming is None:
            self.whole = True
            self._stop_if_nothing_is_seen()
        for _ in range(self.crew.size):
            await queue.put(None)
        return elsewhere

    def _named(self, parts: Iterator[list[Trial]]) -> asyncio.Task[list[Wanted]] | None:
        """The trials of the next chunk, when they are named; None after the last."""
        chunk = next(parts, None)
        return None if chunk is None else asyncio.ensure_future(self._keyed(chunk))

    async def _claim(self, items: list[Wanted], queue: Queue) -> bool:
        """Queue those that are ours to ask; whether another process is asking any."""
        keys = [item.key for item in items]
        claimed = await self._in_writer(self.store.claim, keys, self.asker)
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
        return bool(claimed.elsewhere)

    async def _keyed(self, chunk: list[Trial]) -> list[Wanted]:
        """The trials of a chunk that are not under way, each key once."""
        traits, tally = self.reader.traits, self.tally
        requests = [trial.request.for_reader(traits) for trial in chunk]
        if await self.studio.digest(requests):
            await self._in_writer(self.studio.sources.keep)
        items: dict[bytes, Wanted] = {}
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
            items[key] = Wanted(key, digest, pictures, request, trial.case if told else "")
        if self.first_pass:
            tally.planned += len(chunk)
            tally.shared += shared
        return list(items.values())

    # ------------------------------------------------------------ what came of a trial

    async def _settled(self, item: Wanted, outcome: Outcome) -> None:
        if outcome is None:
            self._let_go([item.key])  # its claim goes with the store's closing
        elif isinstance(outcome, Reply):
            await self._keep(item.key, outcome)
        else:
            if outcome.unseen:
                self.unseen = outcome.reason
            self._fail(item.key, outcome.reason)
            if outcome.unseen:
                self._stop_if_nothing_is_seen()

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
        looked = self.whole or self.looked >= _CHUNK
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
        if await studio.digest(requests):
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
