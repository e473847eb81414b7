"""A reader that refuses whoever comes when four are being served: what a throttling server does."""

from __future__ import annotations

import asyncio

from overread.case import Limits, Prompt, ReaderFailure, Reply, Traits

SEATS = 4


class Crowded:
    """Takes 20 ms for an answer, and no more than `SEATS` at once."""

    name = identity = "crowded"
    traits, limits = Traits(), Limits()

    def __init__(self) -> None:
        self.seated = 0

    async def reply(self, prompt: Prompt) -> Reply:
        if self.seated >= SEATS:
            raise ReaderFailure("Too many at once.", heals=True, throttled=True)
        self.seated += 1
        try:
            await asyncio.sleep(0.02)
        finally:
            self.seated -= 1
        return Reply("Yes")

    async def close(self) -> None: ...
