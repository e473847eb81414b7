"""A bounded cache of rendered pictures and clips."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TypeAlias

from overread.case import Shown, ShownClip

# The bytes, their base64 copy (4/3) once a request carries them, and the objects around both.
_COST = 2.4
_MEGABYTE = 1_000_000


Rendered: TypeAlias = Shown | ShownClip


class Cache:
    """Rendered pictures by key: least recently used go first, and each is rendered once.

    A class, for it guards a lock and a sum. Threads that ask for a key being rendered wait for the
    first of them; its exception reaches them all and is not kept.
    """

    def __init__(self, most_bytes: int = 256 * _MEGABYTE) -> None:
        self._most = most_bytes
        self._held = 0
        self._kept: OrderedDict[Hashable, Rendered] = OrderedDict()
        self._making: dict[Hashable, Future[Rendered]] = {}
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        """What the kept pictures are counted as."""
        return self._held

    def get(self, key: Hashable, make: Callable[[], Rendered]) -> Rendered:
        """The picture of this key, made by `make` if it is neither kept nor being made."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept
            future = self._making.get(key)
            first = future is None
            if future is None:
                future = self._making[key] = Future()
        if not first:
            return future.result()
        try:
            shown = make()
        except BaseException as error:  # even an interrupt must not leave the others waiting
            with self._lock:
                del self._making[key]
            future.set_exception(error)
            raise
        with self._lock:
            self._keep(key, shown)
            del self._making[key]
        future.set_result(shown)
        return shown

    def peek(self, key: Hashable) -> Rendered | None:
        """The picture of this key if it is kept: never waits, never makes."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def _keep(self, key: Hashable, shown: Rendered) -> None:
        cost = _cost(shown)
        if cost > self._most:
            return
        self._kept[key] = shown
        self._held += cost
        while self._held > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._held -= _cost(oldest)


def _cost(shown: Rendered) -> int:
    parts = shown.frames if isinstance(shown, ShownClip) else (shown,)
    return sum(int(len(part.data) * _COST) + 1 for part in parts)
