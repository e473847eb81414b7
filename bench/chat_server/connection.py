"""One client's connection: requests read into a buffer that is used again."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

from chat_server.house import House
from chat_server.troubles import BLIND, make_trouble
from chat_server.wire import CANNED, refusal

LONGEST_HEAD = 64 * 1024
LONGEST_BODY = 1 << 30
RESET = struct.pack("ii", 1, 0)  # SO_LINGER with no time: closing sends RST, not FIN


class Connection(asyncio.BufferedProtocol):
    """One client. `buffer[:filled]` holds what came and was not yet dealt with.

    While a request waits for its answer, whatever else comes stays in the buffer: pipelined
    requests are answered one after another.
    """

    def __init__(self, house: House) -> None:
        self.house = house
        self.transport: Any = None
        self.buffer = bytearray(96 * 1024)
        self.filled = 0
        self.body_start = self.body_end = 0  # of the request whose head was read; 0: none
        self.busy = self.closing = False
        self.serial = 0  # counts answers and the end, so that late ones know themselves late

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.house.tally.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.serial += 1
        self.closing = True
        if self.body_start:
            self.house.tally.open -= 1
            self.body_start = 0

    def get_buffer(self, sizehint: int) -> memoryview:
        if self.filled == len(self.buffer):
            self._make_room(2 * self.filled)
        return memoryview(self.buffer)[self.filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self.filled += nbytes
        if not self.busy:
            self._advance()

    def send(self, data: bytes, *, close: bool = False) -> None:
        """Answer the current request and turn to the next."""
        if self.closing:
            return
        if close:
            data = data.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        self.transport.write(data)
        self._forget_request()
        if close:
            self._close()
        elif self.busy:
            self.busy = False
            self.house.loop.call_soon(self._advance)

    def reset(self) -> None:
        """Drop the connection so that the client sees ECONNRESET."""
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, RESET
        )
        self.closing = True
        self.transport.abort()

    def _close(self) -> None:
        self.closing = True
        self.transport.close()

    def _forget_request(self) -> None:
        self.serial += 1
        if self.body_start:
            left = self.filled - self.body_end
            if left > 0:
                self.buffer[:left] = self.buffer[self.body_end : self.filled]
            self.filled = max(left, 0)
            self.body_start = 0
            self.house.tally.open -= 1

    def _make_room(self, size: int) -> None:
        # A new buffer, as the loop may still hold the old one exported.
        grown = bytearray(size)
        grown[: self.filled] = self.buffer[: self.filled]
        self.buffer = grown

    def _advance(self) -> None:
        """Deal with every whole request in the buffer, until one must wait."""
        while not (self.busy or self.closing):
            if not self.body_start and not self._read_head():
                return
            if self.filled < self.body_end:
                if len(self.buffer) < self.body_end:
                    self._make_room(self.body_end)
                return
            serial = self.serial
            self.house.post(self, self.buffer, self.body_start, self.body_end)
            self.busy = self.serial == serial

    def _read_head(self) -> bool:
        """Read a request's head. True when a chat request's body is to follow."""
        end = self.buffer.find(b"\r\n\r\n", 0, self.filled)
        if end < 0:
            if self.filled > LONGEST_HEAD:
                self.send(refusal(431, "The head of the request is too long."), close=True)
            return False
        head = bytes(self.buffer[: end + 2])
        method, _, rest = head[: head.index(b"\r\n")].partition(b" ")
        path, _, version = rest.partition(b" ")
        if not version.startswith(b"HTTP/1."):
            self.send(refusal(400, "This is not HTTP/1.1."), close=True)
            return False
        lower = head.lower()
        length = header(lower, b"content-length")
        if path == b"/v1/chat/completions" and method == b"POST":
            return self._expect_body(end + 4, length, lower)
        return self._other(method, path, end + 4, length)

    def _expect_body(self, start: int, length: bytes | None, head: bytes) -> bool:
        if length is None:
            self.send(refusal(411, "State a Content-Length; chunks are not read."), close=True)
            return False
        if not length.isdigit():
            self.send(refusal(400, "Content-Length is not a number."), close=True)
            return False
        size, house = int(length), self.house
        if size > LONGEST_BODY:
            self.send(refusal(413, "The body is too long."), close=True)
            return False
        if house.hostile and house.troubles.cuts_unread(size):
            house.tally.troubles[BLIND] += 1
            make_trouble(BLIND, self, house.origin, 0)
            return False
        tally = house.tally
        tally.open += 1
        tally.most_open = max(tally.most_open, tally.open)
        tally.authorized += b"\r\nauthorization:" in head
        self.body_start, self.body_end = start, start + size
        return True

    def _other(self, method: bytes, path: bytes, start: int, length: bytes | None) -> bool:
        """Every request but a chat: answered at once and, having a body, not kept alive."""
        if path == b"/elsewhere":
            self.house.tally.redirected += 1
            self.send(CANNED, close=True)
        elif path == b"/v1/chat/completions":
            self.send(refusal(405, "POST, please."), close=True)
        elif method != b"GET":
            self.send(refusal(404, "Nothing answers here."), close=True)
        else:
            self.send(self.house.get(path), close=bool(length and length != b"0"))
            left = self.filled - start
            self.buffer[:left] = self.buffer[start : self.filled]
            self.filled = left
            return self.filled > 0 and not self.closing and self._read_head()
        return False


def header(lowered: bytes, name: bytes) -> bytes | None:
    """A header's value in a lower-cased head."""
    at = lowered.find(b"\r\n" + name + b":")
    if at < 0:
        return None
    at += len(name) + 3
    return lowered[at : lowered.index(b"\r\n", at)].strip()
