"""A credentialed case never leaves for a public host: not by a name, a redirect or a proxy.

Nothing here reaches beyond loopback: resolvers are replaced, and a refused socket is never made.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import BadInput, Prompt, PromptMessage, ReaderFailure
from overread.readers import Guard, is_private, open_reader
from support.served import served

PROMPT = Prompt((PromptMessage("user", ("Is it there?",)),))
CREDENTIALED = Guard("credentialed", ())


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("10.1.2.3", True),
        ("172.16.0.1", True),
        ("172.31.255.255", True),
        ("172.32.0.1", False),
        ("192.168.1.1", True),
        ("::1", True),
        ("fd12::1", True),
        ("fe80::1%eth0", False),
        ("8.8.8.8", False),
        ("100.64.0.1", False),
        ("192.0.2.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("2001:4860:4860::8888", False),
        ("::ffff:8.8.8.8", False),
        ("::ffff:127.0.0.1", True),
        ("64:ff9b::8.8.8.8", False),
        ("localhost", False),
        ("not an address", False),
        ("127.1", True),
        ("2130706433", True),
        ("0x7f000001", True),
        ("0177.0.0.1", True),
        ("127.0.0.1.", True),
        ("134744072", False),
        ("8.8", False),
        ("", False),
    ],
)
def test_what_counts_as_private(address: str, private: bool) -> None:
    assert is_private(address) is private


def test_a_host_named_with_a_dot_at_its_end_is_the_same_host() -> None:
    guard = Guard("credentialed", ("api.example.org",))
    assert guard.allows("API.example.org.", "203.0.113.7")
    assert not guard.allows("example.org", "203.0.113.7")


@given(st.ip_addresses())
def test_globally_routable_is_never_private(address) -> None:
    if address.is_global and not address.is_multicast:
        assert not is_private(str(address))


@contextmanager
def resolving(
    monkeypatch: pytest.MonkeyPatch, host: str, address: str, port: int
) -> Iterator[None]:
    async def resolve(self, name, port_, **_):
        assert name == host
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 0, "", (address, port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    yield


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Every address a socket was about to be connected to."""
    tried: list[tuple[object, ...]] = []
    real = Guard.socket_for

    def spy(self, host, info):
        made = real(self, host, info)
        tried.append(info[4])
        return made

    monkeypatch.setattr(Guard, "socket_for", spy)
    return tried


def ask(spec: str, guard: Guard):
    async def go():
        reader = open_reader(spec, guard=guard, environment={}, controls={})
        try:
            return await reader.reply(PROMPT)
        finally:
            await reader.close()

    return asyncio.run(go())


def test_loopback_is_free() -> None:
    with served(mode="instant") as server:
        assert ask(f"openai:m@{server.base_url}", CREDENTIALED).text


@pytest.mark.parametrize("url", ["http://8.8.8.8/v1", "http://[2001:4860:4860::8888]/v1"])
def test_a_public_address_is_refused_before_a_socket_exists(url: str, sockets) -> None:
    with pytest.raises(ReaderFailure, match="credentialed") as caught:
        ask(f"openai:m@{url}", CREDENTIALED)
    assert caught.value.heals is False
    assert sockets == []


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07::1"])
def test_a_name_that_resolves_to_a_public_address_is_refused(
    monkeypatch, sockets, address: str
) -> None:
    with (
        resolving(monkeypatch, "gpu.hospital.internal", address, 80),
        pytest.raises(ReaderFailure, match="gpu.hospital.internal"),
    ):
        ask("openai:m@http://gpu.hospital.internal/v1", CREDENTIALED)
    assert sockets == []


def test_a_name_that_resolves_to_a_private_address_is_free(monkeypatch) -> None:
    with served(mode="instant") as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        with resolving(monkeypatch, "gpu.hospital.internal", "127.0.0.1", port):
            spec = f"openai:m@http://gpu.hospital.internal:{port}/v1"
            assert ask(spec, CREDENTIALED).text


def test_a_host_named_under_share_with_is_allowed() -> None:
    guard = Guard("credentialed", ("api.example.org",))
    assert guard.allows("API.example.org", "93.184.215.14")
    assert not guard.allows("example.org", "93.184.215.14")
    assert not guard.allows("evil-api.example.org", "93.184.215.14")


@pytest.mark.parametrize("policy", ["open", "research"])
def test_other_policies_may_go_anywhere(policy) -> None:
    assert Guard(policy).allows("api.example.org", "93.184.215.14")


def test_a_redirect_is_not_followed() -> None:
    with served("hostile", trouble=("redirect",), permanent_share=1) as server:
        with pytest.raises(ReaderFailure, match="not followed") as caught:
            ask(f"openai:m@{server.base_url}", CREDENTIALED)
        assert caught.value.heals is False
        assert server.stats()["redirected"] == 0


@pytest.mark.parametrize(
    ("share_with", "proxy", "allowed"),
    [
        ((), "http://127.0.0.1:3128", False),
        ((), "http://proxy.example.org:3128", False),
        (("proxy.example.org",), "http://proxy.example.org:3128", False),
        (("api.example.org",), "http://proxy.example.org:3128", False),
        (("api.example.org",), "http://10.0.0.9:3128", True),
        (("api.example.org", "proxy.example.org"), "http://proxy.example.org:3128", True),
    ],
)
def test_a_proxy_counts_as_a_host(share_with, proxy: str, allowed: bool) -> None:
    spec = f"openai:m@https://api.example.org/v1?proxy={proxy}"
    guard = Guard("credentialed", share_with)

    def make():
        return open_reader(spec, guard=guard, environment={}, controls={})

    if allowed:
        make()
    else:
        with pytest.raises(BadInput, match="share_with"):
            make()


def test_a_loopback_server_behind_a_proxy_is_refused_too() -> None:
    # A proxy decides for itself what "127.0.0.1" is.
    with pytest.raises(BadInput, match="proxy"):
        open_reader(
            "openai:m@http://127.0.0.1:8000/v1?proxy=http://10.0.0.9:3128",
            guard=CREDENTIALED,
            environment={},
            controls={},
        )


def test_proxy_variables_of_the_environment_are_not_used(monkeypatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    with served(mode="instant") as server:
        assert ask(f"openai:m@{server.base_url}", CREDENTIALED).text
