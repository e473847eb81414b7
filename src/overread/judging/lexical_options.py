"""Options of a question, by letter or number, and those that an answer names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from overread.judging.lexical_truth import NEGATED
from overread.judging.lexicon import content

__all__ = ["chosen", "options_of"]

_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
# How options may be labelled, and the place of a label in its row.
_STYLES: Final[tuple[tuple[str, Callable[[str], int]], ...]] = (
    ("[A-Z]", lambda label: ord(label) - 64),
    ("[a-z]", lambda label: ord(label) - 96),
    (r"\d{1,2}", int),
    ("[IVX]{1,4}", lambda label: _ROMAN.index(label) + 1 if label in _ROMAN else 0),
    ("[ivx]{1,4}", lambda label: _ROMAN.index(label.upper()) + 1 if label.upper() in _ROMAN else 0),
)
_REACH: Final = 120


def options_of(question: str) -> dict[str, str]:
    """The options a question offers, by letter (a capital) or number; fewer than two are none.

    >>> options_of("Which organ? 1. Liver 2. Spleen")
    {'1': 'Liver', '2': 'Spleen'}
    """
    for label, place in _STYLES:
        pattern = (
            rf"(?:^|\n|[ \t])\(?({label})[.):][ \t]*([^\n]*?)"
            rf"(?=[ \t]+\(?{label}[.):][ \t]|\n|$)"
        )
        found = _row(re.findall(pattern, question), place)
        if len(found) > 1:
            return found
    return {}


def _row(found: Iterable[tuple[str, str]], place: Callable[[str], int]) -> dict[str, str]:
    """Those whose labels follow one another from the first on; one may be missing."""
    row: dict[str, str] = {}
    last = 0
    for label, text in found:
        if last < place(label) <= last + 2:
            last = place(label)
            row[label.upper()] = text.strip()
    return row


def chosen(answer: str, options: dict[str, str]) -> frozenset[str]:
    """The labels an answer names, by themselves or by what the options say."""
    bare = answer.strip()
    labels = "|".join(sorted(options, key=len, reverse=True))
    letters = all(len(label) == 1 and label.isalpha() for label in options)
    between = r"(?:\s|,|;|/|&|\+|\band\b)" + ("*" if letters else "+")
    alone = rf"\(?(?:{labels})\)?(?:{between}\(?(?:{labels})\)?)*[.)]?"
    if len(bare) <= 200 and re.fullmatch(alone, bare, re.IGNORECASE):
        return frozenset(re.findall(labels, re.sub(r"\band\b", "", bare.lower()).upper()))
    if not letters:
        # A number before the last line may count steps, so that words come first.
        return _worded(bare, options) or _labelled(bare, labels, r"(?:^|(?<=[;,]\s))")
    return _labelled(bare, labels, r"(?<![A-Za-z])") or _worded(bare, options)


def _labelled(bare: str, labels: str, start: str) -> frozenset[str]:
    pattern = re.compile(
        rf"{start}\(?({labels}|(?i:{labels})(?=\)))[.):](?=\s|$)"
        rf"|\b[Oo]ption\s+\(?((?i:{labels}))\b|\(((?i:{labels}))\)"
    )
    named = []
    for found in pattern.finditer(bare):
        before = bare[max(0, found.start() - _REACH) : found.start()]
        if not NEGATED.search(before):
            named.append(next(filter(None, found.groups())).upper())
    return frozenset(named)


def _worded(bare: str, options: dict[str, str]) -> frozenset[str]:
    said = content(bare)
    named = {label: content(text) for label, text in options.items() if content(text)}
    equal = [label for label, words in named.items() if words == said]
    if equal:
        return frozenset(equal[:1])
    held = {label for label, words in named.items() if words <= said}
    # An option whose words are all in another's that is named too was not meant.
    return frozenset(
        label for label in held if not any(named[label] < named[other] for other in held)
    )
