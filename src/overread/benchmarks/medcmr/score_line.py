"""One score of a judge's line: a number of its grid, or why it is none."""

from __future__ import annotations

import re
from typing import Final

from overread.benchmarks.medcmr.components import GRIDS, LINES, grid_words

__all__ = ["is_form", "score_in", "shortened"]

_NUMBER: Final = re.compile(
    r"[\[({<*_`\s]{0,8}(?P<number>[+-]?(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}))(?![^\W_])[\])}>*_`\s]{0,8}"
    r"(?P<rest>.*)"
)
_SCALE: Final = re.compile(
    r"[\[(\s]{0,4}(?:/|(?:out\s+)?of\b)\s{0,4}(?P<most>\d{1,9}(?:\.\d{1,9})?)"
    r"(?!\w|\.\d)[\])}*_`\s]{0,8}(?P<rest>.*)",
    re.IGNORECASE,
)
# What may set words off behind a number; a bare word may not, as in "3 or 4".
_BREAK: Final = re.compile(r"(?:[.,;:!(\[<|]|--?\s|[–—]|//|#)[\s*_`(–—-]{0,8}(?P<words>.*)")
_OTHER: Final = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,9})?(?![\w.]*\d)")
_NONE: Final = re.compile(
    r"[\s\[({*_`-]*(?:n\s?/\s?a|none|null|nan|nil|not applicable|unknown|-+)[\s\])}*_`.]*",
    re.IGNORECASE,
)
# The form itself, said again: the scale in the place of a score.
_FORM: Final = re.compile(
    r"[\[({<*_`\s]*(?:0\s*(?:-|–|\.\.+|…|to)\s*[14]"
    r"|0(?:\s*(?:[|/,]|,?\s*or)\s*(?:0\.5|[1-4]))+|score|number)[\])}>*_`\s.]*",
    re.IGNORECASE,
)
_SHORT: Final = 40


def is_form(words: str) -> bool:
    """Whether a line says its scale again instead of a score."""
    return _FORM.fullmatch(words) is not None


def score_in(part: str, words: str) -> tuple[float | None, str]:
    """The score of one line; else why not; neither where the line holds words alone."""
    name = LINES[part]
    if _NONE.fullmatch(words):
        return None, f'{name} is no number: "{shortened(words)}"'
    found = _NUMBER.fullmatch(words)
    if found is None:
        doubtful = re.match(r"[\[({<*_`\s+.-]{0,8}\d", words)
        return None, f'{name} is no plain number: "{shortened(words)}"' if doubtful else ""
    rest = found["rest"]
    scale = _SCALE.fullmatch(rest)
    if scale is not None:
        if float(scale["most"]) != GRIDS[part][-1]:
            return None, f'{name} is on another scale: "{shortened(words)}"'
        rest = scale["rest"]
    score, fault = _on_grid(part, float(found["number"]))
    return (None, fault) if fault else _alone(part, score, rest, words)


def _alone(part: str, score: float, rest: str, words: str) -> tuple[float | None, str]:
    """The score, if what follows it is words set off from it, with no other score among them."""
    if not rest.strip(" \t*_`.\\"):
        return score, ""
    set_off = _BREAK.fullmatch(rest)
    if set_off is None or set_off["words"][:1].isdigit():
        return None, f'{LINES[part]} is no plain number: "{shortened(words)}"'
    others = {float(one) for one in _OTHER.findall(set_off["words"])} - {score}
    if others & set(GRIDS[part]):
        return None, f'{LINES[part]} has two numbers: "{shortened(words)}"'
    return score, ""


def _on_grid(part: str, number: float) -> tuple[float, str]:
    grid = GRIDS[part]
    if number in grid:
        return (int(number) if number == int(number) else number), ""
    listed = ", ".join(grid_words(part))
    if not grid[0] <= number <= grid[-1]:
        return number, f"{LINES[part]} is {number:g}, out of scale; it is one of {listed}"
    return number, f"{LINES[part]} is {number:g}, off the grid; it is one of {listed}"


def shortened(words: str) -> str:
    """The beginning of what was said, on one line."""
    plain = " ".join(words[: 4 * _SHORT].split())
    return plain if len(plain) <= _SHORT else plain[:_SHORT] + "…"
