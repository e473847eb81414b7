"""A loopback server that takes videos as a stock vLLM with a Qwen3-VL does, without a model.

An MP4 is sampled to 32 frames, the processor takes four of those, and both do as the fields of a
request say, where the server honours them. What is left is said and counted in tokens.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Literal, NamedTuple

from overread.case import Shown
from support.answering import raw_server, response

Sampling = Literal["spread", "cut"]


class Stock(NamedTuple):
    """Where it listens, and the bodies it was sent."""

    base_url: str
    bodies: list[dict[str, Any]]


@contextmanager
def stock_vllm(
    look: Callable[[Shown], str],
    *,
    sampling: Sampling = "spread",
    honours: bool = True,
    counts: bool = True,
) -> Iterator[Stock]:
    """`look` makes of a video a character for each of its frames."""
    bodies: list[dict[str, Any]] = []

    def answer(request: bytes, wire: BinaryIO) -> None:
        if not request.startswith(b"POST"):
            return
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        bodies.append(body)
        heard = body if honours else {"mm_processor_kwargs": {"do_sample_frames": False}}
        kept = "".join(kept_of(heard, look(video), sampling) for video in videos_in(body))
        said = {"choices": [{"message": {"content": f"FRAMES={len(kept)} DIGITS={kept}"}}]}
        usage = {"usage": {"prompt_tokens": 30 + 8 * len(kept)}} if counts else {}
        wire.write(response(json.dumps(said | usage).encode()))

    with raw_server(answer) as url:
        yield Stock(url, bodies)


def videos_in(body: dict[str, Any]) -> list[Shown]:
    content = body["messages"][-1]["content"]
    urls = [p["video_url"]["url"] for p in content if isinstance(p, dict) and "video_url" in p]
    return [Shown("video/mp4", base64.b64decode(url.partition(",")[2])) for url in urls]


def kept_of(body: dict[str, Any], digits: str, sampling: Sampling) -> str:
    most = body.get("media_io_kwargs", {}).get("video", {}).get("num_frames", 32)
    if 0 < most < len(digits):
        ats = range(most) if sampling == "cut" else [
            round(at * (len(digits) - 1) / (most - 1)) for at in range(most)
        ]  # fmt: skip
        digits = "".join(digits[at] for at in ats)
    if body.get("mm_processor_kwargs", {}).get("do_sample_frames", True) and len(digits) > 4:
        digits = "".join(digits[round(at * (len(digits) - 1) / 3)] for at in range(4))
    return digits
