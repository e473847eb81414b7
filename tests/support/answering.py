"""Servers that answer with exactly the bytes a test gives them: in its own loop, or in threads."""

from __future__ import annotations

import asyncio
import re
import socketserver
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import BinaryIO


@asynccontextmanager
async def answering(answer: Callable[[bytes], bytes]) -> AsyncIterator[str]:
    """Serve what `answer` makes of each request (head and body); gives the base URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head.lower())
        body = await reader.readexactly(int(length[1]) if length else 0)
        writer.write(answer(head + body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


@contextmanager
def raw_server(answer: Callable[[bytes, BinaryIO], None]) -> Iterator[str]:
    """Have `answer` write what it likes to each request, in threads; gives the base URL.

    For commands, whose loop is their own. The connection is closed after each.
    """

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            request = b""
            while line := self.rfile.readline():
                request += line
                if line == b"\r\n":
                    break
            length = re.search(rb"content-length: *(\d+)", request.lower())
            request += self.rfile.read(int(length[1]) if length else 0)
            with suppress(OSError):  # whoever asked may have gone
                answer(request, self.wfile)

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def response(body: bytes, status: int = 200, *headers: bytes) -> bytes:
    """A response as it goes over the wire."""
    head = [b"HTTP/1.1 %d Whatever" % status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join([*head, b"Connection: close", b"", body])
