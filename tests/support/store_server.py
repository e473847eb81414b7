"""A store served to a test: in a thread of its own, or as the command, to be killed."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

from overread.engine import Store
from overread.engine.store_door import bound_privately, serving_store
from support.served import running

TOKEN = "t" * 32


@contextmanager
def store_served(
    store: Store, port: int = 0, names: tuple[str, ...] = (), tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve a store from a thread; gives its link."""
    at = bound_privately("127.0.0.1", port, names, tls=tls is not None)
    ready, loop, ends = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with serving_store(store, TOKEN, at, certificate=tls):
            ready.set()
            await ends.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield f"{at.address.origin}/?token={TOKEN}"
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join(10)
        loop.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def serving_command(store: Path, port: int) -> Iterator[tuple[Popen[bytes], str]]:
    """`overread store serve`, and the link that it prints."""
    words = ["store", "serve", "--store", str(store), "--port", str(port)]
    command = [sys.executable, "-m", "overread", *words]
    with running(command, "http", 30.0) as (process, rest):
        yield process, f"http{rest}"
