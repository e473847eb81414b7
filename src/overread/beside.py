"""A process of our own beside this one: messages go in, and an answer to each comes out, in order.

For what holds the interpreter's lock so much that a thread would only stand in everybody's way. A
message is bytes; before it stands its length. Who answers (`serve`) ends when nobody can ask any
more. Where the process is gone, or never came up, every answer is empty, and whoever asked does the
work himself.
"""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import IO

_LENGTH = 4  # bytes of it before a message
_PIPE = 1 << 20  # bytes that lie ready: else each side waits for the other every 64 kB


class Beside:
    """A module run as a program, and who waits for its answers."""

    def __init__(self, module: str) -> None:
        """Start it. Raises OSError where no process can be started."""
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pipesize=_PIPE,
            process_group=0,  # a Ctrl-C is for whoever asks
        )
        # One that writes and one that reads, so that a message waits there when one is answered.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"to {module}")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix=f"from {module}")
        self.close = weakref.finalize(self, _end, self._process, self._writer, self._reader)

    def ask(self, message: bytes) -> Future[bytes]:
        """The answer when it is there; empty where the process is gone."""
        self._writer.submit(_write, self._process.stdin, message)
        return self._reader.submit(_read, self._process.stdout)


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer whoever started this process, until it closes our input or is gone."""
    received, sent = sys.stdin.buffer, sys.stdout.buffer
    while head := received.read(_LENGTH):
        made = answer(received.read(int.from_bytes(head)))
        sent.write(len(made).to_bytes(_LENGTH))
        sent.write(made)
        sent.flush()


def _write(pipe: IO[bytes] | None, message: bytes) -> None:
    assert pipe is not None
    with suppress(OSError, ValueError):  # it is gone
        pipe.write(len(message).to_bytes(_LENGTH) + message)
        pipe.flush()


def _read(pipe: IO[bytes] | None) -> bytes:
    assert pipe is not None
    with suppress(OSError, ValueError):
        length = int.from_bytes(pipe.read(_LENGTH))
        data = pipe.read(length)
        return data if len(data) == length else b""
    return b""


def _end(
    process: subprocess.Popen[bytes], writer: ThreadPoolExecutor, reader: ThreadPoolExecutor
) -> None:
    process.kill()
    for thread in (writer, reader):
        thread.shutdown(cancel_futures=True)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
