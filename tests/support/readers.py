"""Readers and plans for tests of the engine, which know no benchmark."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator

from overread.case import (
    Decoding,
    Limits,
    Message,
    Prompt,
    ReaderFailure,
    Reply,
    Request,
    Traits,
    Trial,
)


class Scripted:
    """Replies with what a function makes of the prompt; counts how often each text was asked."""

    def __init__(
        self,
        say: Callable[[Prompt], Reply | ReaderFailure] = lambda p: Reply(text=p.text[::-1]),
        *,
        name: str = "scripted",
        limits: Limits | None = None,
        traits: Traits | None = None,
        delay: float = 0.0,
    ) -> None:
        self.name = self.identity = name
        self.limits = limits or Limits(concurrency=8, attempts=3, backoff=0.001)
        self.traits = traits or Traits()
        self.asked: Counter[str] = Counter()
        self.most_at_once = 0
        self._at_once = 0
        self._say = say
        self._delay = delay

    async def reply(self, prompt: Prompt) -> Reply:
        self.asked[prompt.text] += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self._delay:
                await asyncio.sleep(self._delay)
            said = self._say(prompt)
        finally:
            self._at_once -= 1
        if isinstance(said, ReaderFailure):
            raise said
        return said

    async def close(self) -> None:
        pass


def questions(
    n: int, *, greedy: bool = True, distinct: bool = True
) -> Callable[[], Iterator[Trial]]:
    """A plan of n text questions."""
    decoding = Decoding(temperature=0.0 if greedy else 1.0)

    def plan() -> Iterator[Trial]:
        for number in range(n):
            text = f"question {number}" if distinct else "the same question"
            request = Request((Message("user", (text,)),), decoding)
            yield Trial(f"case {number}", {"image": "none"}, request)

    return plan
