"""A server in the test's own loop that answers with exactly the bytes a test gives it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


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


def response(body: bytes, status: int = 200, *headers: bytes) -> bytes:
    """A response as it goes over the wire."""
    head = [b"HTTP/1.1 %d Whatever" % status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join([*head, b"Connection: close", b"", body])
