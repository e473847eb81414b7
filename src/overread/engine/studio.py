"""Requests become prompts: pictures and clips are rendered in threads, each once for all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from overread.case import BadInput, Clip, Prompt, PromptMessage, Request, Shown, ShownClip
from overread.engine.keys import Slot
from overread.engine.sources import Sources
from overread.imaging import Cache, render

if TYPE_CHECKING:
    from overread.imaging import Films

__all__ = ["Studio"]

_MOST_REFUSED = 1024


class Studio:
    """Renders for every reader of a run, so phrasings and readers share what is rendered."""

    def __init__(self, sources: Sources, *, threads: int | None = None, cache: Cache | None = None):
        self.sources = sources
        self.cache = cache if cache is not None else Cache()
        # One more than cores: while a thread waits for the interpreter's lock, another renders.
        self.threads = threads or (os.cpu_count() or 1) + 1
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="render")
        self.films: Films | None = None
        self._making: dict[bytes, asyncio.Future[Shown | ShownClip]] = {}
        self._refused: dict[bytes, str] = {}

    async def show(self, request: Request, digest: bytes, pictures: Mapping[Slot, bytes]) -> Prompt:
        """The prompt a reader receives. Raises BadInput where a picture or clip cannot be made.

        `pictures` gives the digest of each, which names it in the cache.
        """
        messages: list[PromptMessage] = []
        for message in request.messages:
            parts: list[str | Shown | ShownClip] = []
            for part in message.parts:
                if isinstance(part, str):
                    parts.append(part)
                else:
                    key = pictures[part]
                    kept = self.cache.peek(key)
                    parts.append(kept if kept is not None else await self._made(part, key))
            messages.append(PromptMessage(message.role, tuple(parts)))
        return Prompt(tuple(messages), request.decoding, digest.hex())

    async def _made(self, picture: Slot, key: bytes) -> Shown | ShownClip:
        """Render in a thread; those who ask meanwhile await it without a thread of their own."""
        making = self._making.get(key)
        if self.films is None and isinstance(picture, Clip):
            from overread.imaging import Films  # not for runs of pictures alone

            self.films = Films()
        if making is None:
            making = asyncio.get_running_loop().run_in_executor(
                self.pool, self.cache.get, key, lambda: self._rendered(picture, key)
            )
            self._making[key] = making
            making.add_done_callback(lambda _: self._making.pop(key, None))
        # Shielded: one reader's stopping must not take the picture away from another.
        return await asyncio.shield(making)

    def _rendered(self, picture: Slot, key: bytes) -> Shown | ShownClip:
        if key in self._refused:  # a damaged clip is decoded once, not for every trial of it
            raise BadInput(self._refused[key])
        try:
            shown = self._drawn(picture)
        except BadInput as error:
            if isinstance(picture, Clip) and len(self._refused) < _MOST_REFUSED:
                self._refused[key] = str(error)
            raise
        if not self.sources.unchanged(picture):  # a reply must not be kept under other pixels' key
            raise BadInput("a file of it changed during the run. Run the same command again.")
        for part in shown.frames if isinstance(shown, ShownClip) else (shown,):
            _ = part.digest  # taken here, where no call waits for it
        return shown

    def _drawn(self, picture: Slot) -> Shown | ShownClip:
        if not isinstance(picture, Clip):
            return render(picture)
        from overread.imaging import render_clip

        return render_clip(picture, self.films)

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
