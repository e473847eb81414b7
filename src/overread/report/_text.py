"""Text of models and data sets as it may stand on a page: never markup, nothing that hides itself.

What changes the direction of text, or has no shape, is named instead: ⟨U+202E⟩.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any, Final

import msgspec

# Controls but tab and line feed, changes of direction, marks without width, halves of characters.
# Joiners are left alone: Persian and Indic words are written with them. report.js has the same.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff]"
)
_HALVES: Final = re.compile("[\ud800-\udfff]")
_IN_A_SCRIPT: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def shown(text: str) -> str:
    """Text for an element or a quoted attribute."""
    plain = text.replace("\r\n", "\n")
    return escape(_HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", plain))


def as_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    written = msgspec.json.encode(_whole(value)).decode()
    return re.sub("[<>&\u2028\u2029]", lambda found: _IN_A_SCRIPT[found[0]], written)


def _whole(value: Any) -> Any:
    """The same without halves of characters, which no encoding has."""
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(one) for one in value]
    return value
