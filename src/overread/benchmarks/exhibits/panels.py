"""Who judged what: see `overread.benchmarks.exhibits.judges`."""

from __future__ import annotations

from overread.benchmarks.exhibits.judges import (
    AGREEMENT,
    KAPPA,
    LEXICAL,
    SENSITIVITY,
    SPECIFICITY,
    Part,
    judges_of,
    notes_on_judges,
    tried,
)

__all__ = [
    "AGREEMENT",
    "KAPPA",
    "LEXICAL",
    "SENSITIVITY",
    "SPECIFICITY",
    "Part",
    "judges_of",
    "notes_on_judges",
    "tried",
]
