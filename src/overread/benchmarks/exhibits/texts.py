"""Other people's words, as they are shown: cut, and without what would act on the text around."""

from __future__ import annotations

from typing import Final

from overread.case import printable

__all__ = ["CUT", "cut"]

CUT: Final = 240
"""Characters of a text that are shown; of a question twice as many."""


def cut(text: str, most: int = CUT) -> str:
    """Text on one line, without characters that do not print, and not too long.

    >>> cut("a\\u202eb\\n  c"), cut("abcdef", 4)
    ('a\\ufffdb c', 'abcd…')
    """
    plain = " ".join(text[: 8 * most].split())
    shown = printable(plain)
    return shown if len(shown) <= most and len(text) <= 8 * most else f"{shown[:most]}…"
