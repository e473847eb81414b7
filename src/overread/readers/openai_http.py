"""`openai:` readers: any OpenAI-compatible chat endpoint, over our own thin aiohttp client.

Our own, because at 64 connections it was measured at 6,700 requests/s where the openai package
reached 410 and httpx 160. Base64 pictures are spliced into the body as they are: none of their
characters needs escaping, so they never pass through a JSON encoder.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from overread.case import (
    BadInput,
    Decoding,
    Limits,
    Prompt,
    ReaderFailure,
    Reply,
    Shown,
    ShownClip,
    Traits,
)
from overread.readers.guard import Guard, is_private
from overread.readers.responses import read_listing, read_response, transport_failure
from overread.readers.secret import Secret
from overread.readers.spec import ReaderSpec

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

__all__ = ["OpenAIReader", "request_body"]

_DEFAULT = Limits(concurrency=64)
_MOST_BYTES = 32_000_000
_LISTED_WITHIN = 5.0  # seconds
_encode = msgspec.json.Encoder().encode


class OpenAIReader:
    """A served model. One HTTP session, opened on the first call, closed with the reader."""

    def __init__(self, spec: ReaderSpec, guard: Guard, key: Secret | None) -> None:
        self.name = spec.name
        self.traits: Traits = spec.traits
        self.limits = spec.limits(_DEFAULT)
        self.spec = spec
        self._guard = guard
        self._url = spec.base_url.rstrip("/") + "/chat/completions"
        self._parsed_url: URL | None = None
        self._host = urlsplit(self._url).hostname or ""
        self._headers = {"Content-Type": "application/json"}
        self._key = key
        if key is not None:
            _check_key_channel(spec, self._host)
            self._headers["Authorization"] = f"Bearer {key.reveal()}"
        self._connects_to = self._host
        if spec.proxy:
            self._connects_to = urlsplit(spec.proxy).hostname or spec.proxy
            guard.check_proxy(self._host, self._connects_to)
        self._session: aiohttp.ClientSession | None = None
        self._tail = _tail(spec)

    @functools.cached_property
    def identity(self) -> str:
        """What makes two readers the same: kind, model, revision, where it is served, extras."""
        url = urlsplit(self.spec.base_url)
        # With its path: gateways serve different models under one host and one model name.
        where = self.spec.identity or url.netloc + url.path.rstrip("/")
        parts = ("openai", self.spec.model, self.spec.revision, where, self.spec.extra)
        return msgspec.json.encode(parts, order="deterministic").decode()

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask once. Raises ReaderFailure; never returns an error as text."""
        if self.traits.modality == "text" and prompt.pictures:
            raise AssertionError("a text-only reader was handed pixels")
        pieces = body_pieces(prompt, self.spec, self._tail)
        body = _joined(pieces)
        began = time.monotonic()
        session = self._session or self._open()
        try:
            async with session.post(
                self._parsed_url or self._url,
                data=body,
                allow_redirects=False,
                proxy=self.spec.proxy,
            ) as response:
                status, headers = response.status, response.headers
                # A compressed body may be a thousand times as long as it says.
                told = None if "Content-Encoding" in headers else response.content_length
                short = (told or _MOST_BYTES) < _MOST_BYTES
                content = await (response.read() if short else _read_bounded(response))
        except Exception as error:
            raise transport_failure(error, self._url, self.limits.timeout) from None
        seconds = round(time.monotonic() - began, 6)
        try:
            return read_response(status, headers, content, seconds=seconds, sent=_digest(pieces))
        except ReaderFailure as failure:
            if self._key is None:
                raise
            raise _without_key(failure, status, headers, content, self._key.reveal()) from None

    async def listed(self) -> str:
        """How the server lists this model (id, root, created); "" where it does not say.

        Never more than a hint: whatever goes wrong here, the questions are asked.
        """
        import aiohttp

        session = self._session or self._open()
        try:
            async with session.get(
                self.spec.base_url.rstrip("/") + "/models",
                allow_redirects=False,
                proxy=self.spec.proxy,
                timeout=aiohttp.ClientTimeout(total=_LISTED_WITHIN),
            ) as response:
                if response.status != 200:
                    return ""
                content = await _read_bounded(response)
        except Exception:
            return ""
        said = read_listing(content, self.spec.model)
        return said if self._key is None else said.replace(self._key.reveal(), "****")

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp
        from yarl import URL

        self._parsed_url = URL(self._url)  # once, not for every request
        connector = aiohttp.TCPConnector(
            limit=0,  # the pace decides how many calls are under way
            socket_factory=functools.partial(self._guard.socket_for, self._connects_to),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self.limits.timeout),
            trust_env=False,  # a proxy from the environment would be a host nobody named
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
        )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)  # let transports finish closing


def _without_key(
    failure: ReaderFailure, status: int, headers: Mapping[str, str], content: bytes, key: str
) -> ReaderFailure:
    """The failure as it would be had the server not repeated the key it refuses.

    Taken out before the message is cut to length, so that no part of the key is left at the cut.
    """
    try:
        read_response(status, headers, content.replace(key.encode(), b"****"))
    except ReaderFailure as again:
        failure = again
    failure.reason = failure.reason.replace(key, "****")
    return failure


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    """The whole body, or a failure past what any honest completion holds."""
    pieces, total = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        total += len(piece)
        if total > _MOST_BYTES:
            response.close()
            raise ReaderFailure(f"too long: a reply of over {_MOST_BYTES:,} bytes", heals=False)
    return b"".join(pieces)


def request_body(prompt: Prompt, spec: ReaderSpec, tail: bytes = b"") -> bytes:
    """The JSON body. Text goes through an encoder, base64 is spliced in between."""
    return _joined(body_pieces(prompt, spec, tail))


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


def _joined(pieces: list[bytes | Shown]) -> bytes:
    return b"".join([p if isinstance(p, bytes) else p.base64 for p in pieces])


def _digest(pieces: list[bytes | Shown]) -> str:
    """Names what was sent without hashing every picture again for every request (50 us each)."""
    short = b"".join([p if isinstance(p, bytes) else p.digest for p in pieces])
    return blake2b(short, digest_size=16).hexdigest()


def _tail(spec: ReaderSpec) -> bytes:
    """The user's extra fields, which may not replace what the engine sends."""
    taken = {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "logprobs"}
    clash = (taken | {"top_logprobs", "seed", "stream", "n"}) & set(spec.extra)
    if clash:
        raise BadInput(
            f"reader {spec.name}: extra may not set {', '.join(sorted(clash))}. Use the options "
            "max_tokens, temperature and logprobs."
        )
    return b"," + _encode(spec.extra)[1:-1] if spec.extra else b""


def _check_key_channel(spec: ReaderSpec, host: str) -> None:
    # To an http:// server a proxy gets the whole request, the key included.
    through = urlsplit(spec.proxy).hostname or "" if spec.proxy else host
    if spec.base_url.startswith("http://") and through != "localhost" and not is_private(through):
        raise BadInput(
            f"reader {spec.name}: a key would travel unencrypted to {through}. Use https://, or "
            "unset the key's variable if the server needs none."
        )
