"""What sits in a Ray actor: a reader and a crew of its own, which is given trials.

Ray writes down what it carries only as numbers: arguments and results are bytes, nothing is raised,
and whatever a library prints goes nowhere. Who hands trials out is `on_ray.py`.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import platform
import secrets
import sys
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import overread
from overread.case import BadInput, Clip, Limits, Prompt, Reader, Request, Source
from overread.engine.crew import LocalCrew, Outcome, Queue, Tally, Wanted
from overread.engine.studio import Slot, Sources, Studio, clip_digest, picture_digest
from overread.readers import Attesting

# Opens a reader with the variables of the environment that it may look a key up in.
Opens: TypeAlias = Callable[[Mapping[str, str]], Reader]

CHUNK = 64  # most trials in one message
# What is larger than 100 kB goes through Ray's object store, which may be written to disk.
LETTER = 90_000
_GATHER = 0.01  # an answer waits so long for others: a message costs as much as several trials


class _Unkept:
    """In place of a store: digests of files are kept by who started the run."""

    def has_sources(self) -> bool:
        return False

    def source(self, path: str, size: int, mark: int) -> None:
        return None

    def keep_sources(self, rows: Sequence[tuple[str, int, int, bytes, int]]) -> None:
        pass


class _FarStudio(Studio):
    """Shows only what has the very bytes that the trial's key stands on."""

    def __init__(self, node: str) -> None:
        super().__init__(Sources(_Unkept(), 0))
        self._node = node
        # What is wrong with the files here, once it is.
        self.astray = ""

    async def show(self, request: Request, digest: bytes, pictures: Mapping[Slot, bytes]) -> Prompt:
        if pictures:
            await self.digest([request])
            for picture, named in pictures.items():
                self._check(picture, named)
        return await super().show(request, digest, pictures)

    def _check(self, picture: Slot, named: bytes) -> None:
        try:
            found = (
                clip_digest(picture, self.sources)
                if isinstance(picture, Clip)
                else picture_digest(picture, self.sources)
            )
        except BadInput:
            found = b""
        if found == named:
            return
        source = picture.source
        path = os.path.join(source.root, source.name) if isinstance(source, Source) else "a picture"
        what = "has other bytes than the run began with" if found else "cannot be read there"
        self.astray = (
            f"node {self._node}: {path}, or what is laid over it, {what}. "
            "Every node needs the data under the same path, unchanged"
        )
        raise BadInput(self.astray)


class Opening(NamedTuple):
    """What an actor is told before its first trial."""

    version: str
    folder: str
    opens: Opens
    limits: Limits


class Taken(NamedTuple):
    """What came of some trials since the last time."""

    outcomes: list[tuple[bytes, Outcome]]
    retried: int
    slots: int
    idle: bool  # it had time for more
    astray: str
    crashed: str


class Desk:
    """The actor: a reader and a crew of its own, for as long as a `token` is good.

    Each method answers with bytes and raises nothing: what Ray is told, Ray writes down.
    """

    def __init__(self) -> None:
        self._token = ""
        self._reader: Reader | None = None
        self._studio: _FarStudio | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._something = asyncio.Event()

    async def begin(self, packed: bytes, variables: bytes) -> bytes:
        """Take a place: the reader is opened by the first. A token, or why there is none."""
        node = platform.node()
        try:
            _say_nothing()
            opening: Opening = pickle.loads(packed)  # noqa: S301 - from who started this process
            if opening.version != overread.__version__:
                raise BadInput(
                    f"node {node} has overread {overread.__version__}, and the run was started by "
                    f"{opening.version}. Install one version everywhere."
                )
            with suppress(OSError):  # paths are relative to where the run was started
                os.chdir(opening.folder)
            if self._reader is None:
                self._reader = opening.opens(pickle.loads(variables))  # noqa: S301
                self._studio = _FarStudio(node)
            await self._leave()
            self._take_place(opening.limits)
        except BadInput as error:
            return pickle.dumps(("", str(error)))
        except Exception as error:
            what = " ".join(traceback.format_exception_only(error)[-1].split())
            return pickle.dumps(("", f"node {node}: a reader cannot be opened there: {what}."))
        return pickle.dumps((self._token, ""))

    def _take_place(self, limits: Limits) -> None:
        assert self._reader is not None
        assert self._studio is not None
        self._token = secrets.token_hex(8)
        self._queue: Queue = asyncio.Queue()
        self._settled: deque[tuple[bytes, Outcome]] = deque()
        self._something = asyncio.Event()
        self._crashed = ""
        self._tally, self._stop = Tally(), asyncio.Event()
        self._crew = crew = LocalCrew(self._reader, self._studio, limits, self._tally, self._stop)
        self._tasks = [asyncio.create_task(self._work(crew)) for _ in range(crew.size)]

    async def _work(self, crew: LocalCrew) -> None:
        try:
            await crew.work(self._queue, self._settle)
        except Exception:
            self._crashed = traceback.format_exc()
        self._something.set()

    async def _settle(self, item: Wanted, outcome: Outcome) -> None:
        self._settled.append((item.key, outcome))
        self._something.set()

    async def give(self, token: str, packed: bytes) -> None:
        """Trials to ask, beside those in hand."""
        if token == self._token:
            for item in pickle.loads(packed):  # noqa: S301
                self._queue.put_nowait(item)

    async def take(self, token: str) -> bytes:
        """What was settled meanwhile, as soon as there is something; nothing for a stale token."""
        if not token or token != self._token:
            return b""
        await self._something.wait()
        if len(self._settled) < CHUNK:
            await asyncio.sleep(_GATHER)
        if token != self._token:  # what is settled now is for whoever began since
            return b""
        assert self._studio is not None
        tally, idle = self._tally, self._queue.empty() and self._crew.idle
        about = (tally.retried, tally.slots, idle, self._studio.astray, self._crashed)
        tally.retried = 0
        found = list(self._settled)
        while len(packed := pickle.dumps(Taken(found, *about))) > LETTER and len(found) > 1:
            found = found[: len(found) // 2]
        for _ in found:
            self._settled.popleft()
        if not self._settled and not self._crashed:
            self._something.clear()
        return packed

    async def stop(self) -> None:
        """Begin nothing new; what is in hand comes back as it is."""
        if self._token:
            self._stop.set()

    async def end(self) -> bytes:
        """Let the place go; how the replies came about, where the reader tells."""
        await self._leave()
        if not isinstance(self._reader, Attesting):
            return pickle.dumps(({}, ()))
        return pickle.dumps((dict(self._reader.facts), tuple(self._reader.remarks)))

    async def _leave(self) -> None:
        self._token = ""
        self._something.set()  # whoever still waits for it goes
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def close(self) -> None:
        await self._leave()
        if self._reader is not None:
            with suppress(Exception):
                await self._reader.close()
        if self._studio is not None:
            self._studio.close()


def _say_nothing() -> None:
    """What libraries print may quote a patient's file, and Ray keeps all of it in its logs."""
    sys.stdout.flush()
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
