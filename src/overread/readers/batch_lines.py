"""Batch files: requests as the lines that batch services take, and their results read.

A request is one line, `{"custom_id", "method", "url", "body"}`, whose body is to the byte what an
`openai:` reader sends live. A result is one line with the same `custom_id`. OpenAI, Azure and those
compatible with them write such lines, and so does `vllm run-batch`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable
from urllib.parse import urlsplit

import msgspec

from overread.case import BadInput, Policy, Prompt, Reader, ReaderFailure, Reply, Shown, printable
from overread.readers.guard import on_this_network, plain_host
from overread.readers.responses import read_response

# What services take in one file: requests, and bytes. A megabyte is 10**6 bytes here, the smaller
# of its two meanings.
LIMITS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "openai": (50_000, 200_000_000),
    "azure": (50_000, 200_000_000),
    "anthropic": (100_000, 256_000_000),
    "google": (None, 2_000_000_000),
    "xai": (None, 200_000_000),
    "vllm": (None, None),
}
_NUMBERS: Final = re.compile(r"(?P<requests>\d{1,9})?,(?:(?P<mb>\d{1,9}(?:\.\d{1,6})?)MB)?")
# Which endpoint a line is for; services know it by this path whatever the server's own is.
_ENDPOINT: Final = "/v1/chat/completions"
_LONGEST_REASON: Final = 300


@runtime_checkable
class Batchable(Reader, Protocol):
    """A reader whose requests can be put into a batch file."""

    def body(self, prompt: Prompt) -> list[bytes | Shown]: ...


class BatchLimits(NamedTuple):
    """What one file may hold; None where there is no bound."""

    requests: int | None
    size: int | None

    def full(self, requests: int, size: int) -> bool:
        """Whether a file of so many requests and bytes would be too much."""
        too_many = self.requests is not None and requests > self.requests
        return too_many or (self.size is not None and size > self.size)


def batch_limits(words: str) -> BatchLimits:
    """Limits by a service's name, or as numbers.

    >>> batch_limits("azure")
    BatchLimits(requests=50000, size=200000000)
    >>> batch_limits("1000,20MB"), batch_limits(",0.5MB")[1], batch_limits("7,")[0]
    (BatchLimits(requests=1000, size=20000000), 500000, 7)
    """
    if words in LIMITS:
        return BatchLimits(*LIMITS[words])
    found = _NUMBERS.fullmatch(words)
    requests = int(found["requests"]) if found and found["requests"] else None
    size = int(float(found["mb"]) * 1e6) if found and found["mb"] else None
    if found is None or (requests, size) == (None, None) or 0 in (requests, size):
        raise BadInput(
            f'--batch-limits {words}: expected {", ".join(LIMITS)}, or numbers as "5000,90MB" '
            '(either may be left out, as in ",90MB").'
        )
    return BatchLimits(requests, size)


def check_batch(
    base_url: str, reader: str, policy: Policy, share_with: Sequence[str], batch_with: Sequence[str]
) -> None:
    """Refuse to write down a credentialed set for a service that was not named twice.

    Batch services keep what they are sent for days, whatever was agreed about single calls.
    """
    host = urlsplit(base_url).hostname or ""
    if policy != "credentialed" or on_this_network(host):
        return
    named = {"share_with": share_with, "batch_with": batch_with}
    lacking = [
        key for key, hosts in named.items() if plain_host(host) not in map(plain_host, hosts)
    ]
    if lacking:
        lines = " and ".join(f'{key} = ["{host}"]' for key in lacking)
        raise BadInput(
            f"{reader}: the data set is credentialed, and batch services such as {host} keep "
            f"what they are sent. Nothing was written. If your agreement allows it, add {lines} to "
            "~/.config/overread/config.toml; if the set is open, say so in its dataset.toml."
        )


def batch_line(key: bytes, pieces: Sequence[bytes | Shown]) -> list[bytes]:
    """A request as a line, in pieces: no body is ever put together in one."""
    opening = f'{{"custom_id":"{key.hex()}","method":"POST","url":"{_ENDPOINT}","body":'
    body = [piece if isinstance(piece, bytes) else piece.base64 for piece in pieces]
    return [opening.encode(), *body, b"}\n"]


class Result(NamedTuple):
    """What a service answered to one request: a reply, or the reason why there is none."""

    custom_id: str
    reply: Reply | None
    reason: str = ""


class _Response(msgspec.Struct, frozen=True, gc=False):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Line(msgspec.Struct, frozen=True, gc=False):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Line).decode


def read_result(line: bytes) -> Result:
    """A line of a result file; raises ValueError, in a few words, for what is no such line."""
    try:
        found = _decode(line)
    except msgspec.ValidationError as error:
        raise ValueError(f"it is no result ({error})") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = _leniently(line)
    if found.response is None and found.error is None:
        raise ValueError("it has neither a response nor an error")
    if found.error is not None and (found.response is None or found.response.status_code == 200):
        return Result(found.custom_id, None, _reason(found.error))
    assert found.response is not None
    try:
        reply = read_response(found.response.status_code, {}, bytes(found.response.body))
    except ReaderFailure as failure:
        return Result(found.custom_id, None, failure.reason)
    return Result(found.custom_id, reply)


def _leniently(line: bytes) -> _Line:
    """A line with half of an emoji or NaN in it, as `read_response` takes them."""
    try:
        held = json.loads(line, parse_constant=lambda _: None)
        return _decode(json.dumps(held, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError, msgspec.DecodeError):
        raise ValueError("it is no JSON; perhaps it was cut off") from None


def _reason(error: object) -> str:
    """`batch_expired: …`, as far as the service says so."""
    told = error if isinstance(error, dict) else {"message": error}
    code, said = str(told.get("code") or "batch error"), str(told.get("message") or "no message")
    return printable(f"{' '.join(code.split())[:60]}: {' '.join(said.split())}")[:_LONGEST_REASON]
