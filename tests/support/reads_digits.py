"""A reader of digits that really reads them: it compares the picture with drawings of its own."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.case import Limits, Prompt, Reply, Traits
from overread.sight import DIGITS, digit_picture


class Reads:
    """Says the digits that are drawn; without a picture it says so."""

    name = identity = "reads"
    traits, limits = Traits(), Limits()

    async def reply(self, prompt: Prompt) -> Reply:
        if not prompt.pictures:
            return Reply("I see no picture.")
        return Reply("They are " + " ".join(read(prompt.pictures[0].data)) + ".")

    async def close(self) -> None: ...


def read(png: bytes) -> str:
    """Digit by digit: of ten drawings that differ in one place, the one nearest to the picture."""
    seen = pixels(png)
    said = "0" * DIGITS
    for _ in range(3):  # a digit's width moves its neighbours, so look again
        for place in range(DIGITS):
            tries = [said[:place] + digit + said[place + 1 :] for digit in "0123456789"]
            said = min(tries, key=lambda digits: float(np.abs(drawn(digits) - seen).sum()))
    return said


@cache
def drawn(digits: str) -> NDArray[np.float64]:
    return pixels(digit_picture(digits))


def pixels(png: bytes) -> NDArray[np.float64]:
    return np.asarray(Image.open(io.BytesIO(png)).convert("L"), dtype=np.float64)
