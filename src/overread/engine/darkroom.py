"""Small PNG files are looked at by a process beside this one, which `imaging/darkroom.py` is.

At thousands of pictures a second the interpreter's lock is the limit of threads: in 2,000 films
that are sent as they stand they spent half of the time handing it over.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import msgspec

from overread.beside import Beside
from overread.case import Inline, Source
from overread.imaging import is_archive
from overread.imaging.darkroom import SMALL, Looked, Order

# A few files are looked at here in the time that a process takes to start.
MANY = 32
_AT_ONCE = 16  # files in a message
_MESSAGE = 1 << 20  # bytes of the files in a message, if they are more than one
# Bytes of files that are ordered and not there yet: what comes lies in memory several times until
# this process has the time to take it.
_UNDER_WAY = 8 << 20
_answers = msgspec.msgpack.Decoder(list[Looked])
_encode = msgspec.msgpack.Encoder().encode


class _Waiting(NamedTuple):
    order: Order
    size: int
    looked: asyncio.Future[Looked]


class Darkroom:
    """The process, once it is worth starting one, and what waits for its answers.

    A class, for both belong together. What it has no answer to is empty: a thread does the work.
    """

    def __init__(self) -> None:
        self._beside: Beside | None = None
        self._closed = (os.cpu_count() or 1) == 1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[_Waiting] = deque()
        self._under_way = 0  # bytes

    def open(self, sources: Iterable[Source | Inline]) -> bool:
        """Start the process, if many PNG files are among these; whether it was there before."""
        if self._beside is not None:
            return True
        if not self._closed and sum(map(_is_png, sources)) >= MANY:
            try:
                self._beside = Beside("overread.imaging.darkroom")
            except OSError:
                self._closed = True
        return False

    def takes(self, source: Source, size: int) -> bool:
        """Whether to have this file looked at here: a small one, once the process is there."""
        return self._beside is not None and size <= SMALL and _is_png(source)

    def look(self, order: Order, size: int) -> asyncio.Future[Looked]:
        """What there is to say of a file of this size, once those before it were looked at.

        Orders go out together, and some ahead, so that the process does not wait for this one.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # nobody waits any more for what one that broke off left
            self._loop, self._waiting, self._under_way = loop, deque(), 0
        looked: asyncio.Future[Looked] = loop.create_future()
        self._waiting.append(_Waiting(order, size, looked))
        if len(self._waiting) == 1:
            loop.call_soon(self._send)
        return looked

    def _send(self) -> None:
        while self._waiting and (self._under_way < _UNDER_WAY or self._beside is None):
            these = self._next()
            try:
                message = _encode([one.order for one in these])
            except UnicodeEncodeError:  # a name that is not UTF-8
                message = _encode([])
            if self._beside is None:  # closed meanwhile
                _tell(these, b"")
                continue
            try:
                asked = self._beside.ask(message)
            except RuntimeError:  # no thread takes anything any more: this process is ending
                _tell(these, b"")
                continue
            self._under_way += sum(one.size for one in these)
            asked.add_done_callback(
                partial(_in_loop, asyncio.get_running_loop(), self._came, these)
            )

    def _next(self) -> list[_Waiting]:
        """Those of the next message."""
        these, size = [self._waiting.popleft()], 0
        while self._waiting and len(these) < _AT_ONCE:
            size += these[-1].size
            if size + self._waiting[0].size > _MESSAGE:
                break
            these.append(self._waiting.popleft())
        return these

    def _came(self, these: list[_Waiting], data: bytes) -> None:
        self._under_way -= sum(one.size for one in these)
        _tell(these, data)
        self._send()

    def close(self) -> None:
        """End the process: nobody asks any more."""
        self._closed = True
        if self._beside is not None:
            self._beside.close()
            self._beside = None


def _is_png(source: Source | Inline) -> bool:
    if isinstance(source, Inline) or source.name[-4:].lower() != ".png":
        return False
    return not is_archive(source.root)


def _in_loop(
    loop: asyncio.AbstractEventLoop,
    came: Callable[[list[_Waiting], bytes], None],
    these: list[_Waiting],
    done: Future[bytes],
) -> None:
    """Hand an answer over to who waits in a loop, unless that has ended."""
    data = b"" if done.cancelled() or done.exception() is not None else done.result()
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(came, these, data)


def _tell(these: list[_Waiting], data: bytes) -> None:
    found: list[Looked] = []
    with suppress(msgspec.DecodeError):
        found = _answers.decode(data)
    for at, one in enumerate(these):
        if not one.looked.done():  # whoever waited was cancelled
            one.looked.set_result(found[at] if at < len(found) else Looked())
