"""Clients that post ready-made bodies: bare aiohttp to measure against, our own, and a raw socket
that shows what the server can do."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urlsplit

import aiohttp

from overread.readers import Guard
from overread.readers.http_client import Client


async def bare_aiohttp(url: str, bodies: list[bytes], connections: int) -> float:
    """Requests a second that plain aiohttp reaches posting ready-made bodies."""
    queue = iter(bodies)
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def work() -> None:
            for body in queue:
                async with session.post(url, data=body) as response:
                    assert response.status == 200
                    await response.read()

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(connections)))
        return len(bodies) / (time.perf_counter() - began)


async def own_client(url: str, bodies: list[bytes], connections: int) -> float:
    """Requests a second that our own client reaches with nothing around it."""
    queue = iter(bodies)
    client = Client(url, Guard("open"), {"Content-Type": "application/json"})
    path = urlsplit(url).path

    async def work() -> None:
        for body in queue:
            response = await client.send("POST", path, [body], 60)
            assert response.status == 200

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    taken = time.perf_counter() - began
    await client.close()
    return len(bodies) / taken


async def raw_socket(url: str, bodies: list[bytes], connections: int) -> float:
    """Requests a second over bare sockets: a lower bound on what the server can answer."""
    parts = urlsplit(url)
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: "
    requests = iter(bodies)
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    left = len(bodies)

    class Client(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport
            self.got = b""
            self.next()

        def next(self) -> None:
            body = next(requests, None)
            if body is None:
                self.transport.close()
            else:
                self.transport.write(f"{head}{len(body)}\r\n\r\n".encode())
                self.transport.write(body)

        def data_received(self, data: bytes) -> None:
            nonlocal left
            self.got += data
            head, found, body = self.got.partition(b"\r\n\r\n")
            if not found:
                return
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            if len(body) < length:
                return
            self.got = b""
            left -= 1
            if left == 0:
                done.set_result(None)
            self.next()

    began = time.perf_counter()
    for _ in range(connections):
        await loop.create_connection(Client, parts.hostname, parts.port)
    await done
    return len(bodies) / (time.perf_counter() - began)
