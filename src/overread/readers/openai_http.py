"""`openai:` readers: any OpenAI-compatible chat endpoint.

Base64 pictures are spliced into the body as they are: none of their characters needs escaping, so
they never pass through a JSON encoder, and no body is ever put together in one piece.
"""

from __future__ import annotations

import functools
import time
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

import msgspec

from overread import __version__
from overread.case import BadInput, Decoding, Limits, Prompt, ReaderFailure, Reply, Shown, ShownClip
from overread.readers.guard import Guard, on_this_network
from overread.readers.http_client import Client, Response
from overread.readers.responses import listed_models, read_listing, read_response, transport_failure
from overread.readers.secret import Secret
from overread.readers.spec import ReaderSpec

LIMITS = Limits(concurrency=64)
_LISTED_WITHIN = 5.0  # seconds
# Stock servers show a part of a video: vLLM takes 32 frames of it, and processors of some models
# sample what is left. These fields of a request (vLLM's; others pass over them) ask for all of it.
_EVERY_FRAME: dict[str, Any] = {
    "media_io_kwargs": {"video": {"num_frames": -1}},
    "mm_processor_kwargs": {"do_sample_frames": False},
}
_encode = msgspec.json.Encoder().encode


class OpenAIReader:
    """A served model. Connections are opened by the first calls, and closed with the reader."""

    def __init__(self, spec: ReaderSpec, guard: Guard, key: Secret | None) -> None:
        self.name = spec.name
        self.traits = spec.traits
        self.limits = spec.limits(LIMITS)
        self.spec = spec
        self._guard = guard
        self._base = spec.base_url.rstrip("/")
        self._path = urlsplit(self._base).path
        self._query = f"?api-version={spec.api_version}" if spec.api_version else ""
        host = urlsplit(self._base).hostname or ""
        headers = {"User-Agent": f"overread/{__version__}", "Content-Type": "application/json"}
        self._key = key
        if key is not None:
            _check_key_channel(spec, host)
            if spec.auth == "api-key":
                headers["api-key"] = key.reveal()
            else:
                headers["Authorization"] = f"Bearer {key.reveal()}"
        if spec.proxy:
            guard.check_proxy(host, urlsplit(spec.proxy).hostname or spec.proxy)
        self._client = Client(self._base, guard, headers, spec.proxy)
        self._tail = _tail(spec, _without_nulls(spec.extra))
        films = spec.clips == "video" and spec.modality != "text"
        # With videos, the user's fields and those that keep a video whole, unless they say else.
        self._extra = _without_nulls(_over(_EVERY_FRAME, spec.extra)) if films else spec.extra
        self._films_tail = _tail(spec, self._extra)

    @functools.cached_property
    def identity(self) -> str:
        """What makes two readers the same: kind, model, revision, where it is served, extras."""
        url = urlsplit(self.spec.base_url)
        # With its path: gateways serve different models under one host and one model name.
        where = self.spec.identity or url.netloc + url.path.rstrip("/") + self._query
        parts = ("openai", self.spec.model, self.spec.revision, where, self._extra)
        return msgspec.json.encode(parts, order="deterministic").decode()

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask once. Raises ReaderFailure; never returns an error as text."""
        pieces = self.body(prompt)
        began = time.monotonic()
        response = await self._answer("POST", "/chat/completions", pieces, self.limits.timeout)
        seconds = round(time.monotonic() - began, 6)
        try:
            return read_response(*response, seconds, digest_of(pieces), secret=self._key)
        except ReaderFailure as failure:
            hint = self._hint(response.status)
            if not hint:
                raise
            raise ReaderFailure(failure.reason + hint, heals=failure.heals) from None

    def body(self, prompt: Prompt) -> list[bytes | Shown]:
        """What is sent for a prompt, each picture where its base64 goes; a batch carries it too."""
        if self.traits.modality == "text" and prompt.pictures:
            raise AssertionError("a text-only reader was handed pixels")
        filmed = self.spec.clips == "video" and any(clip.form == "video" for clip in prompt.clips)
        return body_pieces(prompt, self.spec, self._films_tail if filmed else self._tail)

    async def models(self) -> tuple[int, list[str]]:
        """What the server lists under /models, and the status it answers with.

        Raises ReaderFailure where it does not answer.
        """
        status, _, body = await self._answer("GET", "/models", [], self.limits.timeout)
        return status, listed_models(body, self._key) if status == 200 else []

    async def listed(self) -> str:
        """How the server lists this model (id, root, created); "" where it does not say.

        Never more than a hint: whatever goes wrong here, the questions are asked.
        """
        try:
            status, _, body = await self._answer("GET", "/models", [], _LISTED_WITHIN)
        except ReaderFailure:
            return ""
        return read_listing(body, self.spec.model, self._key) if status == 200 else ""

    async def _answer(
        self, method: str, path: str, pieces: list[bytes | Shown], seconds: float
    ) -> Response:
        body = [p if isinstance(p, bytes) else p.base64 for p in pieces]
        try:
            return await self._client.send(method, self._path + path + self._query, body, seconds)
        except Exception as error:
            raise transport_failure(error, self._base + path, self.limits, self._key) from None

    def _hint(self, status: int) -> str:
        """What a user may do about a refusal that has one usual cause."""
        if status in (401, 403):
            variable = self.spec.key_env or "OPENAI_API_KEY"
            came = f"the key came from {variable}" if self._key else f"{variable} holds no key"
            return f" ({came})"
        if status == 404:
            path = urlsplit(self.spec.base_url).path.rstrip("/")
            if not path.endswith("/v1"):
                return f" (the base URL ends in {path or 'the host'}; most end in /v1)"
            return f" (is {self.spec.model} served there? overread doctor --reader looks)"
        return ""

    async def close(self) -> None:
        await self._client.close()


def request_body(prompt: Prompt, spec: ReaderSpec, tail: bytes = b"") -> bytes:
    """The JSON body. Text goes through an encoder, base64 is spliced in between."""
    pieces = body_pieces(prompt, spec, tail)
    return b"".join([p if isinstance(p, bytes) else p.base64 for p in pieces])


def body_pieces(prompt: Prompt, spec: ReaderSpec, tail: bytes) -> list[bytes | Shown]:
    """The body in pieces, each picture where its base64 goes; a clip's frames follow in order."""
    pieces: list[bytes | Shown] = []
    text = _head(spec.model)
    for position, message in enumerate(prompt.messages):
        text += _opening(message.role, position == 0)
        if all([isinstance(part, str) for part in message.parts]):  # noqa: C419 - quicker
            text += _encode("\n".join([str(part) for part in message.parts])) + b"}"
            continue
        comma = b"["
        for part in message.parts:
            if isinstance(part, str):
                text += comma + b'{"type":"text","text":' + _encode(part) + b"}"
                comma = b","
                continue
            for shown in part.frames if isinstance(part, ShownClip) else (part,):
                pieces += [text + comma + _picture_opening(shown.media_type), shown]
                text, comma = b'"}}', b","
        text += b"]}"
    pieces.append(text + _ending(prompt.decoding, spec.max_tokens_name, tail))
    return pieces


# What stays the same from request to request is encoded once.


@functools.lru_cache(64)
def _head(model: str) -> bytes:
    return b'{"model":' + _encode(model) + b',"messages":['


@functools.lru_cache(64)
def _opening(role: str, first: bool) -> bytes:
    return (b"" if first else b",") + b'{"role":' + _encode(role) + b',"content":'


@functools.lru_cache(64)
def _picture_opening(media_type: str) -> bytes:
    kind = "video_url" if media_type.startswith("video/") else "image_url"
    return f'{{"type":"{kind}","{kind}":{{"url":"data:{media_type};base64,'.encode()


@functools.lru_cache(256)
def _ending(decoding: Decoding, max_tokens_name: str, tail: bytes) -> bytes:
    fields: dict[str, Any] = {max_tokens_name: decoding.max_tokens}
    if decoding.temperature is not None:
        fields["temperature"] = decoding.temperature
    if decoding.top_logprobs:
        fields |= {"logprobs": True, "top_logprobs": decoding.top_logprobs}
    if decoding.seed is not None:
        fields["seed"] = decoding.seed
    return b"]," + _encode(fields)[1:-1] + tail + b"}"


def digest_of(pieces: list[bytes | Shown]) -> str:
    """Names what was sent without hashing every picture again for every request (50 us each)."""
    short = b"".join([p if isinstance(p, bytes) else p.digest for p in pieces])
    return blake2b(short, digest_size=16).hexdigest()


def _without_nulls(extra: dict[str, Any]) -> dict[str, Any]:
    """null leaves out a field that would be sent with videos, for servers that refuse it."""
    return {k: v for k, v in extra.items() if v is not None or k not in _EVERY_FRAME}


def _over(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    both = {
        name: _over(ours[name], theirs[name])
        for name in ours.keys() & theirs.keys()
        if isinstance(ours[name], dict) and isinstance(theirs[name], dict)
    }
    return ours | theirs | both


def _tail(spec: ReaderSpec, extra: dict[str, Any]) -> bytes:
    """Further fields, which may not replace what the engine sends."""
    taken = {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "logprobs"}
    clash = (taken | {"top_logprobs", "seed", "stream", "n"}) & set(extra)
    if clash:
        raise BadInput(
            f"reader {spec.name}: extra may not set {', '.join(sorted(clash))}. Use the options "
            "max_tokens, temperature and logprobs."
        )
    return b"," + _encode(extra)[1:-1] if extra else b""


def _check_key_channel(spec: ReaderSpec, host: str) -> None:
    # To an http:// server a proxy gets the whole request, the key included, and sends it on.
    through = [urlsplit(spec.proxy).hostname or ""] if spec.proxy else []
    for at in (*through, host) if spec.base_url.startswith("http://") else ():
        if not on_this_network(at):
            raise BadInput(
                f"reader {spec.name}: a key would travel unencrypted to {at}. Use https://, or "
                "unset the key's variable if the server needs none."
            )
