"""Readers that think in this process: asks wait in line, one thread answers them in batches.

A batch is made of what waits and is of one shape, the oldest first, as soon as the thread is free:
nobody waits for others to come, and nobody polls. How a model answers a list of prompts is its
engine's business (`huggingface.py`, `vllm_offline.py`).
"""

from __future__ import annotations

import asyncio
import io
import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from overread.case import (
    BadInput,
    Fact,
    Limits,
    Prompt,
    ReaderFailure,
    Reply,
    Shown,
    Traits,
    printable,
)
from overread.readers.spec import ReaderSpec

Outcome: TypeAlias = Reply | ReaderFailure

# So many trials are asked alone and in a batch before batches are trusted; and the share of
# answers that may differ: where a flip is what is measured, it would count as use of the picture.
_CHECKED = 16
_MOST_NOISE = 0.005
# As many asks in line as fill several batches, so that each finds others of its kind.
_IN_LINE = 4
_LEAVES_WITHIN = 10.0  # seconds in which the thread should have ended


class OutOfMemory(Exception):
    """There was no room for a batch."""


class Engine(Protocol):
    """A loaded model. Called by one thread only, but for `stop`."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """A reply to each; prompts of several are of one shape. Raises OutOfMemory, ReaderFailure.

        What else it raises is taken for a fault of the model with one of these prompts.
        """

    def stop(self) -> None:
        """Give up what is being answered, as soon as may be."""

    @property
    def facts(self) -> Mapping[str, Fact]: ...


class _Ask(NamedTuple):
    prompt: Prompt
    shape: Hashable
    answered: asyncio.Future[Reply]
    loop: asyncio.AbstractEventLoop

    def settle(self, outcome: Outcome) -> None:
        with suppress(RuntimeError):  # whoever asked is gone, and the loop with it
            self.loop.call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: Outcome) -> None:
        if self.answered.done():
            return
        if isinstance(outcome, ReaderFailure):
            self.answered.set_exception(outcome)
        else:
            self.answered.set_result(outcome)


class InProcessReader:
    """A reader whose model is loaded by the first ask, in the thread that answers.

    The first trials are asked alone and in a batch; if an answer differs in more than one of two
    hundred, all others are asked alone. What does not fit into memory is asked in halves.
    """

    def __init__(
        self,
        spec: ReaderSpec,
        identity: str,
        batch: int,
        load: Callable[[], Engine],
        traits: Traits | None = None,
    ) -> None:
        self.name = spec.name
        self.identity = identity
        self.traits = spec.traits if traits is None else traits
        line = _IN_LINE * batch
        self.limits = spec.limits(Limits(concurrency=line, begin=line, attempts=1))
        self._load = load
        self._engine: Engine | None = None
        self._asked, self._batch = batch, batch
        self._compared = self._differing = 0
        self._halved = False
        self._line: deque[_Ask] = deque()
        self._comes = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    # ------------------------------------------------------------ for the engine

    async def reply(self, prompt: Prompt) -> Reply:
        """Wait in line for a reply. Raises ReaderFailure; never returns an error as text."""
        if self.traits.modality == "text" and prompt.pictures:
            raise AssertionError("a text-only reader was handed pixels")
        loop = asyncio.get_running_loop()
        ask = _Ask(prompt, shape_of(prompt), loop.create_future(), loop)
        with self._comes:
            if self._closing:
                raise _closed()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="model", daemon=True)
                self._thread.start()
            self._line.append(ask)
            self._comes.notify()
        return await ask.answered

    async def close(self) -> None:
        with self._comes:
            self._closing = True
            waiting, self._line = self._line, deque()
            self._comes.notify()
        for ask in waiting:
            ask.settle(_closed())
        if self._engine is not None:
            self._engine.stop()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _LEAVES_WITHIN)

    @property
    def facts(self) -> Mapping[str, Fact]:
        """How the replies of this process came about; nothing where none was asked for."""
        if self._engine is None:
            return {}
        found = {**self._engine.facts, "batch": self._batch}
        if self._compared:
            found |= {"batch_noise": self._differing / self._compared}
            found |= {"batch_compared": self._compared, "batch_differing": self._differing}
        return found

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines that a user should read."""
        said = []
        if self._compared:
            line = (
                f"{self._differing} of {self._compared} answers differed when asked alone and in "
                f"a batch of up to {self._asked}"
            )
            alone = ", so all were asked alone" if self._noisy else ""
            said.append(f"batch_noise: {line}{alone}.")
        if self._halved:
            said.append(f"memory ran out; at most {self._batch} were asked at once.")
        return tuple(said)

    # ------------------------------------------------------------ in the thread

    @property
    def _noisy(self) -> bool:
        return self._differing > _MOST_NOISE * self._compared

    def _work(self) -> None:
        while batch := self._next_batch():
            try:
                if self._engine is None:
                    self._engine = self._load()
                outcomes = self._answers(self._engine, [ask.prompt for ask in batch])
            except Exception as error:  # it cannot be loaded
                outcomes = [_failure(error)] * len(batch)
            for ask, outcome in zip(batch, outcomes, strict=True):
                ask.settle(outcome)

    def _next_batch(self) -> list[_Ask]:
        """What is answered next: the oldest, and others like it. Empty when the reader closes."""
        with self._comes:
            while not self._closing:
                waiting = [ask for ask in self._line if not ask.answered.cancelled()]
                if waiting:
                    alike = [ask for ask in waiting if ask.shape == waiting[0].shape]
                    batch = alike[: self._batch]
                    taken = set(map(id, batch))
                    self._line = deque(ask for ask in waiting if id(ask) not in taken)
                    return batch
                self._line.clear()
                self._comes.wait()
        return []

    def _answers(self, engine: Engine, prompts: Sequence[Prompt]) -> Sequence[Outcome]:
        """The first that could be asked together are also asked alone, and that is what counts."""
        if self._compared >= _CHECKED or len(prompts) == 1:
            return self._together(engine, prompts)
        alone = [self._alone(engine, prompt) for prompt in prompts]
        for one, other in zip(alone, self._together(engine, prompts), strict=True):
            if isinstance(one, Reply) and isinstance(other, Reply):
                self._compared += 1
                self._differing += one.text != other.text
        if self._noisy:
            self._batch = 1
        return alone

    def _together(self, engine: Engine, prompts: Sequence[Prompt]) -> list[Outcome]:
        if len(prompts) == 1:
            return [self._alone(engine, prompts[0])]
        half = len(prompts) // 2
        try:
            return list(engine.answer(prompts))
        except OutOfMemory:
            self._halved, self._batch = True, min(self._batch, half)
        except Exception:  # noqa: S110 - asked in halves, the one that fails fails alone
            pass
        parts = (prompts[:half], prompts[half:])
        return [outcome for part in parts for outcome in self._together(engine, part)]

    def _alone(self, engine: Engine, prompt: Prompt) -> Outcome:
        try:
            return engine.answer([prompt])[0]
        except Exception as error:
            return _failure(error)


def _closed() -> ReaderFailure:
    return ReaderFailure("closed: the reader was closed before it answered", heals=True)


def _failure(error: Exception) -> ReaderFailure:
    if isinstance(error, ReaderFailure):
        return error
    if isinstance(error, OutOfMemory):
        return ReaderFailure(f"out of memory: one trial alone does not fit ({error})", heals=False)
    # Whatever a model's own code raises is no reply.
    said = str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"
    return ReaderFailure(f"model: {printable(' '.join(said.split()))[:300]}", heals=False)


def shape_of(prompt: Prompt) -> Hashable:
    """What prompts of one batch have in common: decoding, pictures by size, length within twice.

    So padding is bounded, and no batch mixes a film with a clip.
    """
    decoding = msgspec.structs.replace(prompt.decoding, seed=None)
    text = sum(len(part) for m in prompt.messages for part in m.parts if isinstance(part, str))
    return decoding, tuple(map(_size, prompt.pictures)), text.bit_length()


def _size(shown: Shown) -> Hashable:
    from PIL import Image

    if not shown.media_type.startswith("image/"):
        return shown.media_type
    return Image.open(io.BytesIO(shown.data)).size  # its header alone is read
