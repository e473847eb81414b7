"""Numbers and lists in running text: see `overread.benchmarks.sentences`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from overread.benchmarks.rules import label_words
from overread.benchmarks.sentences import (
    LEXICAL,
    MADE_UP,
    PHANTOM,
    is_lexical,
    listed,
    rate,
    readers_listed,
    stands,
    unseeing_noted,
)
from overread.benchmarks.sentences import gets_no_picture as says_unseen

__all__ = [
    "LEXICAL",
    "MADE_UP",
    "PHANTOM",
    "departures",
    "is_lexical",
    "label_words",
    "listed",
    "rate",
    "readers_listed",
    "says_unseen",
    "stands",
    "unseeing_noted",
]


def departures(rules: Any, published: Any, names: Iterable[str]) -> str:
    """Which of these rules are not the published ones, for the end of a sentence."""
    other = [name for name in names if getattr(rules, name) != getattr(published, name)]
    if not other:
        return ", which are those of the published code"
    return f", which differ from those of the published code in {listed(other)}"
