"""What a chat endpoint sent back: a reply, or the reason there is none and whether it heals."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from overread.case import Limits, ReaderFailure, Reply, printable
from overread.readers.http_client import Broken, Unreachable, Untrusted
from overread.readers.secret import Secret

_HEALING = frozenset({408, 409, 425, 429, *range(500, 600)} - {501, 505})
_A_DAY = 86_400
_LONGEST_LISTING = 500
_THROTTLING = frozenset({429, 503, 529})
# llama.cpp answers a picture it cannot take with status 500, which otherwise may heal.
_NEVER_HEALS = re.compile(r"not supported|unsupported|does not support", re.IGNORECASE)
# As much of a body that is no reply is looked at; a line of it is shown.
_MOST_QUOTED = 1 << 16
_MOST_MODELS = 10_000
_MOST_KEPT = 1_000_000  # characters of a reply: twice what the most talkative models may say

Hide = Callable[[str], str]  # takes a key out of a text, before any of it is cut


def read_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    seconds: float = 0.0,
    sent: str = "",
    *,
    secret: Secret | None = None,
) -> Reply:
    """The reply in a response. Raises ReaderFailure for anything that is not one.

    Neither holds the secret, however the server repeated it.
    """
    hide: Hide = secret.hide if secret else str
    if 300 <= status < 400:
        where = _line(headers.get("location", "elsewhere"), hide, 200)
        raise ReaderFailure(f"HTTP {status}: redirects to {where} are not followed", heals=False)
    try:
        data = _lenient(body)
    except (ValueError, RecursionError):
        said = body[:_MOST_QUOTED].decode("utf-8", "replace")
        if status != 200:
            raise _failure(status, _error_line(said, hide), headers) from None
        shown = _line(said, hide, 80)
        raise ReaderFailure(f'not JSON: the server said "{shown}"', heals=True) from None
    if status != 200:
        error = data.get("error", data) if isinstance(data, dict) else data
        raise _failure(status, _error_line(error, hide), headers)
    if not isinstance(data, dict):
        raise ReaderFailure("not a chat completion: the body is not an object", heals=True)
    if data.get("error"):
        raise _failure(_error_status(data["error"]), _error_line(data["error"], hide), headers)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ReaderFailure("not a chat completion: there is no choices[0].message", heals=True)
    if choice.get("error"):  # how gateways tell of an upstream that broke off
        raise _failure(_error_status(choice["error"]), _error_line(choice["error"], hide), {})
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    reply = Reply(
        text=_text(message.get("content")),
        logprobs=_first_token(choice.get("logprobs")),
        reasoning=_string(message.get("reasoning_content")) or _string(message.get("reasoning")),
        refusal=_string(message.get("refusal")),
        finish=_string(choice.get("finish_reason")),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        seconds=seconds,
        sent=sent,
        model=_string(data.get("model")),
        fingerprint=_string(data.get("system_fingerprint")),
    )
    if len(body) > _MOST_KEPT:
        _refuse_endless(reply)
    return secret.hidden(reply) if secret else reply


def _refuse_endless(reply: Reply) -> None:
    words = (reply.text, reply.reasoning, reply.refusal, reply.finish, reply.model)
    size = sum(len(word or "") for word in words)
    size += sum(len(token) + 16 for token, _ in reply.logprobs or ())
    if size > _MOST_KEPT:
        raise ReaderFailure(
            f"too long: a reply of {size:,} characters; at most {_MOST_KEPT:,} are kept",
            heals=False,
        )


def read_listing(body: bytes, model: str, secret: Secret | None) -> str:
    """What a server's list of models says of one, or of the only one; "" where it says nothing.

    Some servers give the moment of asking as the moment of creation, which tells nothing.
    """
    rows = _listed_rows(body)
    named = [row for row in rows if row.get("id") == model] or (rows if len(rows) == 1 else [])
    if not named:
        return ""
    told = [f"{key} {said}" for key in ("id", "root") if (said := _string(named[0].get(key)))]
    created = _count(named[0].get("created"))
    if created and abs(time.time() - created) > _A_DAY:
        told.append(f"created {created}")
    return _line(", ".join(told), secret.hide if secret else str, _LONGEST_LISTING)


def listed_models(body: bytes, secret: Secret | None) -> list[str]:
    """The names in a list of models, whichever way a server writes one; none in anything else."""
    names = [row.get("id") or row.get("name") for row in _listed_rows(body)[:_MOST_MODELS]]
    hide: Hide = secret.hide if secret else str
    return [_line(name, hide, 200) for name in names if isinstance(name, str) and name]


def _listed_rows(body: bytes) -> list[dict[str, Any]]:
    try:
        data = _lenient(body)
    except (ValueError, RecursionError):
        return []
    rows = data.get("data") or data.get("models") if isinstance(data, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _lenient(body: bytes) -> Any:
    """JSON as servers really write it: half of an emoji (a lone surrogate), NaN and infinities.

    Halves are replaced: neither the store nor a table can hold them.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        written = json.dumps(json.loads(body), ensure_ascii=False)
        return json.loads(written.encode("utf-8", "replace"))


def _text(content: object) -> str:
    """Content is a string, a list of parts, or null (which the protocol takes as empty)."""
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict)]
        return "".join(p for p in parts if isinstance(p, str))
    return content if isinstance(content, str) else ""


def _first_token(logprobs: object) -> tuple[tuple[str, float], ...] | None:
    """The alternatives of the first generated token, or None where the server gave none."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict):
        return None
    top = first.get("top_logprobs")
    rows = top if isinstance(top, list) and top else [first]
    found = [
        (row["token"], float(row["logprob"]))
        for row in rows
        if isinstance(row, dict)
        and isinstance(row.get("token"), str)
        and isinstance(row.get("logprob"), int | float)
        and abs(row["logprob"]) < 1e300  # no NaN, no infinity
    ]
    return tuple(found) or None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    # The store and the tables hold 64 bits.
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _failure(status: int, message: str, headers: Mapping[str, str]) -> ReaderFailure:
    return ReaderFailure(
        f"HTTP {status}: {message}" if status else f"error in a 200 reply: {message}",
        heals=status in _THROTTLING
        or ((status in _HEALING or status == 0) and not _NEVER_HEALS.search(message)),
        throttled=status in _THROTTLING,
        retry_after=_retry_after(headers.get("retry-after")),
    )


def _error_status(error: object) -> int:
    """The status an error object speaks of, or 0 where it names none."""
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else 0


def _error_line(error: object, hide: Hide) -> str:
    said = error.get("message", error) if isinstance(error, dict) else error
    try:
        return _line(said, hide, 300) or "no message"
    except RecursionError:  # it could just be read, and cannot be written
        return "nested too deeply to be shown"


def _line(said: object, hide: Hide, length: int) -> str:
    """What somebody else wrote, as one line of at most so many characters, and without a key."""
    return hide(" ".join(str(said)[:_MOST_QUOTED].split()))[:length]


def _retry_after(value: str | None) -> float | None:
    """Seconds or an HTTP date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def transport_failure(
    error: Exception, url: str, limits: Limits, secret: Secret | None
) -> ReaderFailure:
    """A failure below HTTP: refused, reset, timed out, cut short. All but misuse heal."""
    if isinstance(error, ReaderFailure):  # the guard's, or of a body without end
        return error
    if isinstance(error, TimeoutError):
        remedy = f"raise timeout= or lower concurrency= ({limits.concurrency}) if it is slow"
        return ReaderFailure(f"timeout: no reply within {limits.timeout:g} s; {remedy}", heals=True)
    # Whoever breaks HTTP is quoted by the parser, and may have been repeating the key.
    said = _line(error, secret.hide if secret else str, 200) or type(error).__name__
    detail = printable(said)
    if isinstance(error, Untrusted):
        return ReaderFailure(f"TLS: {detail}", heals=False)
    if isinstance(error, Unreachable):
        return ReaderFailure(f"cannot connect: {url} ({detail})", heals=True)
    if isinstance(error, Broken | OSError | ValueError):
        return ReaderFailure(f"connection broke: {detail}", heals=True)
    raise error
