"""Small PNG files are looked at by a process beside this one, which `imaging/darkroom.py` is.

At thousands of pictures a second the interpreter's lock is the limit of threads: in 2,000 films
that are sent as they stand they spent half of the time handing it over.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import msgspec

from overread.beside import Beside
from overread.case import Source
from overread.imaging import is_archive
from overread.imaging.darkroom import Looked, Order

# A few files are looked at here in the time that a process takes to start.
MANY = 32
_SMALL = 1 << 20  # bytes of a file; what takes longer is better shared among threads
_AT_ONCE = 16  # files in a message
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
        self._waiting: list[_Waiting] = []

    def open(self) -> bool:
        """Start the process, for many files are to be looked at; whether it was there before."""
        if self._beside is not None:
            return True
        if not self._closed:
            with suppress(OSError):
                self._beside = Beside("overread.imaging.darkroom")
        return False

    def takes(self, source: Source, size: int) -> bool:
        """Whether to have this file looked at here: a small one, once the process is there."""
        if self._beside is None or size > _SMALL or source.name[-4:].lower() != ".png":
            return False
        return not is_archive(source.root)

    def look(self, order: Order) -> asyncio.Future[Looked]:
        """What there is to say of a file, once those before it were looked at.

        Orders go out together and at once, so that the process never waits for this one.
        """
        loop = asyncio.get_running_loop()
        looked: asyncio.Future[Looked] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send)
        self._waiting.append(_Waiting(order, looked))
        return looked

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        for first in range(0, len(waiting), _AT_ONCE):
            these = waiting[first : first + _AT_ONCE]
            try:
                message = _encode([one.order for one in these])
            except UnicodeEncodeError:  # a name that is not UTF-8
                message = _encode([])
            if self._beside is None:  # closed meanwhile
                _tell(these, b"")
            else:
                answered = asyncio.wrap_future(self._beside.ask(message))
                answered.add_done_callback(partial(_answered, these))

    def close(self) -> None:
        """End the process: nobody asks any more."""
        self._closed = True
        if self._beside is not None:
            self._beside.close()
            self._beside = None


def _answered(these: list[_Waiting], done: asyncio.Future[bytes]) -> None:
    _tell(these, b"" if done.cancelled() else done.result())


def _tell(these: list[_Waiting], data: bytes) -> None:
    found = _answers.decode(data) if data else []
    found += [Looked()] * (len(these) - len(found))
    for one, looked in zip(these, found, strict=True):
        if not one.looked.done():  # whoever waited was cancelled
            one.looked.set_result(looked)
