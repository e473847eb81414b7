"""Pictures of random digits, and the trials that show them.

Each picture is shown twice, so that what a reader's replies move by from one picture to another can
be set against what they move by on a repeat; and the question is put once without any picture.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from random import Random

from overread.case import Clip, Decoding, Inline, Message, Picture, Request, Trial

PICTURES = 12
DIGITS = 4
QUESTION = (
    f"The picture shows {DIGITS} digits in a row. Which are they? "
    f"Answer with the {DIGITS} digits only."
)


def digits_of(seed: int) -> list[str]:
    """The digits of every picture, drawn with the seed."""
    draw = Random(f"sight:{seed}")
    return ["".join(draw.choice("0123456789") for _ in range(DIGITS)) for _ in range(PICTURES)]


def digit_picture(digits: str, size: int = 336) -> bytes:
    """A PNG with large black digits on white."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (size, size), 255)
    font = ImageFont.load_default(size=size // 3)
    pen = ImageDraw.Draw(image)
    left, top, right, bottom = pen.textbbox((0, 0), digits, font=font)
    place = ((size - right - left) / 2, (size - bottom - top) / 2)
    pen.text(place, digits, fill=0, font=font)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def ask_for_digits(seed: int, *, reasoning: bool = False) -> Iterator[Trial]:
    """Every trial of a check: pictures twice each, then the bare question twice."""
    decoding = Decoding(max_tokens=2048 if reasoning else 16, temperature=0.0, top_logprobs=5)
    shown = [Picture(Inline(digit_picture(digits))) for digits in digits_of(seed)]
    for repeat in range(2):
        for number, picture in enumerate(shown):
            request = Request((Message("user", (picture, QUESTION)),), decoding)
            yield Trial(f"{number:02}", {"picture": number}, request, repeat)
        bare = Request((Message("user", (QUESTION,)),), decoding)
        yield Trial("bare", {"picture": "none"}, bare, repeat)


# ---------------------- Clips whose frames each show a random digit, and the trials that show them
#
# Each clip is shown twice, as pictures are. Half of a clip, its first frame alone and the bare
# question are asked besides, so that prompt tokens tell how many frames were counted.

CLIPS = 5
# As many as a window of the published study holds, and more than servers take by default (32).
FRAMES = 40
HALF = FRAMES // 2
FRAMES_QUESTION = (
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
            request = Request((Message("user", (clip, FRAMES_QUESTION)),), decoding)
            yield Trial(f"{number:02}", {"clip": number}, request, repeat)
    for name, frames in (("half", HALF), ("one", 1)):
        part = Clip(sources[0], tuple(range(frames)))
        request = Request((Message("user", (part, FRAMES_QUESTION)),), decoding)
        yield Trial(name, {"clip": name}, request)
    yield Trial("none", {"clip": "none"}, Request((Message("user", (FRAMES_QUESTION,)),), decoding))
