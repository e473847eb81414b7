"""Start `bench/server.py` for a test, and ask it afterwards what it saw.

    with served("hostile", seed=3, trouble=("429", "hang"), max_troubles=1) as server:
        ...                       # ask server.base_url
        assert server.stats()["redirected"] == 0

Every server takes a free port and ends with the test's process, so tests may run side by side.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "bench" / "server.py"


class Served:
    """A running server: where it listens, and what it saw."""

    def __init__(self, base_url: str, process: subprocess.Popen[bytes]) -> None:
        self.base_url = base_url
        self.process = process
        self.port = urlsplit(base_url).port

    def stats(self) -> dict[str, Any]:
        """GET /stats: requests, answered, bodies, histogram, troubles, redirected, pictures …"""
        return self.get("/stats")

    def bodies(self) -> dict[str, dict[str, int]]:
        """How often each body, named by `digest_of`, was asked and answered."""
        return self.get("/bodies")

    def kept(self) -> list[str]:
        """The last bodies as text, of a server started with keep=N."""
        return self.get("/kept")

    def get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def stop(self, patience: float = 5.0) -> int:
        """End the server; its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def served(
    mode: str = "instant",
    *,
    patience: float = 30.0,
    env: dict[str, str] | None = None,
    **options: Any,
) -> Iterator[Served]:
    """The server in this mode. Options are its flags: `max_troubles=2` is `--max-troubles 2`.

    True gives a bare flag, None and False give none, sequences are joined by commas. A control of
    the test's own is named `control="support.module:attribute"`.
    """
    command = [sys.executable, str(SERVER), "--mode", mode, "--with-parent", *flags(options)]
    with running(command, "listening ", patience, env) as (process, ready):
        yield Served(ready, process)


@contextmanager
def running(
    command: list[str], ready: str, patience: float, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process that prints `ready` and a word when it is; that word, and an end on every path."""
    paths = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | (env or {})
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
        )
        try:
            yield process, first_line(process, ready, patience, said)
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def first_line(
    process: subprocess.Popen[bytes], ready: str, patience: float, said: IO[bytes]
) -> str:
    """What follows `ready` on the line that begins with it; other lines are passed over."""
    assert process.stdout is not None
    deadline = time.monotonic() + patience
    got = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                continue
            chunk = os.read(process.stdout.fileno(), 4096)
            got += chunk
            for line in got.split(b"\n")[:-1]:
                if line.startswith(ready.encode()):
                    return line[len(ready) :].decode().strip()
            if not chunk:
                process.wait()
                break
    said.seek(0)
    raise RuntimeError(
        f"{' '.join(process.args)} was not ready after {patience:g} s "  # type: ignore[arg-type]
        f"(exit status {process.poll()}): {said.read()[-4000:].decode(errors='replace')}"
    )


def flags(options: dict[str, Any]) -> list[str]:
    given: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            given.append(flag)
        elif isinstance(value, (list, tuple)):
            given += [flag, ",".join(map(str, value))]
        elif value is not None and value is not False:
            given += [flag, str(value)]
    return given


def digest_of(body: bytes) -> str:
    """The name under which the server's log and /bodies know a body."""
    return hashlib.sha256(body).hexdigest()
