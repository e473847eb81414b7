"""Who is let in: the address that was bound, the token once, then its cookie."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from overread.case import BadInput
from overread.door import Address, Door, bound


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
