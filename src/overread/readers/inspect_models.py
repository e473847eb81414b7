"""`inspect:PROVIDER/MODEL` readers: models of Inspect's providers, for those that speak no OpenAI.

The provider's own package makes the connection, so the data-use guard cannot watch the socket: a
provider counts as a public host of its name, unless a base URL says where it is. Retries and pace
are ours. And what Inspect's tasks of Overread share with these readers: prompts as its messages,
its outputs as replies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from overread.case import (
    BadInput,
    Decoding,
    Limits,
    Prompt,
    Reader,
    ReaderFailure,
    Reply,
    Shown,
    ShownClip,
    printable,
)
from overread.readers.guard import Guard, on_this_network, plain_host
from overread.readers.secret import Secret
from overread.readers.spec import ReaderSpec

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput, RetryDecision

_DEFAULT = Limits(concurrency=16)
_LONGEST_REASON = 300
_FINISH = {"max_tokens": "length", "model_length": "length"}


def open_reader(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> Reader:
    """The reader a spec describes; nothing of Inspect is imported before it is asked."""
    if find_spec("inspect_ai") is None:
        raise BadInput(
            f"reader {spec.name}: Inspect is not installed. Run pip install 'overread[inspect]'."
        )
    provider, slash, model = spec.model.partition("/")
    if not (provider and slash and model):
        raise BadInput(
            f'reader "inspect:{spec.model}": expected inspect:PROVIDER/MODEL, '
            "for example inspect:anthropic/MODEL."
        )
    check_provider(guard, provider, spec.base_url)
    key = None
    if spec.key_env:
        value = environment.get(spec.key_env, "").strip()
        if not value:
            raise BadInput(
                f"reader {spec.name}: the variable {spec.key_env} named by key_env is not set. Set "
                "it, or leave key_env out where the provider's own variable holds the key."
            )
        key = Secret(value)
    return InspectReader(spec, key)


def check_provider(guard: Guard, provider: str, base_url: str | None) -> None:
    """Refuse a provider that may not see the data set, before anything is sent."""
    host = urlsplit(base_url or "").hostname or provider
    named = plain_host(host) in map(plain_host, guard.share_with)
    if guard.closed and not named and not (base_url and on_this_network(host)):
        what = "where its base URL points" if base_url else "a provider of Inspect"
        raise BadInput(guard.refusal(host, what))


class InspectReader:
    """A model of one of Inspect's providers, made when it is first asked."""

    def __init__(self, spec: ReaderSpec, key: Secret | None) -> None:
        self.name, self.traits, self.spec = spec.name, spec.traits, spec
        self.limits = spec.limits(_DEFAULT)
        where = spec.identity or spec.base_url
        parts = ("inspect", spec.model, spec.revision, where, spec.extra)
        self.identity = msgspec.json.encode(parts, order="deterministic").decode()
        self._key = key
        self._opened = False

    @cached_property
    def _model(self) -> Model:
        from inspect_ai.model import GenerateConfig, get_model

        unknown = sorted(set(self.spec.extra) - set(GenerateConfig.model_fields))
        if unknown:
            raise BadInput(
                f"reader {self.name}: extra has {', '.join(unknown)}, which is no field of "
                "Inspect's GenerateConfig. Leave it out."
            )
        try:
            made = get_model(
                self.spec.model,
                config=GenerateConfig(**self.spec.extra),
                base_url=self.spec.base_url or None,
                api_key=self._key.reveal() if self._key else None,
                memoize=False,
            )
        # Whatever a provider's package raises: it is not installed, it wants a key.
        except Exception as error:
            raise BadInput(f"reader {self.name}: {self._line(error)}") from None
        self._opened = True
        return made

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask once. Raises ReaderFailure; never returns an error as text."""
        from inspect_ai.model import GenerateConfig

        if self.traits.modality == "text" and prompt.pictures:
            raise AssertionError("a text-only reader was handed pixels")
        model = self._model
        config = model.config.merge(GenerateConfig(**decoding_of(prompt.decoding)))
        began = time.monotonic()
        try:
            # The provider itself: the pace, retries and time-outs around it are ours.
            async with asyncio.timeout(self.limits.timeout):
                said = await model.api.generate(messages_of(prompt), [], "none", config)
            output = said[0] if isinstance(said, tuple) else said
            if isinstance(output, Exception):
                raise output
        except TimeoutError:
            seconds = f"{self.limits.timeout:g}"
            raise ReaderFailure(f"timeout: no reply within {seconds} s", heals=True) from None
        except Exception as error:
            raise self._failure(error, model.api.should_retry(error)) from None
        return reply_of(output, round(time.monotonic() - began, 6), self._key)

    def _failure(self, error: Exception, decision: bool | RetryDecision) -> ReaderFailure:
        if isinstance(decision, bool):
            return ReaderFailure(self._line(error), heals=decision)
        return ReaderFailure(
            self._line(error),
            heals=decision.retry,
            throttled=decision.kind == "rate_limit",
            retry_after=decision.retry_after,
        )

    def _line(self, error: Exception) -> str:
        """`RateLimitError: …`, the kind first, by which failures are counted."""
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return printable(self._key.hide(said) if self._key else said)[:_LONGEST_REASON]

    async def close(self) -> None:
        if self._opened:
            await self._model.api.aclose()


def decoding_of(decoding: Decoding) -> dict[str, Any]:
    """How a reply is to be decoded, as Inspect calls it; what is left to the server is left out."""
    told: dict[str, Any] = {"max_tokens": decoding.max_tokens}
    if decoding.temperature is not None:
        told["temperature"] = decoding.temperature
    if decoding.seed is not None:
        told["seed"] = decoding.seed
    if decoding.top_logprobs:
        told |= {"logprobs": True, "top_logprobs": decoding.top_logprobs}
    return told


def messages_of(prompt: Prompt) -> list[ChatMessage]:
    """A prompt as Inspect's messages: the very pictures, as data URLs; a clip by its frames."""
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        ContentImage,
        ContentText,
        ContentVideo,
    )

    def content(shown: Shown) -> ContentImage | ContentVideo:
        url = f"data:{shown.media_type};base64,{shown.base64.decode()}"
        if shown.media_type == "video/mp4":
            return ContentVideo(video=url, format="mp4")
        return ContentImage(image=url)

    kinds = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    found: list[ChatMessage] = []
    for message in prompt.messages:
        if all(isinstance(part, str) for part in message.parts):
            said: Any = "\n".join(str(part) for part in message.parts)
        else:
            said = []
            for part in message.parts:
                if isinstance(part, str):
                    said.append(ContentText(text=part))
                else:
                    shown = part.frames if isinstance(part, ShownClip) else (part,)
                    said += map(content, shown)
        found.append(kinds[message.role](content=said))
    return found


def reply_of(output: ModelOutput, seconds: float = 0.0, secret: Secret | None = None) -> Reply:
    """What a model said, of what Inspect made of it. Raises ReaderFailure where it said nothing."""
    if not output.choices:
        raise ReaderFailure(f"no choice: {output.error or 'the output is empty'}", heals=True)
    choice, usage = output.choices[0], output.usage
    parts = choice.message.content if isinstance(choice.message.content, list) else []
    thought = "\n".join(part.reasoning for part in parts if part.type == "reasoning")
    first = choice.logprobs.content[0] if choice.logprobs and choice.logprobs.content else None
    rows: list[Any] = (first.top_logprobs or [first]) if first is not None else []
    reply = Reply(
        text=choice.message.text,
        logprobs=tuple((row.token, row.logprob) for row in rows) or None,
        reasoning=thought or None,
        finish=_FINISH.get(choice.stop_reason, choice.stop_reason),
        tokens_in=usage.input_tokens if usage else None,
        tokens_out=usage.output_tokens if usage else None,
        seconds=seconds,
        model=output.model or None,
    )
    return secret.hidden(reply) if secret else reply
