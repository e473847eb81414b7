"""What decoding may cost: bytes that all threads share, and seconds of each file.

A stranger's file of 200 kB may stand for gigabytes of pixels or minutes of work. So every decoder
says by `hold`, from what the file declares, how many bytes it is about to take, before it takes
them, and asks `check_time` on its way. A work begins with a small share of the bytes. If it needs
more it is given up and begun again once so much is free: pictures of extreme size wait for each
other, and two works that wait never hold what the other needs. What needs more than there is, or
more time than there is, is refused by name.
"""

from __future__ import annotations

import functools
import io
import sys
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, ParamSpec, TypeAlias, TypeVar

from overread.case import BadInput, Shown, ShownClip
from overread.files import size_words

# What counts is the process: under 1 GB more than it had, the interpreter's own share included.
MOST_HELD = 800 << 20
_FIRST_SHARE = 64 << 20
# Seconds of the processor and not of the clock: a busy machine makes no file worse.
_MOST_SECONDS = 20.0
_STEP, _FED = 1 << 20, 1 << 16
# As zlib counts bits: a gzip file, and a bare stream.
GZIP, BARE = 31, -15

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _NeedsMore(BaseException):
    """The work must begin again with so many bytes. No error: no decoder may take it for one."""

    def __init__(self, size: int) -> None:
        self.size = size


class _Work(threading.local):
    share = 0  # of the bytes, for the work of this thread; 0 outside of any
    held = 0
    ends = 0.0


class _Room:
    """The bytes, given out in the order in which they were asked for."""

    def __init__(self) -> None:
        self.free = MOST_HELD
        self.waiting: list[object] = []
        self.changed = threading.Condition()

    @contextmanager
    def share(self, size: int) -> Iterator[None]:
        turn = object()
        with self.changed:
            self.waiting.append(turn)
            try:
                self.changed.wait_for(lambda: self.waiting[0] is turn and self.free >= size)
                self.free -= size
            finally:
                self.waiting.remove(turn)
                self.changed.notify_all()
        try:
            yield
        finally:
            with self.changed:
                self.free += size
                self.changed.notify_all()


_work = _Work()
_room = _Room()


def budgeted(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that decodes: a work of its own, or a part of the one that calls it.

    What is held within it is let go when it returns.
    """

    @functools.wraps(work)
    def within(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if _work.share:
            held = _work.held
            try:
                return work(*args, **kwargs)
            finally:
                _work.held = held
        size = _FIRST_SHARE
        while True:
            with _room.share(size):
                _work.share, _work.held, _work.ends = size, 0, time.thread_time() + _MOST_SECONDS
                try:
                    return work(*args, **kwargs)
                except _NeedsMore as more:
                    size = more.size
                finally:
                    _work.share = 0

    return within


def hold(size: int, name: str) -> None:
    """Say that so many bytes more are about to be taken, until the work or its part ends."""
    check_time(name)
    held = _work.held + size if _work.share else size
    if held > MOST_HELD:
        raise BadInput(
            f"{name}: would take {size_words(held)} of memory to decode, and at most "
            f"{size_words(MOST_HELD)} are given to a file. Export it smaller, or leave it out."
        )
    if held > _work.share > 0:
        raise _NeedsMore(min(MOST_HELD, max(held, 2 * _work.share)))
    _work.held = held


def check_time(name: str) -> None:
    """Refuse a file that has been worked on for too long."""
    if time_is_over():
        raise BadInput(
            f"{name}: takes over {_MOST_SECONDS:.0f} seconds to decode, and is given up. "
            "Export it smaller, or leave it out."
        )


def time_is_over() -> bool:
    """Whether `check_time` would refuse: for those who must not be interrupted."""
    return _work.share > 0 and time.thread_time() > _work.ends


class ClockedFile(io.BytesIO):
    """Bytes read by a decoder written in Python, or in pieces: each reading looks at the clock."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.called = name

    def read(self, size: int | None = -1, /) -> bytes:
        check_time(self.called)
        return super().read(size)


@budgeted
def make_room(size: int, name: str) -> None:
    """Begin with a share of so many bytes that `hold` will ask for little by little."""
    hold(size, name)


def inflated(packed: bytes, bits: int, name: str, at_most: int = MOST_HELD) -> ClockedFile:
    """What a deflated stream (of `bits` as zlib counts them) holds, taken step by step.

    Of gzip all members. In a file, which grows without a second copy. Raises zlib.error where the
    stream is damaged or holds more than `at_most`, and EOFError where it is cut short.
    """
    made, at = ClockedFile(b"", name), 0
    while True:
        inflating = zlib.decompressobj(bits)
        while not inflating.eof:
            fed = packed[at : at + _FED]
            at += len(fed)
            rest = fed
            while True:
                most = min(_STEP, at_most - made.tell() + 1)
                step = inflating.decompress(rest, most)
                hold(len(step) + len(step) // 8, name)
                if made.tell() + len(step) > at_most:
                    raise zlib.error("more than it should be")
                made.write(step)
                rest = inflating.unconsumed_tail
                if inflating.eof or (not rest and len(step) < most):
                    break
            if not fed and not inflating.eof:
                raise EOFError("the compressed data end early")
        at -= len(inflating.unused_data)
        if bits != GZIP or not packed.startswith(b"\x1f\x8b", at):
            made.seek(0)
            return made


# ------------------------ What was made last, bounded by bytes: pictures, clips and opened films


class LastUsed(Generic[_T]):
    """Things by key: least recently used go first, and each is made once.

    A class, for it guards a lock and a sum. Threads that ask for a key being made wait for the
    first of them; its exception reaches them all and is not kept.
    """

    def __init__(self, most_bytes: int, cost: Callable[[_T], int], most: int = sys.maxsize) -> None:
        self._most, self._cost, self._most_things = most_bytes, cost, most
        self.held_bytes = 0  # what the kept things are counted as
        self._kept: OrderedDict[Hashable, _T] = OrderedDict()
        self._making: dict[Hashable, Future[_T]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """The thing of this key, made by `make` if it is neither kept nor being made."""
        with self._lock:
            if (kept := self._found(key)) is not None:
                return kept
            another = self._making.get(key)
            if another is None:
                future = self._making.setdefault(key, Future())
        if another is not None:
            return another.result()
        try:
            made = make()
        except BaseException as error:  # even an interrupt must not leave the others waiting
            with self._lock:
                del self._making[key]
            future.set_exception(error)
            raise
        with self._lock:
            self._keep(key, made)
            del self._making[key]
        future.set_result(made)
        return made

    def put(self, key: Hashable, made: _T) -> _T:
        """Keep a thing that is there already; one that was kept under this key stays."""
        with self._lock:
            if (kept := self._found(key)) is not None:
                return kept
            self._keep(key, made)
        return made

    def peek(self, key: Hashable) -> _T | None:
        """The thing of this key if it is kept: never waits, never makes."""
        with self._lock:
            return self._found(key)

    def forget(self) -> None:
        """Let go of everything that is kept."""
        with self._lock:
            self._kept.clear()
            self.held_bytes = 0

    def _found(self, key: Hashable) -> _T | None:
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def _keep(self, key: Hashable, made: _T) -> None:
        cost = self._cost(made)
        if cost > self._most:
            return
        self._kept[key] = made
        self.held_bytes += cost
        while self.held_bytes > self._most or len(self._kept) > self._most_things:
            _, oldest = self._kept.popitem(last=False)
            self.held_bytes -= self._cost(oldest)


_MEGABYTE = 1_000_000
# The bytes, their base64 copy (4/3) once a request carries them, and the objects around both.
_COST = 2.4
_MOST_RENDERED = 4_096

Rendered: TypeAlias = Shown | ShownClip


class Cache(LastUsed[Rendered]):
    """Rendered pictures and clips.

    All readers are asked at once, so that what one is shown another is shown soon: a thousand
    pictures of 224 pixels are kept, or a hundred clips; of small ones no more than four thousand.
    """

    def __init__(self, most_bytes: int = 64 * _MEGABYTE) -> None:
        super().__init__(most_bytes, _cost, most=_MOST_RENDERED)


def _cost(shown: Rendered) -> int:
    parts = shown.frames if isinstance(shown, ShownClip) else (shown,)
    return sum(int(len(part.data) * _COST) + 1 for part in parts)
