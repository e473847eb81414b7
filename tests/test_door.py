"""Who is let in: the address that was bound, the token once, then its cookie."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address

import pytest
from aiohttp import web

from overread import door
from overread.case import BadInput
from overread.door import Address, Bound, Door, bound, line, listening


def at(host: str, ip: str | None = None, port: int = 8123) -> Address:
    return Address(host=host, ip=ip_address(ip or host), port=port)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8123", "localhost:8123", "LocalHost:8123", "[::1]:8123"]
)
def test_names_of_loopback(host: str) -> None:
    assert at("127.0.0.1").is_named(host)


REBOUND = [
    "evil.example:8123",
    "evil.example",
    "localhost.evil.example:8123",
    "127.0.0.1.evil.example:8123",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:8124",
    "127.0.0.1:8123:8123",
    "127.0.0.1:8123@evil.example",
    "192.168.0.1:8123",
    "",
    ":8123",
    "[::1",
]


@pytest.mark.parametrize("host", REBOUND)
def test_names_that_are_not_ours(host: str) -> None:
    assert not at("127.0.0.1").is_named(host)


def test_the_name_that_was_given() -> None:
    lab = at("lab.example", "10.0.0.7")
    assert lab.is_named("lab.example:8123")
    assert lab.is_named("10.0.0.7:8123")
    assert not lab.is_named("localhost:8123")
    assert not lab.is_named("10.0.0.8:8123")
    assert lab.public
    assert lab.origin == "http://lab.example:8123"


def test_all_addresses_bound_are_named_by_any_address_but_no_other_name() -> None:
    everywhere = at("0.0.0.0")
    assert everywhere.is_named("10.1.2.3:8123")
    assert everywhere.is_named("[fe80::1]:8123")
    assert everywhere.is_named(f"{socket.gethostname()}:8123")
    assert not everywhere.is_named("evil.example:8123")
    assert everywhere.public
    assert everywhere.origin == "http://127.0.0.1:8123"
    assert at("::").origin == "http://[::1]:8123"


def test_port_80_is_not_said() -> None:
    assert at("127.0.0.1", port=80).is_named("127.0.0.1")
    assert at("::1", port=80).is_named("[::1]")


def test_a_token_opens_once_and_becomes_another_secret() -> None:
    door = Door(at("127.0.0.1"))
    query = door.url.partition("?")[2]
    assert door.opens("") is None
    assert door.opens(query[:-1]) is None
    assert door.opens(f"{query}&x=1") is None
    cookie = door.opens(query)
    assert cookie is not None
    name, _, value = cookie.partition(";")[0].partition("=")
    assert door.opens(query) is None
    assert value not in query
    assert len(value) >= 40
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Path=/")
    assert door.knows({name: value})
    assert not door.knows({name: value[:-1]})
    assert not door.knows({name: "é\ud800"})
    assert not door.knows({"overread-1": value})
    assert not door.knows({})


def test_no_two_doors_share_a_secret() -> None:
    assert Door(at("127.0.0.1")).url != Door(at("127.0.0.1")).url


def test_a_free_port_is_taken_on_loopback_alone() -> None:
    with bound("127.0.0.1", 0).listening as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        assert listening.getsockname()[1] > 0


@pytest.mark.parametrize(
    ("host", "port", "named"),
    [
        ("127.0.0.1", 70000, "--port 70000"),
        ("127.0.0.1", -1, "--port -1"),
        ("", 0, "--host"),
        ("no such host", 0, "--host no such host"),
        ("a" * 300, 0, "--host"),
        ("203.0.113.1", 0, "--host 203.0.113.1"),  # of nobody's machine
    ],
)
def test_what_cannot_be_bound_is_said_in_a_line(host: str, port: int, named: str) -> None:
    with pytest.raises(BadInput) as refused:
        bound(host, port)
    assert str(refused.value).startswith(named)
    assert "\n" not in str(refused.value)


def test_a_port_that_is_taken() -> None:
    with bound("127.0.0.1", 0).listening as taken, pytest.raises(BadInput, match="in use"):
        bound("127.0.0.1", taken.getsockname()[1])


# ---------------------------------------------------------------- who says nothing


async def _answered(request: web.BaseRequest) -> web.StreamResponse:
    return line(200, str(len(await request.read())))


def _when_listening(look: Callable[[Bound], Awaitable[None]]) -> None:
    async def asked() -> None:
        at = bound("127.0.0.1", 0)
        async with listening(_answered, at):
            await asyncio.wait_for(look(at), 20)

    asyncio.run(asked())


async def _said(at: Bound, words: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reading, writing = await asyncio.open_connection("127.0.0.1", at.address.port)
    writing.write(words.replace("HOST", f"Host: 127.0.0.1:{at.address.port}").encode())
    return reading, writing


ASKED = "GET / HTTP/1.1\r\nHOST\r\n\r\n"
SILENT = {
    "nothing": "",
    "half a head": "GET / HTTP/1.1\r\nHO",
    "half a body": "PUT / HTTP/1.1\r\nHOST\r\nContent-Length: 9\r\n\r\nhalf",
}


@pytest.mark.parametrize("words", SILENT.values(), ids=SILENT)
def test_however_many_say_nothing_who_comes_next_is_answered(monkeypatch, words: str) -> None:
    monkeypatch.setattr(door, "_MOST_CONNECTIONS", 8)

    async def look(at: Bound) -> None:
        silent = [await _said(at, words) for _ in range(12)]
        await asyncio.sleep(0.05)
        for _ in range(3):
            reading, writing = await _said(at, ASKED)
            assert (await reading.readline()).startswith(b"HTTP/1.1 200")
            writing.close()
        for _, writing in silent:
            writing.close()

    _when_listening(look)


@pytest.mark.parametrize("words", SILENT.values(), ids=SILENT)
def test_who_says_nothing_is_let_go_of(monkeypatch, words: str) -> None:
    monkeypatch.setattr(door, "_SILENT", 0.2)

    async def look(at: Bound) -> None:
        reading, writing = await _said(at, words)
        with suppress(ConnectionResetError):
            assert await reading.read() == b""
        writing.close()

    _when_listening(look)


@pytest.mark.slow
def test_between_two_requests_a_reader_may_think(monkeypatch) -> None:
    monkeypatch.setattr(door, "_SILENT", 0.1)

    async def look(at: Bound) -> None:
        reading, writing = await _said(at, ASKED)
        await reading.readuntil(b"\r\n\r\n0\n")
        await asyncio.sleep(0.4)
        writing.write(ASKED.replace("HOST", f"Host: 127.0.0.1:{at.address.port}").encode())
        assert (await reading.readline()).startswith(b"HTTP/1.1 200")
        writing.close()

    _when_listening(look)
