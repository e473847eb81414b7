"""Plans: trials made anew at every call, taken in lists, and read back in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import msgspec

from overread.case import BadInput, Reader, Reply, Trial
from overread.engine.keys import reply_key, request_digest
from overread.engine.store import Kept, Store
from overread.engine.studio import Studio

__all__ = ["Given", "Plan", "chunks", "read_back"]

Plan = Callable[[], Iterable[Trial]]
_CHUNK = 64  # replies held at once: each may have megabytes


class Given(msgspec.Struct):
    """When replies were given and by what, counted as they are read back.

    `first` and `last` are seconds since 1970, 0 where no reply has a time; `undated` counts those
    that have none. `readers` are rows of the store. `before` counts those that were there when the
    store was opened, and `last_before` is when the last of them was given.
    """

    first: int = 0
    last: int = 0
    replies: int = 0
    undated: int = 0
    before: int = 0
    last_before: int = 0
    models: dict[str, int] = {}
    fingerprints: dict[str, int] = {}
    readers: dict[int, int] = {}

    def add(self, kept: Kept) -> None:
        reply, at, reader, before = kept
        self.replies += 1
        if before:
            self.before += 1
            self.last_before = max(self.last_before, at)
        if at:
            self.first = min(self.first, at) if self.first else at
            self.last = max(self.last, at)
        else:
            self.undated += 1
        self.readers[reader] = self.readers.get(reader, 0) + 1
        if reply.model:
            self.models[reply.model] = self.models.get(reply.model, 0) + 1
        if reply.fingerprint:
            told = reply.fingerprint
            self.fingerprints[told] = self.fingerprints.get(told, 0) + 1


def read_back(
    plan: Plan,
    reader: Reader,
    store: Store,
    studio: Studio,
    given: Given | None = None,
    *,
    judges: bool = False,
) -> Iterator[tuple[Trial, Reply | None, str]]:
    """Every trial in plan order with its kept reply, or None and the reason there is none.

    The order of the plan, not of arrival, so that what is written from it is always the same.
    """
    asker = store.asker(reader, judges=judges)
    for chunk in chunks(plan(), _CHUNK):
        keys: list[bytes | None] = []
        reasons: dict[int, str] = {}
        for position, trial in enumerate(chunk):
            request = trial.request.for_reader(reader.traits)
            try:
                digest = request_digest(request, studio.sources)
            except BadInput as error:
                keys.append(None)
                reasons[position] = str(error)
                continue
            greedy, told = request.decoding.greedy, reader.traits.told_case
            keys.append(reply_key(reader.identity, digest, trial, greedy=greedy, told_case=told))
        wanted = [key for key in keys if key is not None]
        replies = store.get(wanted, asker)
        failures = store.failures([key for key in wanted if key not in replies])
        for position, (trial, key) in enumerate(zip(chunk, keys, strict=True)):
            if key is None:
                yield trial, None, reasons[position]
            else:
                kept = replies.get(key)
                if kept is None:
                    yield trial, None, failures.get(key, "not asked yet")
                    continue
                if given is not None:
                    given.add(kept)
                yield trial, kept.reply, ""


def chunks(trials: Iterable[Trial], size: int, first: int | None = None) -> Iterator[list[Trial]]:
    """Lists of trials: of `size`, or growing to it from `first` so that work begins at once."""
    iterator, length = iter(trials), first or size
    while chunk := list(islice(iterator, length)):
        yield chunk
        length = min(size, 2 * length)
