"""A batch service in this process: a reader whose requests go into files, and who answers them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from overread.case import Limits, Prompt, Reader, Reply, Shown

__all__ = ["Service", "result"]


class Service:
    """Another reader, asked live or by batch files. It remembers what it was asked, by digest."""

    def __init__(self, reader: Reader, name: str) -> None:
        self.name, self.identity, self.traits = name, f"service:{name}", reader.traits
        self.limits = Limits(concurrency=4)
        self.live = 0
        self._reader = reader
        self._prompts: dict[str, Prompt] = {}

    async def reply(self, prompt: Prompt) -> Reply:
        self.live += 1
        return await self._reader.reply(prompt)

    async def close(self) -> None:
        await self._reader.close()

    def body(self, prompt: Prompt) -> list[bytes | Shown]:
        self._prompts[prompt.digest] = prompt
        return [json.dumps({"prompt": prompt.digest}).encode()]

    def answers(self, files: Iterable[Path]) -> list[dict[str, Any]]:
        """A result for every line of these files, in their order."""
        lines = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
        prompts = [self._prompts[line["body"]["prompt"]] for line in lines]

        async def asked() -> list[Reply]:
            return [await self._reader.reply(prompt) for prompt in prompts]

        replies = asyncio.run(asked())
        return [
            result(line["custom_id"], reply) for line, reply in zip(lines, replies, strict=True)
        ]


def result(name: str, reply: Reply) -> dict[str, Any]:
    """A reply as a batch service writes it."""
    tokens = [{"token": token, "logprob": value} for token, value in reply.logprobs or ()]
    logprobs = {"content": [{**tokens[0], "top_logprobs": tokens}]} if tokens else None
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": reply.text, "refusal": reply.refusal},
        "logprobs": logprobs,
        "finish_reason": reply.finish,
    }
    usage = {"prompt_tokens": reply.tokens_in, "completion_tokens": reply.tokens_out}
    body = {"model": reply.model, "choices": [choice], "usage": usage}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": name, "response": response, "error": None}
