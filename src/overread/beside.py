"""A process of our own beside this one, for what would hold the interpreter's lock.

A module of few imports is run there: its `main` reads what it is told from standard input, and
writes answers to the pipe whose number is its second argument. What it prints is lost. It finds out
that nobody asks any more by the end of its input.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

_PIPE = 1 << 20  # bytes that lie ready: else each side waits for the other every 64 kB
# What we import it imports, from where we do; never from the folder in which a command is given.
# Without `site` and `runpy`, whose imports take longer than the module's own.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[3:]
__import__(sys.argv[1], fromlist=["main"]).main()
"""


def started(module: str) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    """A module run as a program, the pipe it reads and the one it writes to, wide ones.

    Raises OSError where no process can be started.
    """
    ours, theirs = os.pipe()  # standard output is for what should not be printed
    try:
        process = subprocess.Popen(  # noqa: S603
            [*_interpreter(), "-S", "-c", _PROGRAM, module, str(theirs), *_import_path()],
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
