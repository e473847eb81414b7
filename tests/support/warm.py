"""Commands in processes of their own that need not import anything.

One process has imported all of Overread and done nothing with it; each command is a fork of it,
with streams, folder and environment of its own, to be stopped, killed or asked what became of it.
What a process imports and how long that takes is looked at in tests/cli/test_process.py.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO

__all__ = ["MAIN", "Forked", "forked"]

# A request is a line of JSON with four descriptors: the three streams, and one for what is told of
# the process: its number, then how it ended. A process between waits for it, so that the number is
# not given to another before whoever asked knows.
WARM = """
import array, atexit, gc, importlib, json, os, pkgutil, socket, sys, threading, traceback
import overread
for module in pkgutil.walk_packages(overread.__path__, "overread."):
    if not module.name.endswith(("__main__", "phantoms")) and ".phantoms." not in module.name:
        importlib.import_module(module.name)
import pydantic, polars, rich, tomli_w, uvloop

gc.collect()
gc.freeze()
asked = socket.socket(fileno=int(sys.argv[1]))
between = 0
while True:
    data, rights, _, _ = asked.recvmsg(1 << 20, socket.CMSG_SPACE(4 * 4))
    while between and os.waitpid(-1, os.WNOHANG if data else 0)[0]:
        between -= 1
    if not data:
        sys.exit()
    streams = array.array("i")
    streams.frombytes(rights[0][2])
    if os.fork():
        between += 1
        for stream in streams:
            os.close(stream)
        continue
    child = os.fork()
    if not child:
        break
    for stream in streams[:3]:
        os.close(stream)
    os.write(streams[3], b"%d\\n" % child)
    _, status = os.waitpid(child, 0)
    os.write(streams[3], b"%d\\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)
asked.close()
os.close(streams[3])
for number, stream in enumerate(streams[:3]):
    os.dup2(stream, number)
    os.close(stream)
sys.stdin = sys.__stdin__ = open(0)
sys.stdout = sys.__stdout__ = open(1, "w")
sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace")
given = json.loads(data)
os.environ.clear()
os.environ.update(given["env"])
os.chdir(given["cwd"])
sys.argv = ["overread", *given["words"]]
code = 0
try:
    exec(given["code"], {"__name__": "__main__"})
except SystemExit as left:
    code = left.code or 0
except BaseException:
    traceback.print_exc()
    code = 1
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
os._exit(code)  # what was imported need not be taken apart
"""
MAIN = "from overread.cli import main; main()"


@functools.cache
def _warm(process: int) -> socket.socket:
    """The warm process of this one; it ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-W", "ignore", "-c", WARM, str(theirs.fileno())]
    warm = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()

    def end() -> None:
        ours.close()
        warm.wait()

    atexit.register(end)
    return ours


class Forked:
    """As much of a `subprocess.Popen` with text streams as tests need."""

    def __init__(self, words: list[str], code: str = MAIN) -> None:
        out, out_there = os.pipe()
        err, err_there = os.pipe()
        self._told, told_there = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        request = {"words": words, "code": code, "cwd": os.getcwd(), "env": dict(os.environ)}
        there = [nothing, out_there, err_there, told_there]
        socket.send_fds(_warm(os.getpid()), [json.dumps(request).encode()], there)
        for stream in there:
            os.close(stream)
        self.stdout: IO[str] = os.fdopen(out)
        self.stderr: IO[str] = os.fdopen(err)
        self.args = words
        self.returncode: int | None = None
        self.pid = int(self._line())

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            more = os.read(self._told, 1)
            assert more, "the process that forks is gone"
            line += more
        return line

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def _end(self) -> None:
        self.returncode = int(self._line())
        os.close(self._told)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What was not read of both streams, when it has ended."""
        said: dict[IO[str], str] = {}
        readers = [
            threading.Thread(target=lambda one=one: said.update({one: one.read()}), daemon=True)
            for one in (self.stdout, self.stderr)
            if not one.closed
        ]
        for reader in readers:
            reader.start()
        deadline = None if timeout is None else time.monotonic() + timeout
        self.wait(timeout)
        for reader in readers:
            reader.join(None if deadline is None else max(0.1, deadline - time.monotonic()))
        for stream in said:
            stream.close()
        return said.get(self.stdout, ""), said.get(self.stderr, "")


def forked(*words: object, code: str = MAIN) -> Forked:
    """Start a command and go on."""
    return Forked([*map(str, words)], code)
