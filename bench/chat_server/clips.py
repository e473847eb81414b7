"""Clips on the wire: how many frames arrived, and what a server makes of them.

A video is decoded as a server would decode it, so that a test can count the frames that really
travelled, whichever way they did.
"""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overread.case import Prompt, ShownClip

_VIDEO = re.compile(rb"data:video/[\w.+-]+;base64,([A-Za-z0-9+/=]*)")


def count_frames(body: bytes) -> int:
    """Frames in a chat body: its pictures, and every frame of its videos that can be decoded."""
    videos = (base64.b64decode(found[1]) for found in _VIDEO.finditer(body))
    return body.count(b"data:image/") + sum(map(_length, videos))


def _length(video: bytes) -> int:
    import av

    count = 0
    try:
        with av.open(io.BytesIO(video)) as container:
            for _ in container.decode(video=0):
                count += 1
    except (av.FFmpegError, IndexError):
        pass  # what came before the damage did arrive
    return count


def frames_of(video: bytes) -> ShownClip:
    """A video's frames as pictures. Raises ValueError where it cannot be decoded."""
    import av

    from overread.case import Shown, ShownClip

    shown = []
    try:
        with av.open(io.BytesIO(video)) as container:
            for frame in container.decode(video=0):
                file = io.BytesIO()
                frame.to_image().save(file, "PNG")
                shown.append(Shown("image/png", file.getvalue()))
    except (av.FFmpegError, IndexError) as error:
        raise ValueError(f"the video cannot be decoded: {error}") from None
    if not shown:
        raise ValueError("the video has no frames")
    return ShownClip(tuple(shown), len(shown), "images")


def thinned(prompt: Prompt, most: int) -> Prompt:
    """The prompt with at most so many of its frames, evenly spread, and not a word about it."""
    from overread.case import Prompt, PromptMessage, Shown

    frames = prompt.pictures
    last = len(frames) - 1
    spread = (round(at * last / max(1, most - 1)) for at in range(most))
    kept = set(range(len(frames)) if len(frames) <= most else spread)
    messages, number = [], 0
    for message in prompt.messages:
        parts: list[str | Shown] = []
        for part in message.parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            for shown in (part,) if isinstance(part, Shown) else part.frames:
                if number in kept:
                    parts.append(shown)
                number += 1
        messages.append(PromptMessage(message.role, tuple(parts)))
    return Prompt(tuple(messages), prompt.decoding)
