"""Clips whose frames each show a random digit, and the trials that show them.

Each clip is shown twice, as pictures are. Half of a clip, its first frame alone and the bare
question are asked besides, so that prompt tokens tell how many frames were counted.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from random import Random

from overread.case import Clip, Decoding, Inline, Message, Request, Trial
from overread.sight.digits import digit_picture

__all__ = ["CLIPS", "FRAMES", "HALF", "QUESTION", "ask_for_frames", "digit_clip", "frames_of"]

CLIPS = 5
# As many as a window of the published study holds, and more than servers take by default (32).
FRAMES = 40
HALF = FRAMES // 2
QUESTION = (
    "These are the frames of a clip in order. Each frame shows one digit. How many frames are "
    "there, and which digit does each of them show? Answer in one line, exactly as: "
    "FRAMES=<number> DIGITS=<the digits of all frames in order>"
)


def frames_of(seed: int) -> list[str]:
    """The digits of every clip, one a frame, drawn with the seed."""
    draw = Random(f"sight clips:{seed}")
    return ["".join(draw.choice("0123456789") for _ in range(FRAMES)) for _ in range(CLIPS)]


def digit_clip(digits: str, size: int = 112) -> bytes:
    """A lossless video, one large digit a frame."""
    import numpy as np
    from PIL import Image

    from overread.imaging import lossless_clip

    drawn = {
        digit: np.asarray(Image.open(io.BytesIO(digit_picture(digit, size))))
        for digit in set(digits)
    }
    return lossless_clip([drawn[digit] for digit in digits])


def ask_for_frames(seed: int, *, reasoning: bool = False) -> Iterator[Trial]:
    """Every trial of a check: clips twice each; then half a clip, a frame, and no clip."""
    tokens = 4096 if reasoning else 3 * FRAMES + 32
    decoding = Decoding(max_tokens=tokens, temperature=0.0, top_logprobs=5)
    sources = [Inline(digit_clip(digits)) for digits in frames_of(seed)]
    whole = [Clip(source, tuple(range(FRAMES))) for source in sources]
    for repeat in range(2):
        for number, clip in enumerate(whole):
            request = Request((Message("user", (clip, QUESTION)),), decoding)
            yield Trial(f"{number:02}", {"clip": number}, request, repeat)
    for name, frames in (("half", HALF), ("one", 1)):
        part = Clip(sources[0], tuple(range(frames)))
        request = Request((Message("user", (part, QUESTION)),), decoding)
        yield Trial(name, {"clip": name}, request)
    yield Trial("none", {"clip": "none"}, Request((Message("user", (QUESTION,)),), decoding))
