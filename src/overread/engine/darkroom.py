"""Small PNG files are looked at by a process beside this one, which `imaging/darkroom.py` is.

At thousands of pictures a second the interpreter's lock is the limit of threads: in 2,000 films
that are sent as they stand they spent half of the time handing it over. So no thread waits for the
process either: its answers come through the loop that asks.
"""

from __future__ import annotations

import asyncio
import marshal
import os
import subprocess
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from overread.beside import started
from overread.case import BadInput, Inline, Shown, Source
from overread.imaging import Place, is_archive, place_named
from overread.imaging.darkroom import HEAD, LENGTH, SMALL

if TYPE_CHECKING:
    from overread.imaging.darkroom import Order, Size

# A few files are looked at here in the time that a process takes to start.
MANY = 32
# Bytes of answers that are read at once, and of the longest. With a megabyte in the pipe that is
# all that lies ready: the process waits until this one has the time to take it.
_READ = SMALL + (1 << 16)


class Looked(NamedTuple):
    """What came of looking at a file: where and how it stood, its digest, and what may be sent.

    None at all where it cannot be read or is no small PNG; nothing to be sent where its bytes are
    not what would be, or were not asked for. Whoever makes a picture of it says why.
    """

    at: Place | None = None
    shown: Shown | None = None


Took = Callable[[int, Looked], None]


class _Asked(NamedTuple):
    """Orders that were given together: who takes each answer, and who waits for them all."""

    took: Took
    done: asyncio.Future[None]
    orders: Sequence[Order]


class Darkroom:
    """The process, once it is worth starting one, and what waits for its answers.

    A class, for both belong together. What it has no answer to is empty: a thread does the work.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = (os.cpu_count() or 1) == 1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: deque[_Asked] = deque()
        self._taken = 0  # answers to the first of these
        self._unsent = b""  # of orders that their pipe had no room for
        self._read = memoryview(b"")
        self._held = 0  # bytes of it that are no whole answer yet

    def open(self, sources: Iterable[Source | Inline]) -> bool:
        """Start the process, if many PNG files are among these; whether it was there before."""
        if self._process is not None:
            return True
        if not self._closed and sum(map(_is_png, sources)) >= MANY:
            try:
                self._process, orders, answers = started("overread.imaging.darkroom")
            except OSError:
                self._closed = True
            else:
                self._orders, self._answers = orders.fileno(), answers.fileno()
                os.set_blocking(self._orders, False)
                os.set_blocking(self._answers, False)
                self._read = memoryview(bytearray(_READ))
                self._end = weakref.finalize(self, _end, self._process, (orders, answers))
        return False

    def takes(self, source: Source | Inline) -> bool:
        """Whether to have this file looked at here, once the process is there."""
        return self._process is not None and _is_png(source)

    async def look(
        self,
        orders: Sequence[tuple[Source | Inline, tuple[Size, ...] | None]],
        took: Took,
        room: int | None = None,
    ) -> None:
        """Have these files looked at, and what is found of each taken, by its number, as it comes.

        An order names a file, and the sizes in which it may be sent as it stands. Not more than
        `room` bytes of pictures are found for these and for all that follow without another room;
        without one, whoever orders waits for them now.
        """
        if self._process is None:
            return
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # nobody waits any more for what one that broke off left
            self._loop = loop
            self._asked = deque(one._replace(took=_nobody) for one in self._asked)
            loop.add_reader(self._answers, self._came)
        numbers, files = [], []
        for number, (source, sizing) in enumerate(orders):
            with suppress(BadInput, OSError, ValueError):
                assert isinstance(source, Source)
                files.append((*place_named(source), sizing))
                numbers.append(number)
        if not files:
            return
        done = loop.create_future()
        self._asked.append(_Asked(lambda at, found: took(numbers[at], found), done, files))
        message = marshal.dumps((-1 if room is None else max(0, room), room is None, files))
        self._unsent += LENGTH.pack(len(message)) + message
        self._send()
        await done

    def _send(self) -> None:
        """Give orders, as far as they have room; the rest when answers have come."""
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._orders, self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def _came(self) -> None:
        """Take what has come of answers."""
        try:
            got = os.readv(self._answers, [self._read[self._held :]])
        except BlockingIOError:
            return
        except OSError:
            got = 0
        if not got:
            self.close()
            return
        end, at = self._held + got, 0
        while end - at >= HEAD.size:
            name, digest, size, mark, led, sent = HEAD.unpack_from(self._read, at)
            after = at + HEAD.size + led + sent
            if after > end:
                break
            asked = self._asked[0]
            found = Looked()
            if mark:
                pictured = after - sent
                path = os.fsdecode(bytes(self._read[pictured - led : pictured]))
                path = path or asked.orders[self._taken][1]
                shown = None
                if sent:
                    shown = Shown("image/png", bytes(self._read[pictured:after]))
                    shown.__dict__["digest"] = digest
                found = Looked(Place(path, size, mark, path, name), shown)
            at = after
            self._take(asked, found)
        self._held = end - at
        self._read[: self._held] = self._read[at:end]
        if self._held == len(self._read):
            self.close()  # no answer is so long
        elif self._unsent:
            self._send()

    def _take(self, asked: _Asked, found: Looked) -> None:
        taken, self._taken = self._taken, self._taken + 1
        last = self._taken == len(asked.orders)
        if last:
            self._asked.popleft()
            self._taken = 0
        if asked.took is _nobody or asked.done.done():  # whoever waited was cancelled
            return
        try:
            asked.took(taken, found)
        except Exception as error:
            asked.done.set_exception(error)
            return
        if last:
            asked.done.set_result(None)

    def close(self) -> None:
        """End the process: nobody asks any more. Who still waits does without."""
        self._closed = True
        if self._process is None:
            return
        self._process = None
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed():
            loop.remove_reader(self._answers)
        self._end()
        waiting, self._asked = self._asked, deque()
        for one in waiting:
            if one.took is not _nobody and not one.done.done():
                one.done.set_result(None)


def _nobody(at: int, found: Looked) -> None:
    """Takes what is of no use any more."""


def _is_png(source: Source | Inline) -> bool:
    if isinstance(source, Inline) or source.name[-4:].lower() != ".png":
        return False
    return not is_archive(source.root)


def _end(process: subprocess.Popen[bytes], pipes: tuple[IO[bytes], ...]) -> None:
    process.kill()
    for pipe in pipes:
        with suppress(OSError):
            pipe.close()
    process.wait()
