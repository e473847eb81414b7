"""How wide words are, in a font of Arial's widths; and their writing into a document.

The widths are Helvetica's, which Arial and Liberation Sans share: thousandths of the size for the
signs from space to tilde.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from unicodedata import east_asian_width

FONT: Final = "Arial, Liberation Sans, Helvetica, sans-serif"
LINE: Final = 2  # between two lines, beside the size of the font
_FIRST: Final = 32
_WIDTHS: Final = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_OTHERS: Final = {"…": 1000, "−": 584, "–": 556, "—": 1000, "●": 604, "○": 604, "\u2002": 500,
                  "\u2003": 1000}  # fmt: skip
_ANY: Final = 600
_WIDE: Final = 1000
_BOLD: Final = 1.06


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Of one line, in pixels."""
    total = 0
    for sign in text:
        place = ord(sign) - _FIRST
        if 0 <= place < len(_WIDTHS):
            total += _WIDTHS[place]
        elif sign in _OTHERS:
            total += _OTHERS[sign]
        else:
            total += _WIDE if east_asian_width(sign) in "WF" else _ANY
    return total * size / 1000 * (_BOLD if bold else 1.0)


def lines_of(value: object) -> list[str]:
    """What is written, line by line."""
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    return [written(value)]


def written(value: object) -> str:
    """A value as words: numbers as JavaScript writes them, nothing where there is none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    return str(value)


def spoken(value: object) -> str:
    """A value as it is read out: a number to twelve digits, below 0 with a minus sign."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.12g}".replace("-", "\u2212")
    return written(value)


# Signs that no XML document may hold.
_NO_XML: Final = dict.fromkeys(
    [*(n for n in range(32) if n not in (9, 10, 13)), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF],
    "\ufffd",
)


def escaped(text: str) -> str:
    """Text between tags, or within the quotes of an attribute."""
    plain = text.translate(_NO_XML).replace("&", "&amp;").replace("<", "&lt;")
    return plain.replace(">", "&gt;").replace('"', "&quot;")


def rounded(number: float) -> str:
    """A coordinate, to a thousandth of a pixel."""
    text = f"{number:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def tag(name: str, attributes: Iterable[tuple[str, object]], inside: str | None = None) -> str:
    """An element; attributes that are None are not there."""
    parts = "".join(
        f' {key}="{rounded(value) if isinstance(value, float) else escaped(str(value))}"'
        for key, value in attributes
        if value is not None
    )
    return f"<{name}{parts}/>" if inside is None else f"<{name}{parts}>{inside}</{name}>"
