"""A secret that does not show itself, and that takes itself out of what others say."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from overread.case import Reply

_MASK = "****"
# So many characters of a key in a row are hidden, wherever a server or a library cut it.
_FRAGMENT = 8
_ANCHOR = 4
# Shorter values stand for "none", "x", "EMPTY": hiding them would only spoil what is said.
_SHORTEST = 4
_LONGEST_WORD = 15


class Secret:
    """Holds a key; `repr`, `str` and formatting never reveal it. Call `.reveal()` to use it."""

    __slots__ = ("_anchors", "_forms", "_grams", "_value", "_word")

    def __init__(self, value: str) -> None:
        self._value = value
        # What servers that need no key are given is a word ("EMPTY", "placeholder"), and a reply
        # may hold the word for its own reasons.
        self._word = len(value) < _FRAGMENT or (value.isalpha() and len(value) <= _LONGEST_WORD)
        forms = set(map(self._folded, _spelt(value))) if len(value) >= _SHORTEST else set()
        self._forms = sorted(forms, key=len, reverse=True)
        self._grams = tuple({gram for form in forms for gram in _windows(form, _FRAGMENT, 1)})
        # Each window of 8 holds one of the windows of 4 that begin at every fifth character.
        step = _FRAGMENT - _ANCHOR + 1
        self._anchors = tuple({part for form in forms for part in _windows(form, _ANCHOR, step)})

    def reveal(self) -> str:
        return self._value

    def hide(self, text: str) -> str:
        """The text without the key or eight characters of it, in any spelling known to `_spelt`.

        Small letters stand for large ones and the other way round: some servers fold a header.

        For whole texts: one that was cut before may end in fewer characters of the key.
        """
        if not self._may_hold(text):
            return text
        # Whole ones first, which is quick.
        flags = re.NOFLAG if self._word else re.IGNORECASE
        text = re.sub("|".join(map(re.escape, self._forms)), _MASK, text, flags=flags)
        if not self._may_hold(text):
            return text
        folded = self._folded(text)
        marked: list[tuple[int, int]] = []
        for gram in self._grams:
            at = folded.find(gram)
            while at >= 0:
                marked.append((at, at + len(gram)))
                at = folded.find(gram, at + 1)
        pieces: list[str] = []
        end = 0
        for begins, ends in sorted(marked):
            if begins > end or not pieces:
                pieces += [text[end:begins], _MASK]
            end = max(end, ends)
        return "".join([*pieces, text[end:]])

    def _folded(self, text: str) -> str:
        """In small letters, each where it was; a word in place of a key stays as it is spelt."""
        if self._word:
            return text
        small = text.lower()
        # One letter becomes two in small letters, and what follows would be cut elsewhere.
        return small if len(small) == len(text) else text.replace("İ", "I").lower()

    def _may_hold(self, text: str) -> bool:
        text = self._folded(text)
        for anchor in self._anchors:  # noqa: SIM110 - a loop is quicker than any()
            if anchor in text:
                return True
        return False

    def hidden(self, reply: Reply) -> Reply:
        """The reply without the key, in whichever of its fields a server repeated it."""
        if self._word:
            return reply
        fields = msgspec.structs.asdict(reply)
        if not self._may_hold("\0".join(_strings(fields.values()))):
            return reply
        return Reply(**{name: self._hidden(value) for name, value in fields.items()})

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.hide(value)
        return tuple(map(self._hidden, value)) if isinstance(value, tuple) else value

    def __repr__(self) -> str:
        return "Secret(****)"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return repr(self)

    def __reduce__(self) -> str:
        raise TypeError("a secret is written nowhere")


def _strings(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from _strings(value)


def _windows(form: str, width: int, step: int) -> list[str]:
    if len(form) <= width:
        return [form]
    return [form[at : at + width] for at in range(0, len(form) - width + 1, step)]


def _spelt(key: str) -> Iterator[str]:
    """The key as servers, libraries and proxies write it."""
    raw = key.encode()
    yield key
    for escaped in (json.dumps(key), json.dumps(key, ensure_ascii=False)):
        yield escaped[1:-1]
        yield escaped[1:-1].replace("/", "\\/")
    yield repr(key)[1:-1]
    yield repr(raw)[2:-1]
    yield html.escape(key)
    for percent in (quote(key), quote(key, safe=""), quote_plus(key)):
        yield percent
        yield re.sub("%..", lambda found: found[0].lower(), percent)
    # In base64 (`Basic …`) the characters depend on where in a group of three the key begins.
    # What its neighbours decide is left away: two or three characters at either end.
    for shift in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            whole = encode(bytes(shift) + raw).rstrip(b"=").decode()
            core = whole[(0, 2, 3)[shift] : len(whole) - ((shift + len(raw)) % 3 > 0)]
            if len(core) >= _FRAGMENT:
                yield core
