"""The options' probabilities, from the alternatives of a reply's first token."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from overread.benchmarks.medcmr.cases import LETTERS

__all__ = ["letter_probabilities", "most_probable"]

# "A", " A", "▁A", "ĠA", "(A", "A)", "**A" …: a capital and at most marks around it. Small letters
# are words ("a", "i"), so they are left out.
_MARKS: Final = r"[\s▁ĠĊ*_`\"'(\[{<$（【「『]{0,8}"
_ENDS: Final = r"[\s▁ĠĊ*_`\"')\]}>$.:,;）】」』。．：，]{0,8}"
_TOKEN: Final = re.compile(rf"{_MARKS}([A-ZＡ-Ｚ]){_ENDS}")
# Less says that the reply does not begin with its letter, but with words ("The answer is").
_LEAST_MASS: Final = 0.5
_ROUNDING: Final = 1e-9
_FULL_WIDTH: Final = ord("Ａ") - ord("A")


def letter_probabilities(
    alternatives: Sequence[tuple[str, float]] | None, n_options: int
) -> tuple[float, ...] | None:
    """The probability of each letter shown, normalised over them; None where there is none to tell.

    A letter's mass is that of all its spellings among the alternatives of the first token. There
    are no probabilities where the letters have less than half of the mass together, or where the
    likeliest token is no letter that was shown: the choice is then not made by this token.

    >>> letter_probabilities([("A", -1.0), (" A", -1.0), ("(B", -1.0), ("The", -3.0)], 3)
    (0.666..., 0.333..., 0.0)
    """
    mass: dict[str, list[float]] = {letter: [] for letter in LETTERS[:n_options]}
    likeliest = other = 0.0
    for token, value in alternatives or ():
        if value != value:
            continue
        # A log-probability is at most 0; a server that says more, or NaN, must not break this.
        share, letter = math.exp(min(value, 0.0)), _letter(token)
        if letter in mass:
            mass[letter].append(share)
            likeliest = max(likeliest, share)
        else:
            other = max(other, share)
    sums = [math.fsum(parts) for parts in mass.values()]
    total = math.fsum(sums)
    if other > likeliest or total < _LEAST_MASS - _ROUNDING:
        return None
    return tuple(part / total for part in sums)


def _letter(token: str) -> str:
    found = _TOKEN.fullmatch(token)
    if found is None:
        return ""
    return found[1] if found[1] <= "Z" else chr(ord(found[1]) - _FULL_WIDTH)


def most_probable(probabilities: Sequence[float]) -> int | None:
    """The place of the largest; None where two are equally large: that decides nothing.

    The first of equals would favour the letter A.
    """
    largest = max(probabilities)
    places = [place for place, value in enumerate(probabilities) if value == largest]
    return places[0] if len(places) == 1 else None
