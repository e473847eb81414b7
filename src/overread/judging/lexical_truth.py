"""What a reply says to a yes-or-no question: true, false, or nothing that can be told."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NEGATED", "truth_of", "without_json"]

_HOLDS: Final = frozenset({"true", "yes", "correct", "right"})
# "No" and "right" are often no answer ("no effusion on the right"), nor is "the correct side".
_ENDS: Final = (
    r"(?=\W*$|\s*[.,;:!?)*_\"—–-]|\s+(?:because|since|as|that|and|but|for|given|here|based|due)\b)"
)
_TRUTH: Final = re.compile(
    rf"\b(true|false|untrue|yes)\b|\b(correct|incorrect|wrong)\b{_ENDS}"
    rf"|(?<!\bthe )\b(right)\b{_ENDS}|(?:^|(?<=[.,;:!?] ))\W{{0,4}}(no)\b(?=\W*$|\s*[.,;:!?*_—–-])",
    re.IGNORECASE,
)
_BOTH: Final = re.compile(r"\b(?:true\s+or\s+false|yes\s+or\s+no)\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"[.,;:!?\n]|\b(?:but|however|so|therefore|thus|hence)\b", re.IGNORECASE
)
_FILLERS: Final = (
    "be|at|all|really|quite|entirely|completely|necessarily|actually|in|fact|a|an|the|to|that|it|"
    "this|think|believe|say|agree|consider|considered|case|statement|claim|answer|option|choice|is|"
    "was|likely|as|either"
)
NEGATED: Final = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|rather than|instead of|excluding|except)\b|n['’]t\b)"
    rf"(?:\s+(?:{_FILLERS})\b)*\s*\W?$",
    re.IGNORECASE,
)
"""Found in the words before a thing, it says that the thing is denied."""
_UNSURE: Final = re.compile(
    r"\b(?:unsure|uncertain|unclear|unknown|whether)\b"
    r"|(?:\b(?:not|cannot)|n['’]t)(?:\s+(?:be|entirely|quite|completely|really))*"
    r"\s+(?:sure|certain|clear|tell|say|determine|know|decide|judge|possible)\b(?!\s+that)",
    re.IGNORECASE,
)
_REACH: Final = 120  # characters before a word in which it may be denied
_OBJECT: Final = re.compile(r"(?<![\w\\])\{\s*[\"'“]?\w{1,40}[\"'”]?\s*:")
_BRACE: Final = re.compile(r"[{}]")
_PAIR: Final = re.compile(
    r"[\"“']\w{1,40}[\"”']\s*:\s*[\"“']?(?:true|false|yes|no)\b", re.IGNORECASE
)


def truth_of(text: str) -> bool | None:
    """What a text answers: its first word if that is an answer, else what all such words say.

    >>> truth_of("It isn't true"), truth_of("I am not sure whether it is true")
    (False, None)
    """
    text = _BOTH.sub("", text)
    said: list[bool] = []
    for found in _TRUTH.finditer(text):
        before = text[max(0, found.start() - _REACH) : found.start()]
        clause = _CLAUSE.split(before)[-1]
        if _UNSURE.search(clause):
            continue
        word = next(filter(None, found.groups())).casefold()
        holds = (word in _HOLDS) != bool(NEGATED.search(clause))
        if not text[: found.start()].strip("*_`\"'( \t\n"):
            return holds
        said.append(holds)
    return said[0] if len(set(said)) == 1 else None


def without_json(text: str) -> str:
    """A text without what looks like a JSON object, closed or not: a verdict is no answer."""
    kept, at = [], 0
    while (start := _OBJECT.search(text, at)) is not None:
        kept.append(text[at : start.start()])
        depth, at = 0, len(text)
        for brace in _BRACE.finditer(text, start.start()):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                at = brace.end()
                break
    return _PAIR.sub(" ", " ".join([*kept, text[at:]])) if kept else _PAIR.sub(" ", text)
