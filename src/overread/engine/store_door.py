"""A reply store served to other hosts of the same network, by the one process that writes it.

Who may ask: a client with the token, at a loopback or private address, and the server listens on
such an address only. What clients say is in `store_wire`; where they fail to say it they get a
line. Importing this takes aiohttp: do so where it serves.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
import ssl
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from overread.case import BadInput
from overread.door import Bound, Refused, bound, listening, made, same
from overread.engine import store_wire as wire
from overread.engine.reply_store import Kept
from overread.engine.store import Session, Store
from overread.files import read_text
from overread.readers.guard import is_private

_THREADS: Final = 8
_LEAST_TOKEN: Final = 20
_LOOKED_AT: Final = 64  # keys, between looks at how much there is already


def bound_privately(host: str, port: int, names: tuple[str, ...], *, tls: bool) -> Bound:
    """A socket that listens on a loopback or private address; any other is refused."""
    at = bound(host, port, names, tls=tls)
    if not is_private(str(at.address.ip)):
        at.listening.close()
        raise BadInput(
            f"--host {host}: {at.address.ip} is not one loopback or private address. Replies are "
            "served to no other network: give an address of 127/8, 10/8, 172.16/12, 192.168/16, "
            "::1 or fc00::/7."
        )
    return at


def token_of(store: Path) -> str:
    """What opens a served store: kept beside it, so that clients outlive a restart of the server.

    Whoever takes the file away has a new one made.
    """
    place = store.with_name(f"{store.name}.token")
    try:
        with suppress(FileExistsError):
            made = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(made, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        if place.stat().st_mode & 0o077:
            place.chmod(0o600)
        token = read_text(place).strip()
    except OSError as error:
        raise BadInput(f"{place}: the token cannot be kept there ({error}). Mend that.") from None
    if len(token) < _LEAST_TOKEN:
        raise BadInput(f"{place}: this is no token. Take the file away; a new one is made.")
    return token


@asynccontextmanager
async def serving_store(
    store: Store,
    token: str,
    at: Bound,
    *,
    certificate: ssl.SSLContext | None = None,
    trouble: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[None]:
    """Serve a store until the context is left."""
    desk = _Desk(store, token, trouble)
    try:
        async with listening(desk.answer, at, trouble, certificate):
            yield
    finally:
        desk.close()


class _Desk:
    """Answers clients. A class, for it holds what all answers need.

    It remembers nothing of a client that the client does not bring along, but when it was last
    heard of: after a restart they go on where they were.
    """

    def __init__(self, store: Store, token: str, trouble: Callable[[str], None]) -> None:
        self._store, self._trouble = store, trouble
        self._token = f"Bearer {token}"
        self._sessions: dict[int, Session] = {}
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="store")

    def close(self) -> None:
        """What was begun is finished."""
        self._pool.shutdown(wait=True)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        peer = request.transport.get_extra_info("peername") if request.transport else None
        if not peer or not is_private(str(peer[0])):
            raise Refused(403, "This store is for its own network.")
        if not same(request.headers.get("Authorization", ""), self._token):
            raise Refused(403, "The token is wrong. Take the link that the server printed.")
        if request.raw_path != wire.PATH:
            raise Refused(404, "There is nothing here but a reply store.")
        if request.method != "POST" or request.content_type != wire.KIND:
            raise Refused(405, "Only clients of a reply store are answered here.")
        body = await _body(request)
        loop = asyncio.get_running_loop()
        try:
            said = await loop.run_in_executor(self._pool, self._answered, body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise Refused(400, "This is no message of this version's. Update one of us.") from None
        except BadInput as error:
            raise Refused(409, str(error)) from None
        except sqlite3.Error as error:
            self._trouble(f"the store failed ({error}); clients wait and try again.")
            raise Refused(503, f"The store failed ({error}).") from None
        return made(said, wire.KIND)

    def _answered(self, body: bytes) -> bytes:
        return wire.encode(self._done(wire.read_message(body)))

    def _done(self, said: wire.Said) -> Any:
        store = self._store
        match said:
            case wire.Hello(revision, life):
                if revision != wire.REVISION:
                    raise BadInput("the server is of another version. Use the same on both sides.")
                return store.session(life)
            case wire.Join(session):
                store.join(session)
                return session
            case wire.Leave(session):
                store.let_go(session)
                self._sessions.pop(session.number, None)
            case wire.Beat(session):
                store.beat(self._heard(session))
            case wire.Claim(keys, asker, session):
                return store.claim(keys, asker, self._heard(session))
            case wire.Commit(replies, failures, asker):
                store.commit(replies, failures, asker)
            case wire.Get(keys, asker, session):
                return self._gotten(said)
            case wire.KnownOf(keys, asker):
                return store.known(keys, asker)
            case wire.FailuresOf(keys):
                return store.failures(keys)
            case wire.DataSet(benchmark, dataset, policy):
                return store.dataset_id(benchmark, dataset, policy)
            case wire.Enrol(readers, dataset, fresh):
                return store.askers_of(readers, dataset, fresh=fresh)
            case wire.Foresee(readers, benchmark, dataset):
                return store.foreseen(readers, benchmark, dataset)
            case wire.NoteServed(asker, served):
                return store.served_as(asker, served)
            case wire.ReaderRows(numbers):
                return store.reader_rows(numbers)
            case wire.Rate(identity):
                return store.rate(identity)
            case wire.List():
                return store.listing()
        return None

    def _heard(self, session: Session) -> Session:
        """The session as this process knows it: when it was last heard of is told by our clock."""
        if not session.number:
            raise BadInput("whoever asks has to join first.")
        own = self._sessions.get(session.number)
        if own is None:  # a clock that may have begun anew since told its beat
            anew = msgspec.structs.replace(session, beat=float("-inf"))
            own = self._sessions.setdefault(session.number, anew)
        if own.life != session.life:
            raise BadInput("this session is somebody else's.")
        own.opened, own.last_row = session.opened, session.last_row
        return own

    def _gotten(self, said: wire.Get) -> wire.Gotten:
        found: dict[bytes, Kept] = {}
        size = looked = 0
        while looked < len(said.keys) and size < wire.ENOUGH_BYTES:
            part = said.keys[looked : looked + _LOOKED_AT]
            some = self._store.get(part, said.asker, said.session)
            for key in part:
                if key in some:
                    own = wire.size_of(some[key].reply)
                    if found and size + own > wire.ENOUGH_BYTES:
                        return wire.Gotten(looked, found)
                    found[key] = some[key]
                    size += own
                looked += 1
        return wire.Gotten(looked, found)


async def _body(request: web.BaseRequest) -> bytes:
    """What a client says, no longer than it may be."""
    whole = bytearray()
    async for part in request.content.iter_any():
        whole += part
        if len(whole) > wire.MOST_BYTES:
            raise Refused(413, f"A message is at most {wire.MOST_BYTES:,} bytes.")
    return bytes(whole)
