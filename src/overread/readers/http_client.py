"""HTTP/1.1 as a chat endpoint needs it: one request at a time on a connection, nothing followed.

Our own, on the bare transport, for a request costs aiohttp 55 us of a core and this 14 (measured,
docs/performance.md). Strict where a server is odd: what is not HTTP breaks the connection, and what
comes unasked is never an answer. No cookie is read, no redirect followed, no proxy taken from the
environment.
"""

from __future__ import annotations

import asyncio
import functools
import re
import socket
import ssl
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from overread.case import ReaderFailure
from overread.readers.guard import Guard

MOST_BYTES = 32_000_000  # of a body: log-probabilities of every token take most of it
_LONGEST_HEAD = 1 << 16
_LONGEST_CHUNK_LINE = 1 << 12
# Longer bodies are read and decoded two at a time; the others wait in the server's hands.
_LONG = 1 << 18
_IDLE = 15.0  # seconds after which a connection is not used again: servers close theirs too
_RESOLVED_FOR = 10.0
_NEXT_ADDRESS = 0.25  # seconds until another address of the host is tried beside the first
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: .*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
# In place of a body's length: it ends with its connection, or says part by part how long it is.
_TO_THE_END, _IN_CHUNKS = -1, -2


class Response(NamedTuple):
    """Status, headers by their names in small letters, and the whole body, unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Unreachable(Exception):
    """No connection was made."""


class Untrusted(Exception):
    """The server's certificate is not one to trust."""


class Broken(Exception):
    """A connection that broke off, or on which something else than HTTP was spoken."""


class Client:
    """Connections to one server, used again while it keeps them open.

    As many as calls are under way: the pace decides that. The guard is asked at every socket.
    """

    def __init__(
        self, url: str, guard: Guard, headers: Mapping[str, str], proxy: str | None = None
    ) -> None:
        target, through = urlsplit(url), urlsplit(proxy or url)
        self._host, self._tls = _host(target), target.scheme == "https"
        self._connects_to = _host(through), through.port or _usual_port(through)
        self._tls_first = through.scheme == "https"
        self._tunnelled = proxy is not None and self._tls
        self._guard = guard
        named = f"[{self._host}]" if ":" in self._host else self._host
        self._authority = f"{named}:{target.port or _usual_port(target)}"
        authority = self._authority if target.port else named
        # A proxy that sees the request is told where it goes.
        self._origin = f"http://{authority}" if proxy and not self._tls else ""
        fields = {"Host": authority, "Accept": "*/*", "Accept-Encoding": "gzip, deflate", **headers}
        self._fields = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._heads: dict[tuple[str, str], bytes] = {}
        self._idle: list[_Connection] = []
        self._long = asyncio.Semaphore(2)
        self._addresses: list[Any] = []
        self._resolved_at = float("-inf")
        self._resolving = asyncio.Lock()

    async def send(self, method: str, path: str, body: Sequence[bytes], seconds: float) -> Response:
        """One request and its response, within so many seconds.

        Raises TimeoutError, Unreachable, Untrusted, Broken; ReaderFailure where the guard refuses
        the address or the body is too long.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        connection = self._at_hand() or await self._connected(deadline)
        length = b"Content-Length: %d\r\n\r\n" % sum(map(len, body))
        # A timer of the connection's own: `asyncio.timeout` costs a third of all the rest.
        timer = loop.call_at(deadline, connection.expire)
        try:
            await connection.ask([self._head(method, path), length, *body])
            if connection.outcome is None:
                async with asyncio.timeout_at(deadline), self._long:
                    await connection.rest()
        except BaseException:
            connection.drop()
            raise
        finally:
            timer.cancel()
        if connection.reusable:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.drop()
        if isinstance(connection.outcome, Response):
            return connection.outcome
        raise connection.outcome or Broken("no response")

    def _head(self, method: str, path: str) -> bytes:
        head = self._heads.get((method, path))
        if head is None:
            # A base URL has no query: a question mark is the version's, which we put there.
            target = self._origin + quote(path, safe="/%:@!$&'()*+,;=~?")
            head = f"{method} {target} HTTP/1.1\r\n{self._fields}".encode()
            self._heads[method, path] = head
        return head

    def _at_hand(self) -> _Connection | None:
        oldest = time.monotonic() - _IDLE
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and connection.idle_since >= oldest:
                return connection
            connection.drop()
        return None

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
        await asyncio.sleep(0)  # let transports finish closing

    # ------------------------------------------------------------ connecting

    async def _connected(self, deadline: float) -> _Connection:
        late = asyncio.timeout_at(deadline)
        try:
            async with late:
                return await self._connect()
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(str(error)) from None
        except (OSError, RuntimeError) as error:  # uvloop raises either
            if late.expired():
                raise
            raise Unreachable(str(error)) from None

    async def _connect(self) -> _Connection:
        from aiohappyeyeballs import start_connection

        host = self._connects_to[0]
        made = await start_connection(
            await self._allowed_addresses(),
            happy_eyeballs_delay=_NEXT_ADDRESS,
            interleave=1,
            socket_factory=functools.partial(self._guard.socket_for, host),
        )
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                _Connection,
                sock=made,
                ssl=_trust() if self._tls_first else None,
                server_hostname=host if self._tls_first else None,
            )
        except BaseException:
            made.close()
            raise
        if self._tunnelled:
            try:
                await self._tunnel(connection)
            except BaseException:
                connection.drop()
                raise
        return connection

    async def _allowed_addresses(self) -> list[Any]:
        """Where the host is, but for addresses that the data may not go to.

        The guard is asked once more when a socket is made: what counts is the address connected to.
        """
        host, port = self._connects_to
        async with self._resolving:
            if time.monotonic() - self._resolved_at > _RESOLVED_FOR:
                loop = asyncio.get_running_loop()
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                self._addresses, self._resolved_at = list(found), time.monotonic()
        allowed = [a for a in self._addresses if self._guard.allows(host, str(a[4][0]))]
        if not self._addresses:
            raise OSError("the name has no address")
        if not allowed:
            raise self._guard.refused(host, str(self._addresses[0][4][0]))
        return allowed

    async def _tunnel(self, connection: _Connection) -> None:
        """Through a proxy that carries what it cannot read."""
        asked = f"CONNECT {self._authority} HTTP/1.1\r\nHost: {self._authority}\r\n\r\n"
        await connection.ask([asked.encode()], bodiless=True)
        if not isinstance(connection.outcome, Response):
            raise connection.outcome or Broken("no response")
        if not 200 <= connection.outcome.status < 300 or not connection.reusable:
            raise Broken(f"the proxy answered CONNECT with HTTP {connection.outcome.status}")
        connection.transport = await asyncio.get_running_loop().start_tls(
            connection.transport, connection, _trust(), server_hostname=self._host
        )


def _host(url: SplitResult) -> str:
    return (url.hostname or "").encode("idna").decode()


def _usual_port(url: SplitResult) -> int:
    return 443 if url.scheme == "https" else 80


@functools.cache
def _trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Connection(asyncio.Protocol):
    """A connection and the one request on it.

    `outcome` is what came of it: the response or what went wrong; None while it is awaited, or
    while a long body waits for its turn. `reusable`: another request may follow.
    """

    def __init__(self) -> None:
        self.transport: Any = None
        self.outcome: Response | Exception | None = Broken("nothing was asked")
        self.reusable = False
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] = self._loop.create_future()
        self._raw = bytearray()  # what came and is not understood yet
        self._searched = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def ask(self, pieces: list[bytes], *, bodiless: bool = False) -> asyncio.Future[None]:
        """Send a request; done when there is an outcome, or a long body to read the `rest` of."""
        self.outcome, self.reusable = None, False
        self._woken = self._loop.create_future()
        self._bodiless = bodiless
        self._headers: dict[str, str] | None = None
        self._admitted = False
        if self.transport.is_closing():
            self._settle(Broken("the server closed the connection"))
        else:
            self.transport.writelines(pieces)
        return self._woken

    def rest(self) -> asyncio.Future[None]:
        """Read a long body to its end."""
        self._woken, self._admitted = self._loop.create_future(), True
        if self.outcome is None:
            self.transport.resume_reading()
        else:
            self._woken.set_result(None)
        return self._woken

    def expire(self) -> None:
        self._settle(TimeoutError())

    def drop(self) -> None:
        """Close at once, whatever was under way."""
        self.reusable = False
        self.transport.abort()

    def close(self) -> None:
        self.reusable = False
        self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        if self.outcome is None:
            try:
                if error or self._headers is None or self._length != _TO_THE_END:
                    raise Broken(str(error or "the server closed the connection"))
                self._whole(bytes(self._body))
            except (Broken, ReaderFailure) as failure:
                self._settle(failure)

    def data_received(self, data: bytes) -> None:
        if self.outcome is not None:  # unasked, or after the end: of no request that we know
            self.drop()
            return
        try:
            self._take(data)
        except (Broken, ReaderFailure) as error:
            self._settle(error)

    def _settle(self, outcome: Response | Exception) -> None:
        if self.outcome is None:
            self.outcome = outcome
        if not isinstance(outcome, Response):
            self.drop()
        self._wake()

    def _wake(self) -> None:
        if not self._woken.done():
            self._woken.set_result(None)

    # ------------------------------------------------------------ understanding what came

    def _take(self, data: bytes) -> None:
        while self._headers is None:
            if self._raw:
                self._raw += data
            held = self._raw or data
            end = held.find(b"\r\n\r\n", max(0, self._searched - 3))
            if end < 0:
                self._raw = self._raw or bytearray(data)
                self._searched = len(self._raw)
                if self._searched > _LONGEST_HEAD:
                    raise Broken(f"a head of over {_LONGEST_HEAD:,} bytes")
                return
            head, data = bytes(held[:end]), bytes(held[end + 4 :])
            self._raw, self._searched = bytearray(), 0
            self._read_head(head)
        if self._length == _IN_CHUNKS:
            self._raw += data
            while self._take_chunk():
                pass
        elif not self._body and len(data) == self._length:  # as replies mostly come
            self._whole(data)
        elif self._length == _TO_THE_END:
            self._add(data)
        else:
            left = self._length - len(self._body)
            self._add(data[:left])
            if len(data) >= left:
                self._raw += data[left:]
                self._whole(bytes(self._body))
        if self.outcome is None and len(self._body) > _LONG and not self._admitted:
            self.transport.pause_reading()
            self._wake()

    def _read_head(self, head: bytes) -> None:
        line, *lines = head.decode("utf-8", "replace").split("\r\n")
        begins = _STATUS_LINE.fullmatch(line)
        if not begins:
            raise Broken(f"not HTTP: the server said {line}")
        headers: dict[str, str] = {}
        for one in lines:
            name, colon, value = one.partition(":")
            if not colon or not _NAME.fullmatch(name):
                raise Broken(f"not HTTP: a header {one}")
            name, value = name.lower(), value.strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        self._status = int(begins[2])
        if 100 <= self._status < 200:  # an answer is still to come
            return
        self._headers, self._body = headers, bytearray()
        self._length = self._length_told(headers)
        ways = headers.get("connection", "").lower()
        stays = "close" not in ways if begins[1] == "1" else "keep-alive" in ways
        self._stays = stays or self._bodiless

    def _length_told(self, headers: Mapping[str, str]) -> int:
        if self._bodiless or self._status in (204, 304):
            return 0
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if coding is not None:
            if coding.lower() != "chunked":
                raise Broken(f"a body in the transfer encoding {coding}")
            self._left, self._part = 0, "size"
            return _IN_CHUNKS
        if length is None:
            return _TO_THE_END
        if not (length.isascii() and length.isdigit()):
            raise Broken(f"a body of the length {length}")
        if len(length) > 18 or int(length) > MOST_BYTES:
            raise _too_long()
        return int(length)

    def _take_chunk(self) -> bool:
        """Understand one more part of a body that comes in chunks; False when more must come."""
        raw = self._raw
        if self._left:
            part = raw[: self._left]
            del raw[: len(part)]
            self._left -= len(part)
            self._add(part)
            return bool(raw)
        end = raw.find(b"\r\n")
        if end < 0 or end > _LONGEST_CHUNK_LINE:
            if len(raw) > _LONGEST_CHUNK_LINE:
                raise Broken("not HTTP: a chunk without a size")
            return False
        line = bytes(raw[:end])
        del raw[: end + 2]
        if self._part == "size":
            size = _CHUNK_SIZE.fullmatch(line)
            if not size:
                raise Broken("not HTTP: a chunk without a size")
            self._left = int(size[1], 16)
            self._part = "end of chunk" if self._left else "trailer"
        elif self._part == "end of chunk":
            if line:
                raise Broken("not HTTP: a chunk longer than its size")
            self._part = "size"
        elif not line:
            self._whole(bytes(self._body))
            return False
        return True

    def _add(self, part: bytes | bytearray) -> None:
        self._body += part
        if len(self._body) > MOST_BYTES:
            raise _too_long()

    def _whole(self, body: bytes) -> None:
        assert self._headers is not None
        self._body = bytearray()
        clear = not self._raw and not self.transport.get_write_buffer_size()  # both ways
        self.reusable = clear and self._stays and self._length != _TO_THE_END
        packed = self._headers.get("content-encoding", "identity").lower()
        if packed != "identity":
            body = _unpacked(body, packed)
        self._settle(Response(self._status, self._headers, body))


def _unpacked(body: bytes, how: str) -> bytes:
    """A compressed body may be a thousand times as long as it says."""
    if how not in ("gzip", "x-gzip", "deflate"):
        raise Broken(f"a body in the encoding {how}, which was not asked for")
    raw = how == "deflate" and body[:1] and body[0] & 15 != 8  # some servers leave zlib's head out
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32)
    try:
        whole = unpacker.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise Broken(f"a body that cannot be unpacked ({error})") from None
    if len(whole) > MOST_BYTES:
        raise _too_long()
    if not unpacker.eof:
        raise Broken("a compressed body without its end")
    return whole


def _too_long() -> ReaderFailure:
    return ReaderFailure(f"too long: a reply of over {MOST_BYTES:,} bytes", heals=False)
