"""Pictures of random digits, and the trials that show them.

Each picture is shown twice, so that what a reader's replies move by from one picture to another can
be set against what they move by on a repeat; and the question is put once without any picture.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from random import Random

from overread.case import Decoding, Inline, Message, Picture, Request, Trial

__all__ = ["DIGITS", "PICTURES", "QUESTION", "ask_for_digits", "digit_picture", "digits_of"]

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
