"""Requests become prompts: pictures are rendered in threads, each once for all who ask for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from overread.case import BadInput, Picture, Prompt, PromptMessage, Request, Shown
from overread.engine.sources import Sources
from overread.imaging import Cache, render

__all__ = ["Studio"]


class Studio:
    """Renders for every reader of a run, so phrasings and readers share what is rendered."""

    def __init__(self, sources: Sources, *, threads: int | None = None, cache: Cache | None = None):
        self.sources = sources
        self.cache = cache if cache is not None else Cache()
        # One more than cores: while a thread waits for the interpreter's lock, another renders.
        self.threads = threads or (os.cpu_count() or 1) + 1
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="render")
        self._making: dict[bytes, asyncio.Future[Shown]] = {}

    async def show(
        self, request: Request, digest: bytes, pictures: Mapping[Picture, bytes]
    ) -> Prompt:
        """The prompt a reader receives. Raises BadInput where a picture cannot be made.

        `pictures` gives every picture's digest, which names it in the cache.
        """
        messages: list[PromptMessage] = []
        for message in request.messages:
            parts: list[str | Shown] = []
            for part in message.parts:
                if isinstance(part, str):
                    parts.append(part)
                else:
                    key = pictures[part]
                    kept = self.cache.peek(key)
                    parts.append(kept if kept is not None else await self._made(part, key))
            messages.append(PromptMessage(message.role, tuple(parts)))
        return Prompt(tuple(messages), request.decoding, digest.hex())

    async def _made(self, picture: Picture, key: bytes) -> Shown:
        """Render in a thread; those who ask meanwhile await it without a thread of their own."""
        making = self._making.get(key)
        if making is None:
            making = asyncio.get_running_loop().run_in_executor(
                self.pool, self.cache.get, key, lambda: self._rendered(picture)
            )
            self._making[key] = making
            making.add_done_callback(lambda _: self._making.pop(key, None))
        # Shielded: one reader's stopping must not take the picture away from another.
        return await asyncio.shield(making)

    def _rendered(self, picture: Picture) -> Shown:
        shown = render(picture)
        if not self.sources.unchanged(picture):  # a reply must not be kept under other pixels' key
            raise BadInput("a file of it changed during the run. Run the same command again.")
        _ = shown.digest  # taken here, where no call waits for it
        return shown

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
