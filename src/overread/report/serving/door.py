"""Who may ask: one browser that was given the token, at the address that was bound."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from hmac import compare_digest
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from overread.case import BadInput

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server listens: what the user called it, and what it is."""

    host: str
    ip: IPv4Address | IPv6Address
    port: int

    @property
    def public(self) -> bool:
        """Whether others than this machine may reach it."""
        return not self.ip.is_loopback

    @property
    def origin(self) -> str:
        """What a browser on this machine calls it."""
        if self.ip.is_unspecified:
            return f"http://{'127.0.0.1' if self.ip.version == 4 else '[::1]'}:{self.port}"
        return f"http://{_bracketed(self.host)}:{self.port}"

    def is_named(self, host: str) -> bool:
        """Whether a Host header names this server.

        A name that somebody else's DNS points here is not ours: a page under it could read what is
        served. Addresses cannot be pointed elsewhere, so all of them will do where all are bound.
        """
        name, _, port = host.lower().rpartition(":")
        if port.endswith("]") or not name:  # no port is port 80
            name, port = host.lower(), "80"
        if port != str(self.port):
            return False
        own = {_bracketed(self.host).lower(), _bracketed(str(self.ip))}
        if self.ip.is_loopback or self.ip.is_unspecified:
            own.update(_LOOPBACK)
        if self.ip.is_unspecified:
            own.add(socket.gethostname().lower())
        return name in own or (self.ip.is_unspecified and _is_ip(name))


class Bound(NamedTuple):
    """A socket that listens, and where."""

    listening: socket.socket
    address: Address


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_ip(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def bound(host: str, port: int) -> Bound:
    """A listening socket, and its address; port 0 takes one that is free."""
    if not 0 <= port <= 65535:
        raise BadInput(f"--port {port}: it must be from 0 (any that is free) to 65535.")
    if not host or "\0" in host:
        raise BadInput("--host: it is empty. Give an address of this machine, or leave it out.")
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise BadInput(f"--host {host}: no such address. Give one of this machine.") from None
    try:
        listening = socket.create_server(place[:2], family=family)
    except OSError as error:
        raise BadInput(
            f"--host {host} --port {port}: {error.strerror or 'it cannot be bound'}. "
            "Give another, or leave --port out."
        ) from None
    taken = listening.getsockname()
    ip = ip_address(str(taken[0]).partition("%")[0])
    return Bound(listening, Address(host=host, ip=ip, port=int(taken[1])))


class Door:
    """Lets in whoever brings the token, once, and after that whoever has the cookie it became.

    A class, for it remembers that the token was used: what a terminal, a list of processes or a
    history shows of it afterwards opens nothing.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        # Cookies know no ports: two servers of one machine must not overwrite each other's.
        self.cookie: Final = f"overread-{address.port}"
        self._token: str | None = secrets.token_urlsafe(32)
        self._session: Final = secrets.token_urlsafe(32)
        self.url: Final = f"{address.origin}/?token={quote(self._token)}"

    def knows(self, cookies: Mapping[str, str]) -> bool:
        return _same(cookies.get(self.cookie, ""), self._session)

    def opens(self, query: str) -> str | None:
        """What the cookie is set to, if the query is the token; it is so only once."""
        if self._token is None or not _same(query, f"token={quote(self._token)}"):
            return None
        self._token = None
        return f"{self.cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"


def _same(given: str, kept: str) -> bool:
    """Compared in a time that does not tell where they differ."""
    return compare_digest(given.encode(errors="replace"), kept.encode())
