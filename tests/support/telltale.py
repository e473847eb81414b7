"""A reader that says what it was given, to see what a wire does to prompts and replies."""

from __future__ import annotations

from overread.case import Limits, Prompt, ReaderFailure, Reply, Traits


class Telltale:
    """A reader that says what it was given, exactly."""

    name = identity = "telltale"
    traits, limits = Traits(), Limits()

    async def reply(self, prompt: Prompt) -> Reply:
        if prompt.text == "fail":
            raise ReaderFailure("asked to", heals=False)
        if prompt.text == "wait":
            raise ReaderFailure("too fast", heals=True, throttled=True)
        given = [repr(p) if isinstance(p, str) else p.data.hex() for p in prompt.messages[-1].parts]
        return Reply(
            f"{' '.join(given)} {prompt.decoding}",
            logprobs=(("Yes", -0.1), ("No", -2.3456789012345678), ("?", float("-inf"))),
            reasoning="because",
            finish="length",
            tokens_in=7,
        )

    async def close(self) -> None: ...
