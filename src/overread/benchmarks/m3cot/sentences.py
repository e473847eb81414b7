"""Half of a text, cut between two sentences."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["first_half", "sentence_ends"]

# A line's end, or a mark of the end of a sentence with what closes it and the blanks behind it.
# The Chinese and Japanese marks need no blank.
_END: Final = re.compile(r"[\r\n]\s*|[.!?…][\"'”’)\]*_]*(?:\s+|$)|[。！？]+[”’）]*\s*")
_BREAK: Final = re.compile(r"[\r\n]")
# What ends in a full stop and no sentence: a list's mark (`2.`, `A.`), an abbreviation.
_NO_END: Final = re.compile(
    r"(?:^|[\s(\[*_\"'“‘])(?:\d{1,3}|[A-Za-z]|e\.g|i\.e|vs|cf|ca|approx|Dr|Mr|Mrs|Prof|Fig|Figs)$"
)


def sentence_ends(text: str) -> list[int]:
    """Where each sentence of a text ends, blanks behind it included; the last is the text's end.

    A line break ends one, and so does a full stop, exclamation or question mark before a blank. A
    list's mark belongs to what follows it.
    """
    ends: list[int] = []
    start = 0
    for found in _END.finditer(text):
        before = text[max(start, found.start() - 12) : found.start()]
        stop = found.group()
        if stop[0] == "." and not _BREAK.search(stop) and _NO_END.search(before):
            continue
        if text[start : found.end()].strip():
            ends.append(found.end())
            start = found.end()
    if text[start:].strip():
        ends.append(len(text))
    elif ends:
        ends[-1] = len(text)
    return ends


def first_half(text: str) -> str | None:
    """The first half of a text's sentences, the smaller one; None where there are fewer than two.

    It is what the text begins with, to the letter.
    """
    ends = sentence_ends(text)
    return text[: ends[len(ends) // 2 - 1]].rstrip() if len(ends) >= 2 else None
