"""What phantom vignettes ask: by dimension, questions about one facet of a kind of picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from overread.phantoms.vignette_blood import BLOOD
from overread.phantoms.vignette_brain import BRAIN
from overread.phantoms.vignette_chest import CHEST
from overread.phantoms.vignette_question import Question
from overread.phantoms.vignette_reasoned import CAUSE, RARE, SEVERAL, TIME
from overread.phantoms.vignette_rhythm import RHYTHM, SOURCES
from overread.phantoms.vignette_seen import FINE, SMALL, SPACE
from overread.phantoms.vignette_view import View

__all__ = ["QUESTIONS", "VIEWS", "Question"]

VIEWS: Final[Mapping[str, View]] = {**BLOOD, **CHEST, **BRAIN, **RHYTHM, **SOURCES}
QUESTIONS: Final[Mapping[str, tuple[Question, ...]]] = {
    "SOD": SMALL,
    "FDD": FINE,
    "SU": SPACE,
    "TP": TIME,
    "CR": CAUSE,
    "LTG": RARE,
    "MSI": SEVERAL,
}
"""By dimension, the questions, which take turns."""
