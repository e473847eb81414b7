"""A process of our own beside this one: messages go in, and an answer to each comes out, in order.

For what holds the interpreter's lock so much that a thread would only stand in everybody's way. A
message is bytes; before it stands its length. Who answers (`serve`) ends when nobody can ask any
more, and has nothing to say but answers: what it prints is lost. Where the process is gone, or
never came up, every answer is empty, and whoever asked does the work himself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO

_LENGTH = 4  # bytes of it before a message
_PIPE = 1 << 20  # bytes that lie ready: else each side waits for the other every 64 kB
# What we import it imports, from where we do; never from the folder in which a command is given.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[3:]
from runpy import run_module
run_module(sys.argv[1], run_name="__main__", alter_sys=True)
"""
# For a module of few imports whose `main` it is, without those of `runpy` and of `site`.
_LEAN_PROGRAM = """
import sys
sys.path[:] = sys.argv[3:]
__import__(sys.argv[1], fromlist=["main"]).main()
"""


class Beside:
    """A module run as a program, and who waits for its answers."""

    def __init__(self, module: str) -> None:
        """Start it. Raises OSError where no process can be started."""
        self._process, messages, answers = started(module)
        self._messages, self._answers = messages, answers
        # One that writes and one that reads, so that a message waits there when one is answered.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"to {module}")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix=f"from {module}")
        self.close = weakref.finalize(
            self, _end, self._process, (self._writer, self._reader), (messages, answers)
        )

    def ask(self, message: bytes) -> Future[bytes]:
        """The answer when it is there; empty where the process is gone."""
        self._writer.submit(_write, self._messages, message)
        return self._reader.submit(_read, self._answers)


def started(
    module: str, *, lean: bool = False
) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    """A module run as a program, the pipe it reads and the one it writes to, wide ones.

    That one has the number that is its second argument. Raises OSError where no process can be
    started.
    """
    ours, theirs = os.pipe()  # standard output is for what should not be printed
    words = [*_interpreter(), *(["-S"] if lean else []), "-c", _LEAN_PROGRAM if lean else _PROGRAM]
    try:
        process = subprocess.Popen(  # noqa: S603
            [*words, module, str(theirs), *_import_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs,),
            process_group=0,  # a Ctrl-C is for whoever asks
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    messages, answers = process.stdin, open(ours, "rb")  # noqa: SIM115
    assert messages is not None
    for pipe in (messages, answers):
        _widen(pipe)
    return process, messages, answers


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer whoever started this process, until it closes our input or is gone."""
    received = sys.stdin.buffer
    with suppress(BrokenPipeError), open(int(sys.argv[2]), "wb") as sent:
        while head := received.read(_LENGTH):
            made = answer(received.read(int.from_bytes(head)))
            sent.write(len(made).to_bytes(_LENGTH))
            sent.write(made)
            sent.flush()


def _interpreter() -> list[str]:
    """How to start Python as it was started for us. Raises OSError within another program."""
    name = os.path.basename(sys.executable or "").lower()  # None or a server's where embedded
    if sys.platform == "win32" or not name.startswith(("python", "pypy")):
        raise OSError(f"{sys.executable!r} starts no Python beside this one")
    return [sys.executable, "-I" if sys.flags.isolated else "-P"]


def _import_path() -> list[str]:
    ours = str(Path(__file__).parents[1])
    named = [one for one in sys.path if isinstance(one, str) and os.path.isabs(one)]
    return named if ours in named else [ours, *named]


def _widen(pipe: IO[bytes]) -> None:
    with suppress(ImportError, AttributeError, OSError):  # another system, or no more are granted
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(pipe, F_SETPIPE_SZ, _PIPE)


def _write(pipe: IO[bytes], message: bytes) -> None:
    with suppress(OSError, ValueError):  # it is gone
        pipe.write(len(message).to_bytes(_LENGTH) + message)
        pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    with suppress(OSError, ValueError):
        length = int.from_bytes(pipe.read(_LENGTH))
        data = pipe.read(length)
        return data if len(data) == length else b""
    return b""


def _end(
    process: subprocess.Popen[bytes],
    threads: tuple[ThreadPoolExecutor, ...],
    pipes: tuple[IO[bytes], ...],
) -> None:
    process.kill()
    for thread in threads:  # not waited for: this may be one of them, which let go of the last name
        thread.shutdown(wait=False, cancel_futures=True)
    for pipe in pipes:
        with suppress(OSError):
            pipe.close()
    process.wait()
