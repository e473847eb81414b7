"""Broken JSON mended by json-repair, on a leash.

The package is a parser with look-ahead: quotes and brackets without end cost it minutes and deep
nests its stack. It gets a text that counts how often it is looked at, and is stopped by count and
not by the clock, so that the same text is always read the same way.
"""

from __future__ import annotations

import re
from typing import Any, Final, SupportsIndex

__all__ = ["ESCAPES", "LONGEST_MENDED", "LOOKS", "repaired"]

LONGEST_MENDED: Final = 24_000
"""Characters of broken JSON at most; a verdict of 4096 tokens has about 20,000."""
LOOKS: Final = 10
"""How often each character may be looked at on average; broken verdicts need about two."""
ESCAPES: Final = 8_000_000
"""Backslashes times characters at most: for each escape json-repair walks the string again."""

_BRACKETS: Final = re.compile(r"[\[\](){}]")


class _TooMany(Exception):
    pass


class _Watched(str):
    """Text that raises when it has been looked at too often; its parts share the count."""

    left: list[int]

    def of(self, left: list[int]) -> _Watched:
        self.left = left
        return self

    def __getitem__(self, at: SupportsIndex | slice) -> str:
        if isinstance(at, slice):
            part = str.__getitem__(self, at)
            self._look(1 + len(part) // 16)
            return _Watched(part).of(self.left)
        self._look(1)
        return str.__getitem__(self, at)

    def __add__(self, other: str) -> str:
        self._look(1 + len(other) // 16)
        return _Watched(str.__add__(self, other)).of(self.left)

    def _look(self, count: int) -> None:
        self.left[0] -= count
        if self.left[0] < 0:
            raise _TooMany


def repaired(text: str, deepest: int) -> Any | None:
    """What json-repair makes of a text: an object or an array, or None."""
    size = len(text)
    if size > LONGEST_MENDED or text.count("\\") * size > ESCAPES or _depth(text) > deepest:
        return None
    import json_repair

    try:
        value: Any = json_repair.loads(
            _Watched(text).of([LOOKS * (size + 1000)]), skip_json_loads=True
        )
    # Whatever a parser of broken text raises (recursion, indices), the text is not mended.
    except (_TooMany, RecursionError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return _thawed(value) if isinstance(value, dict | list) and value else None


def _depth(text: str) -> int:
    """The deepest nest of brackets, those in strings counted too."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        depth = max(0, depth + (1 if match[0] in "[({" else -1))
        deepest = max(deepest, depth)
    return deepest


def _thawed(value: Any) -> Any:
    """Plain strings in place of watched ones."""
    if isinstance(value, dict):
        return {str.__str__(key): _thawed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_thawed(part) for part in value]
    return "".join(value) if isinstance(value, str) else value
