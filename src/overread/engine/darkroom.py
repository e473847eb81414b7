"""Small PNG files are looked at by a process beside this one, which `imaging/darkroom.py` is.

At thousands of pictures a second the interpreter's lock is the limit of threads: in 2,000 films
that are sent as they stand they spent half of the time handing it over.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import NamedTuple

import msgspec

from overread.beside import Beside
from overread.case import Source
from overread.imaging import is_archive
from overread.imaging.darkroom import Looked, Order

# A few are looked at here in the time that a process takes to start.
_FEW = 32
_SMALL = 1 << 20  # bytes of a file; what takes longer is better shared among threads
# Files in a message, and messages on their way: while one is answered the next lies ready.
_AT_ONCE, _AHEAD = 32, 2
_answers = msgspec.msgpack.Decoder(list[Looked])
_encode = msgspec.msgpack.Encoder().encode


class _Waiting(NamedTuple):
    order: Order
    looked: asyncio.Future[Looked]


class Darkroom:
    """The process, once it is worth starting one, and what waits for its answers.

    A class, for both belong together. What it has no answer to is empty: a thread does the work.
    """

    def __init__(self) -> None:
        self._beside: Beside | None = None
        self._closed = (os.cpu_count() or 1) == 1
        self._met = 0
        self._waiting: list[_Waiting] = []
        self._under_way = 0

    def takes(self, source: Source, size: int) -> bool:
        """Whether to have this file looked at here: small ones, once there are many."""
        if self._closed or size > _SMALL or source.name[-4:].lower() != ".png":
            return False
        if is_archive(source.root):
            return False
        self._met += 1
        if self._met == _FEW + 1:
            with suppress(OSError):
                self._beside = Beside("overread.imaging.darkroom")
        return self._beside is not None

    def look(self, order: Order) -> asyncio.Future[Looked]:
        """What there is to say of a file, once those before it were looked at."""
        looked: asyncio.Future[Looked] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(order, looked))
        if self._under_way < _AHEAD:
            self._send()
        return looked

    def _send(self) -> None:
        these, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
        assert self._beside is not None
        try:
            message = _encode([one.order for one in these])
        except UnicodeEncodeError:  # a name that is not UTF-8
            message = _encode([])
        self._under_way += 1
        answered = asyncio.wrap_future(self._beside.ask(message))
        answered.add_done_callback(lambda done: self._answered(these, done))

    def _answered(self, these: list[_Waiting], done: asyncio.Future[bytes]) -> None:
        self._under_way -= 1
        if self._waiting:
            self._send()
        data = b"" if done.cancelled() else done.result()
        found = _answers.decode(data) if data else []
        found += [Looked()] * (len(these) - len(found))
        for one, looked in zip(these, found, strict=True):
            if not one.looked.done():  # whoever waited was cancelled
                one.looked.set_result(looked)

    def close(self) -> None:
        """End the process: nobody asks any more."""
        self._closed = True
        if self._beside is not None:
            self._beside.close()
            self._beside = None
