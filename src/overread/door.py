"""The door behind which Overread serves anything over HTTP: who may ask, and in which words.

aiohttp's HTTP, one address that was bound, the same headers on every answer, and everything odd
refused in one line that says nothing of the server. What is served stands elsewhere. Importing this
takes aiohttp: do so where it serves.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from hmac import compare_digest
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
from aiohttp import web

from overread.case import BadInput
from overread.files import read_bytes

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_LONGEST_LINE: Final = 8190
_MOST_HEADERS: Final = 64
_PATIENCE: Final = 1.0  # seconds that an answer under way has when the server ends
# What a browser opens at once is six; beyond these, whoever was silent longest is let go of.
_MOST_CONNECTIONS: Final = 128
# Seconds of silence after which a connection is let go of: in the middle of a request, or before
# the first; and between two.
_SILENT: Final = 10.0
_IDLE: Final = 75.0
_BACKLOG: Final = 16

_NOTHING: Final = (
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
)
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _NOTHING,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "overread",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_quiet: Final = logging.getLogger("overread.serving")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


class Refused(Exception):
    """A request that is not answered: a status and a line that says nothing of the server."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status, self.line = status, line


# ---------------------------------------------------------------- where


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server listens: what the user called it, and what it is.

    `names` are further names it is reached by, as a certificate has them; `tls` says whether it
    speaks HTTPS.
    """

    host: str
    ip: IPv4Address | IPv6Address
    port: int
    names: tuple[str, ...] = ()
    tls: bool = False

    @property
    def public(self) -> bool:
        """Whether others than this machine may reach it."""
        return not self.ip.is_loopback

    @property
    def origin(self) -> str:
        """What a browser calls it: by its first name, if it has any."""
        name = _bracketed(self.host)
        if self.ip.is_unspecified:
            name = "127.0.0.1" if self.ip.version == 4 else "[::1]"
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.names[0] if self.names else name}:{self.port}"

    def is_named(self, host: str) -> bool:
        """Whether a Host header names this server.

        A name that somebody else's DNS points here is not ours: a page under it could read what is
        served. Addresses cannot be pointed elsewhere, so all of them will do where all are bound.
        """
        name, _, port = host.lower().rpartition(":")
        if port.endswith("]") or not name:  # no port is the scheme's own
            name, port = host.lower(), "443" if self.tls else "80"
        if port != str(self.port):
            return False
        own = {_bracketed(self.host).lower(), _bracketed(str(self.ip))}
        own.update(other.lower() for other in self.names)
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


def bound(host: str, port: int, names: tuple[str, ...] = (), *, tls: bool = False) -> Bound:
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
    address = Address(host=host, ip=ip, port=int(taken[1]), names=names, tls=tls)
    return Bound(listening, address)


def certificate_of(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """What HTTPS is spoken with; None where neither file is given."""
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise BadInput("--tls-cert and --tls-key go together. Give both, or neither.")
    for option, path in (("--tls-cert", cert), ("--tls-key", key)):
        read_bytes(path, named=f"{option} {path}")  # a file, and no pipe that is waited for
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"--tls-cert {cert}: {error}. Give a PEM certificate and its key.") from None
    return context


# ---------------------------------------------------------------- who


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
        return same(cookies.get(self.cookie, ""), self._session)

    def opens(self, query: str) -> str | None:
        """What the cookie is set to, if the query is the token; it is so only once."""
        if self._token is None or not same(query, f"token={quote(self._token)}"):
            return None
        self._token = None
        return f"{self.cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"


def same(given: str, kept: str) -> bool:
    """Compared in a time that does not tell where they differ."""
    return compare_digest(given.encode(errors="replace"), kept.encode())


# ---------------------------------------------------------------- HTTP


@asynccontextmanager
async def listening(
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    at: Bound,
    trouble: Callable[[str], None] = lambda line: None,
    certificate: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Answer requests until the context is left; then the socket is closed.

    `answer` raises `Refused` for what it does not answer. `trouble` is told in a line what went
    wrong here; whoever asked is only told that something did.
    """

    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        try:
            named = request.headers.getall("Host", [])
            if len(named) != 1 or not at.address.is_named(named[0]):
                raise Refused(
                    421, "This server is not the one you named. Use the address it printed."
                )
            return await answer(request)
        except Refused as refused:
            return line(refused.status, refused.line)
        except Exception as error:
            trouble(f"a request could not be answered ({type(error).__name__}).")
            return line(500, "This could not be made.")

    server = _Server(
        answered,
        access_log=None,
        logger=_quiet,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        max_headers=_MOST_HEADERS,
        lingering_time=0,
    )
    # Half of the files this process may open, so that pictures can be read for whoever is in.
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    server.most = _MOST_CONNECTIONS if soft < 0 else max(8, min(_MOST_CONNECTIONS, soft // 2))
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    said: set[str] = set()

    def troubled(_: object, context: dict[str, Any]) -> None:
        """Troubles of the loop itself, each kind once: asyncio repeats itself for every try."""
        line = getattr(context.get("exception"), "strerror", None) or context["message"]
        if line not in said:
            said.add(line)
            trouble(f"{line}; some requests are not taken until others end.")

    loop.set_exception_handler(troubled)
    try:
        taking = await loop.create_server(
            server,
            sock=at.listening,
            ssl=certificate,
            backlog=_BACKLOG,
            ssl_handshake_timeout=None if certificate is None else _SILENT,
        )
        try:
            yield
        finally:
            taking.close()
            await asyncio.sleep(0)  # what was taken already is answered
            server.pre_shutdown()
            await server.shutdown(_PATIENCE)
    finally:
        loop.set_exception_handler(before)
        at.listening.close()


def made(
    data: bytes,
    kind: str,
    charset: str | None = None,
    more: Mapping[str, str] = {},
    status: int = 200,
) -> web.Response:
    headers = {**HEADERS, **more}
    return web.Response(
        status=status, body=data, content_type=kind, charset=charset, headers=headers
    )


def line(status: int, line: str, more: Mapping[str, str] = {}) -> web.Response:
    return made(f"{line}\n".encode(), "text/plain", "utf-8", more, status)


class _Protocol(web.RequestHandler):
    """A connection that says nothing keeps nobody else out.

    HTTP that cannot be read is refused in a line too: aiohttp would say what it stumbled on.
    """

    __slots__ = ("_heard", "_looks")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._heard = self._loop.time()
        self._looks = self._loop.call_later(_SILENT, self._look)
        if isinstance(self._manager, _Server):
            self._manager.make_room_for(self)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._looks.cancel()
        super().connection_lost(exc)

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    @property
    def listens(self) -> bool:
        """Whether it is the other side's turn to speak: with a request, or the rest of one."""
        request = self._current_request
        if request is not None:
            return not request.content.is_eof()
        return self._waiter is not None and not self._waiter.done()

    @property
    def heard(self) -> float:
        """When anything was last heard from it, by the loop's clock."""
        return self._heard

    def let_go(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _look(self) -> None:
        between_two = self._request_count > 0 and self._current_request is None
        rest = self._heard + (_IDLE if between_two else _SILENT) - self._loop.time()
        if self.listens and rest <= 0:
            self.let_go()
        else:
            self._looks = self._loop.call_later(max(rest, _SILENT / 10), self._look)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        refused = line(status, "This is no request." if status < 500 else "This could not be made.")
        refused.force_close()
        return refused


class _Server(web.Server):
    most = _MOST_CONNECTIONS

    def make_room_for(self, new: _Protocol) -> None:
        """Beyond the most, let go of whoever was silent longest while it was his turn to speak, or
        to take what he is sent; where all are being answered, of the new one."""
        some = [one for one in self.connections if isinstance(one, _Protocol) and one.is_open]
        if len(some) > self.most:
            silent = [one for one in some if one.listens or one.writing_paused]
            min(silent, key=lambda one: one.heard, default=new).let_go()

    def __call__(self) -> _Protocol:
        return _Protocol(self, loop=self._loop, **self._kwargs)
