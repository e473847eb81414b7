"""HTTP responses and chat bodies: what is written on the wire, and read from it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from chat_server.clips import frames_of

if TYPE_CHECKING:
    from overread.case import Prompt, Reply, Shown, ShownClip

MODEL = "overread-bench"
REASONS = {
    200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 404: "Not Found",
    405: "Method Not Allowed", 411: "Length Required", 413: "Content Too Large",
    429: "Too Many Requests", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


def response(
    status: int, body: bytes, *headers: str, kind: str = "application/json", length: int = -1
) -> bytes:
    """One HTTP/1.1 response. `length` states a Content-Length other than the true one."""
    lines = (
        f"HTTP/1.1 {status} {REASONS[status]}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body) if length < 0 else length}",
        *headers,
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def as_json(value: Any, status: int = 200, *headers: str) -> bytes:
    return response(status, json.dumps(value).encode(), *headers)


def refusal(status: int, message: str, *headers: str) -> bytes:
    """An error in the shape OpenAI-compatible servers give it."""
    error = {"message": message, "type": "bench", "param": None, "code": status}
    return as_json({"error": error}, status, *headers)


def completion(
    text: str | None,
    logprobs: tuple[tuple[str, float], ...] | None = None,
    usage: tuple[int | None, int | None] = (None, None),
    finish: str | None = "stop",
    **message: str,
) -> bytes:
    """A chat completion; `logprobs` are the first token's alternatives, as in `Reply`."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish,
        "logprobs": None,
    }
    if logprobs is not None:
        # JSON has no -inf; servers that met the question write -9999.
        top: list[dict[str, Any]] = [
            {"token": t, "logprob": max(p, -9999.0), "bytes": list(t.encode())} for t, p in logprobs
        ]
        first = max(top, key=lambda each: float(each["logprob"]), default=None)
        choice["logprobs"] = {"content": [first | {"top_logprobs": top}] if first else []}
    body: dict[str, Any] = {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [choice],
    }
    counted = zip(("prompt_tokens", "completion_tokens"), usage, strict=True)
    tokens = {name: count for name, count in counted if count is not None}
    if tokens:
        body["usage"] = tokens | {"total_tokens": sum(tokens.values())}
    return as_json(body)


YES = (("Yes", -0.105), ("No", -2.996), (" Yes", -4.605), ("yes", -5.298), ("The", -6.908))
CANNED = completion("Yes", YES, (300, 1))


def prompt_of(body: bytes, *, videos: bool = False) -> Prompt:
    """The prompt a chat body was made from: data: URLs become the bytes of pictures again.

    With `videos` a video becomes its frames; without, as on most servers, it is refused.
    """
    from overread.case import Decoding, Prompt, PromptMessage, Shown

    def part(given: dict[str, Any]) -> str | Shown | ShownClip:
        kind = given["type"]
        if kind == "text":
            return str(given["text"])
        if kind != "image_url" and not (videos and kind == "video_url"):
            raise ValueError(f"a part of type {kind!r} is not understood")
        head, _, data = given[kind]["url"].partition(";base64,")
        seen = base64.b64decode(data, validate=True)
        return frames_of(seen) if kind == "video_url" else Shown(head.removeprefix("data:"), seen)

    asked = json.loads(body)
    messages = []
    for message in asked["messages"]:
        content = message["content"]
        parts = (content,) if isinstance(content, str) else tuple(part(each) for each in content)
        messages.append(PromptMessage(message["role"], parts))
    longest = asked.get("max_tokens", asked.get("max_completion_tokens"))
    decoding = Decoding(
        max_tokens=Decoding().max_tokens if longest is None else longest,
        temperature=asked.get("temperature"),
        top_logprobs=asked.get("top_logprobs", 0) if asked.get("logprobs") else 0,
        seed=asked.get("seed"),
    )
    return Prompt(tuple(messages), decoding)


def completion_of(reply: Reply) -> bytes:
    """A reply on the wire, nothing added and nothing lost."""
    said = {"reasoning_content": reply.reasoning, "refusal": reply.refusal}
    return completion(
        reply.text,
        reply.logprobs,
        (reply.tokens_in, reply.tokens_out),
        reply.finish,
        **{name: text for name, text in said.items() if text is not None},
    )
