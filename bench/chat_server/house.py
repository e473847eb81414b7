"""What the connections share: the mode, what arrived so far, and how a request is answered."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chat_server.clips import count_frames
from chat_server.readers import read_aloud, reader_named, sight_reply
from chat_server.troubles import PERMANENT, Troubles, make_trouble
from chat_server.wire import CANNED, MODEL, YES, as_json, completion, refusal

if TYPE_CHECKING:
    from chat_server.connection import Connection
    from overread.case import Reader


class Tally:
    """What arrived. Bodies are not told apart in plain instant mode: hashing 50 kB costs time."""

    def __init__(self, log: str | None, keep: int) -> None:
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) if log else None
        self.keep = keep
        self.kept: list[bytes] = []
        self.requests = self.answered = self.redirected = self.connections = self.authorized = 0
        self.open = self.most_open = 0
        self.asked: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.pictures: Counter[int] = Counter()
        self.frames: Counter[int] = Counter()
        self.troubles: Counter[str] = Counter()
        self.refused: set[str] = set()

    def count_answer(self, digest: str) -> None:
        self.answered += 1
        self.answers[digest] += 1
        if self.log is not None:
            os.write(self.log, digest.encode() + b"\n")  # in the file at once, whoever is killed

    def stats(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "bodies": len(self.asked),
            "histogram": Counter(self.asked.values()),
            "answers_histogram": Counter(self.answers.values()),
            "refused_bodies": len(self.refused),
            "troubles": self.troubles,
            "redirected": self.redirected,
            "pictures": self.pictures,
            "frames": self.frames,
            "max_concurrency": self.most_open,
            "connections": self.connections,
            "authorized": self.authorized,
        }

    def peak(self) -> int:
        """The most requests that were open at once; from here on it is counted anew."""
        most, self.most_open = self.most_open, self.open
        return most

    def bodies(self) -> dict[str, dict[str, int]]:
        return {d: {"asked": n, "answered": self.answers[d]} for d, n in self.asked.items()}


class House:
    """Everything the connections share: the mode, the tally and the address."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.mode: str = args.mode
        self.delay: float = args.delay
        self.sight: str = args.sight
        self.videos: bool = args.videos
        self.thin: int = args.thin
        self.retry_after: int = args.retry_after
        self.says_digest: bool = args.reply == "digest"
        self.reader = reader_named(args.control) if args.control else None
        # Instant mode looks at no body unless something asks it to.
        self.careless = self.mode == "instant" and not (
            args.tally or args.log or args.keep or args.control or args.delay or self.says_digest
        )
        self.tally = Tally(args.log, args.keep)
        self.troubles = Troubles(
            args.seed, args.trouble, args.min_troubles, args.max_troubles, args.permanent_share
        )
        self.hostile = self.mode == "hostile"
        self.origin = ""
        self.tasks: set[asyncio.Task[None]] = set()
        self.loop = asyncio.get_running_loop()

    def post(self, connection: Connection, buffer: bytearray, start: int, end: int) -> None:
        """Answer the chat request whose body is `buffer[start:end]`, valid during this call."""
        tally = self.tally
        tally.requests += 1
        if self.careless:
            tally.answered += 1
            connection.send(CANNED)
            return
        with memoryview(buffer)[start:end] as body:
            digest = hashlib.sha256(body).hexdigest()
            attempt = tally.asked[digest]
            tally.asked[digest] += 1
            pictures = frames = buffer.count(b"data:image/", start, end)
            filmed = 0  # frames of videos cost tokens, by which a client may count them
            if buffer.find(b"data:video/", start, end) >= 0:
                filmed = frames = count_frames(bytes(body))
            tally.pictures[pictures] += 1
            tally.frames[frames] += 1
            if tally.keep:
                tally.kept = [*tally.kept, bytes(body)][-tally.keep :]
            kept = bytes(body) if self.reader or self.mode == "digits" else b""
        act = self._answer(connection, digest, attempt, kept, filmed)
        if self.delay:
            self.loop.call_later(self.delay, act)
        else:
            act()

    def _answer(
        self, connection: Connection, digest: str, attempt: int, body: bytes, filmed: int = 0
    ) -> Callable[[], None]:
        serial = connection.serial
        trouble = self.troubles.of(digest, attempt) if self.hostile else None

        def act() -> None:
            if connection.serial != serial:
                return  # the client left while we were slow
            if trouble is not None:
                self.tally.troubles[trouble] += 1
                if trouble in PERMANENT:
                    self.tally.refused.add(digest)
                make_trouble(trouble, connection, self.origin, self.retry_after)
            elif self.reader is not None:
                task = self.loop.create_task(read(self.reader))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            else:
                reply = completion("Yes", YES, (300 + 10 * filmed, 1)) if filmed else CANNED
                if self.mode == "digits":
                    reply = self._digits(body)
                elif self.says_digest:
                    reply = completion(digest, YES, (300, 1))
                answer(reply)

        def answer(reply: bytes) -> None:
            connection.send(reply)
            if reply.startswith(b"HTTP/1.1 200"):
                self.tally.count_answer(digest)

        async def read(reader: Reader) -> None:
            reply = await read_aloud(reader, body, videos=self.videos, thin=self.thin)
            if connection.serial == serial:
                answer(reply)

        return act

    def _digits(self, body: bytes) -> bytes:
        try:
            return sight_reply(self.sight, body, self.tally.requests)
        except (ValueError, KeyError, TypeError) as fault:
            return refusal(400, f"{type(fault).__name__}: {fault}")

    def get(self, path: bytes) -> bytes:
        match path:
            case b"/v1/models":
                model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "bench"}
                return as_json({"object": "list", "data": [model]})
            case b"/stats":
                return as_json(self.tally.stats())
            case b"/peak":
                return as_json({"max_concurrency": self.tally.peak()})
            case b"/bodies":
                return as_json(self.tally.bodies())
            case b"/kept":
                return as_json([body.decode(errors="replace") for body in self.tally.kept])
        return refusal(404, f"nothing is at {path.decode('latin-1')}")
