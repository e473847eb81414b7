"""A reply store that another process serves, as its clients see it: the same as one in a file.

Every call is a message to the server and waits for its answer. Where the server is gone, calls wait
for it and are sent again; what is asked meanwhile goes on. Files are of this machine, so what is
known of their digests stays here.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from typing import Any, Final, Self, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec

from overread.case import BadInput, Policy, Reader, ReaderFailure, printable
from overread.engine import store_wire as wire
from overread.engine.reply_store import (
    ANYBODY,
    Asker,
    Claimed,
    Enrolled,
    Enrolment,
    Kept,
    Listed,
    Row,
)
from overread.engine.store import Session, Store, storable
from overread.engine.store_file import this_process
from overread.readers.guard import Guard
from overread.readers.http_client import Broken, Client, Response, Unreachable, Untrusted
from overread.readers.secret import Secret

T = TypeVar("T")
_PATIENCE: Final = 300.0  # seconds for which a server may be gone
_FIRST_PATIENCE: Final = 60.0  # to find one at all
_TIMEOUT: Final = 150.0  # of one message: the store may wait a minute for others
_LEAST_TIMEOUT: Final = 2.0  # of a message, where nobody is waited for
_LOOKS_EVERY: Final = 0.5
_LONGEST_WAIT: Final = 1.0
_SAID_AFTER: Final = 2.0
_LONGEST_LINE: Final = 500
_LONGEST_REASON: Final = 10_000
_FAILURES: Final = 1000  # in one message


class _ThisNetwork(Guard, frozen=True):
    """Whatever a set's policy is, a store is looked for at private addresses only."""

    def refusal(self, host: str, what: str) -> str:
        return (
            f"the store at {host} ({what}) is not at a loopback or private address, and replies go "
            "to no other. Nothing was sent. Serve the store within this network."
        )


class ServedStore(Enrolled):
    """A reply store behind a link, `http://HOST:PORT/?token=TOKEN`.

    `digests` opens a store of this machine in which digests of files are kept, or makes it where
    it is told to: whoever only looks leaves nothing behind. Without one they are kept in memory.
    """

    def __init__(
        self,
        link: str,
        *,
        token: str | None = None,
        tell: Callable[[str], None] | None = None,
        digests: Callable[[bool], Store | None] = lambda make: None,
        patience: float = _PATIENCE,
    ) -> None:
        super().__init__()
        origin, secret = _parsed(link, token)
        self.shown = origin
        self.named = f"{origin}/?token={secret.reveal()}"
        self._tell, self._patience = tell, patience
        self._open_digests, self._digests = digests, digests(False)
        self._numbers: dict[int, int] = {}  # of data sets: ours by the server's
        self._remembered: dict[tuple[str, int, int], bytes] = {}
        headers = {"Authorization": f"Bearer {secret.reveal()}", "Content-Type": wire.KIND}
        self._client = Client(origin, _ThisNetwork(), headers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="served store", daemon=True
        )
        self._thread.start()
        self._joining = threading.Lock()
        try:
            hello = wire.Hello(wire.REVISION, this_process())
            self._session = self._say(hello, Session, min(patience, _FIRST_PATIENCE))
        except BaseException:
            self._stop()
            raise

    # ------------------------------------------------------------ saying something

    def _say(self, message: wire.Message, answer: Any, patience: float | None = None) -> Any:
        """Send a message until there is an answer, of that type; or fail in a line."""
        body = wire.encode(message)
        began, attempt, said = time.monotonic(), 0, self._tell is None
        while True:
            why = self._sent(body, patience)
            if isinstance(why, Response):
                try:
                    return msgspec.msgpack.decode(why.body, type=answer)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    raise BadInput(f"{self.shown}: this is no reply store of ours.") from None
            waited, attempt = time.monotonic() - began, attempt + 1
            if waited >= self._waits(patience):
                self.hurry()  # whatever else is still to be said is tried once
                raise BadInput(
                    f"{self.shown}: the store that is served there does not answer ({why}). "
                    "Replies that it has are safe; start it again, then the same command."
                )
            if not said and waited >= _SAID_AFTER and self._tell is not None:
                self._tell(f"{self.shown}: the store does not answer ({why}). Waiting …")
                said = True
            time.sleep(random.uniform(0.5, 1.0) * min(_LONGEST_WAIT, 0.05 * 2.0 ** min(attempt, 9)))

    def _waits(self, patience: float | None) -> float:
        return self._patience if patience is None else min(patience, self._patience)

    def _sent(self, body: bytes, patience: float | None) -> Response | str:
        """The answer to one try, or why there is none and another may help.

        A server that takes a message and says nothing is waited for no longer than one that is
        gone, whenever that is told.
        """
        began = time.monotonic()
        sending = self._client.send("POST", wire.PATH, [body], _TIMEOUT)
        call = asyncio.run_coroutine_threadsafe(sending, self._loop)
        try:
            while not wait([call], _LOOKS_EVERY).done:
                if time.monotonic() - began > max(_LEAST_TIMEOUT, self._waits(patience)):
                    call.cancel()
                    return "no answer"
            response = call.result()
        except (Unreachable, Broken) as error:
            return printable(str(error))[:_LONGEST_LINE]
        except TimeoutError:
            return f"no answer within {_TIMEOUT:.0f} s"
        except Untrusted as error:
            raise BadInput(
                f"{self.shown}: its certificate is not trusted ({error}). Name the authority that "
                "signed it in the variable SSL_CERT_FILE."
            ) from None
        except ReaderFailure as failure:
            raise BadInput(failure.reason) from None
        if response.status == 200:
            return response
        line = printable(response.body.decode("utf-8", "replace").strip())[:_LONGEST_LINE]
        if response.status >= 500:
            return f"HTTP {response.status}: {line}"
        if response.status == 409:  # what the store itself refuses
            raise BadInput(line)
        raise BadInput(f"{self.shown}: HTTP {response.status}: {line}")

    def close(self) -> None:
        """Let go of claims. Replies are already committed."""
        if self._loop.is_closed():
            return
        try:
            if self._session.number:
                # Where the server is gone for good, its next one lets the claims lapse.
                with suppress(BadInput):
                    self._say(wire.Leave(self._session), None, min(self._patience, 5.0))
        finally:
            self._stop()

    def _stop(self) -> None:
        if self._thread.is_alive():
            with suppress(OSError):
                asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        if self._digests is not None:
            self._digests.close()

    def hurry(self) -> None:
        """A server that is gone is not waited for any more."""
        self._patience = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------ who is asked, about what

    def dataset_id(self, benchmark: str, dataset: str, policy: Policy) -> int:
        number: int = self._say(wire.DataSet(benchmark, dataset, policy), int)
        if self._digests is None:
            self._digests = self._open_digests(True)
        if self._digests is not None:
            self._numbers[number] = self._digests.dataset_id(benchmark, dataset, policy)
        return number

    def enrol(self, readers: Sequence[Enrolment], dataset: int, *, fresh: bool = False) -> None:
        said = wire.Enrol(list(readers), dataset, fresh)
        self.keep_askers(readers, self._say(said, list[Asker]))

    def foresee(self, readers: Sequence[Enrolment], benchmark: str, dataset: str) -> None:
        said = wire.Foresee(list(readers), benchmark, dataset)
        self.keep_askers(readers, self._say(said, list[Asker]))

    def note_served(self, reader: Reader, served: str, *, judges: bool = False) -> str:
        asker = self.asker(reader, judges=judges)
        if not served or asker.number is None:
            return ""
        before, asker = self._say(wire.NoteServed(asker, served), tuple[str, Asker])
        self.count_for(reader, asker, judges=judges)
        return str(before)

    def reader_rows(self, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        found: dict[int, tuple[str, str]] = {}
        for part in _parts(numbers):
            found |= self._say(wire.ReaderRows(part), dict[int, tuple[str, str]])
        return found

    # ------------------------------------------------------------ reading

    def get(self, keys: Sequence[bytes], asker: Asker = ANYBODY) -> dict[bytes, Kept]:
        found: dict[bytes, Kept] = {}
        left = list(keys)
        while left:
            said = wire.Get(left[: wire.MOST_KEYS], asker, self._session)
            gotten = self._say(said, wire.Gotten)
            found |= gotten.replies
            left = left[max(1, gotten.looked_at) :]
        return found

    def known(self, keys: Sequence[bytes], asker: Asker = ANYBODY) -> set[bytes]:
        found: set[bytes] = set()
        for part in _parts(keys):
            found |= self._say(wire.KnownOf(part, asker), set[bytes])
        return found

    def failures(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        for part in _parts(keys):
            found |= self._say(wire.FailuresOf(part), dict[bytes, str])
        return found

    def rate(self, identity: str) -> float | None:
        found: float | None = self._say(wire.Rate(identity), float | None)
        return found

    def listing(self) -> list[Listed]:
        found: list[Listed] = self._say(wire.List(), wire.Listing)
        return found

    # ------------------------------------------------------------ asking

    def claim(self, keys: Sequence[bytes], asker: Asker = ANYBODY) -> Claimed:
        with self._joining:
            if not self._session.number:
                # By itself: heard twice, it leaves a row without claims, and no claim without us.
                self._session = self._say(wire.Join(self._session), Session)
        ours: set[bytes] = set()
        answered: set[bytes] = set()
        elsewhere: set[bytes] = set()
        lately = damaged = 0
        for part in _parts(keys):
            one = self._say(wire.Claim(part, asker, self._session), Claimed)
            ours |= one.ours
            answered |= one.answered
            elsewhere |= one.elsewhere
            lately, damaged = lately + one.lately, damaged + one.damaged
        self.damaged += damaged
        return Claimed(ours, answered, elsewhere, lately, damaged)

    def beat(self) -> None:
        if self._session.number:
            self._say(wire.Beat(self._session), None)

    def commit(
        self,
        replies: Sequence[Row],
        failures: Sequence[tuple[bytes, int, str]],
        asker: Asker = ANYBODY,
    ) -> None:
        """Keep replies, in messages of a size; each is committed before the next is sent."""
        part: list[Row] = []
        size = 0
        for row in ((key, dataset, storable(reply)) for key, dataset, reply in replies):
            own = wire.size_of(row[2]) + 2000
            if part and size + own > wire.ENOUGH_BYTES:
                self._say(wire.Commit(part, [], asker), None)
                part, size = [], 0
            part.append(row)
            size += own
        failed = [
            (key, dataset, reason[:_LONGEST_REASON].encode("utf-8", "replace").decode())
            for key, dataset, reason in failures
        ]
        self._say(wire.Commit(part, failed[:_FAILURES], asker), None)
        for start in range(_FAILURES, len(failed), _FAILURES):
            self._say(wire.Commit([], failed[start : start + _FAILURES], asker), None)

    # ------------------------------------------------------------ digests of files of this machine

    def has_sources(self) -> bool:
        return self._digests is not None and self._digests.has_sources()

    def source(self, path: str, size: int, mark: int) -> bytes | None:
        if self._digests is not None:
            return self._digests.source(path, size, mark)
        return self._remembered.get((path, size, mark))

    def keep_sources(self, rows: Sequence[tuple[str, int, int, bytes, int]]) -> None:
        if self._digests is None:
            self._remembered |= {row[:3]: row[3] for row in rows}
            return
        known = [(*row[:4], self._numbers[row[4]]) for row in rows if row[4] in self._numbers]
        self._digests.keep_sources(known)


def _parsed(link: str, token: str | None) -> tuple[str, Secret]:
    """Where the store is served, and what opens it."""
    example = "as http://10.0.0.5:8717/?token=…, which overread store serve printed"
    try:
        url = urlsplit(link)
        place, _ = url.hostname, url.port
        (place or "").encode("idna")  # as it is looked up
    except ValueError:
        raise BadInput(f"--store: this is no link to a store; give one {example}.") from None
    if not place or url.path not in ("", "/") or url.fragment or "@" in url.netloc:
        raise BadInput(f"--store: this is no link to a store; give one {example}.")
    given = parse_qs(url.query).get("token", [])
    secret = given[0] if given else token
    if len(given) > 1 or (url.query and not given) or not secret:
        raise BadInput(
            f"--store {url.scheme}://{url.netloc}: its token is missing. Give the link {example}; "
            "or put the token into the variable OVERREAD_STORE_TOKEN."
        )
    if not (secret.isascii() and secret.isprintable() and " " not in secret):
        raise BadInput(f"--store {url.scheme}://{url.netloc}: this is no token.")
    return f"{url.scheme}://{url.netloc}", Secret(secret)


def _parts(keys: Sequence[T]) -> list[list[T]]:
    return [
        list(keys[start : start + wire.MOST_KEYS]) for start in range(0, len(keys), wire.MOST_KEYS)
    ]
