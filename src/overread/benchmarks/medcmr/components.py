"""The four scores of an open answer: their names, their grids, and which question asks for which.

S = (clarity + coherence + 4 visual + 4 truth) / 10 of the scores divided by their highest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["COMPONENTS", "COMPONENTS_OF", "GRIDS", "LINES", "QUESTIONS", "grid_words"]

COMPONENTS: Final = ("clarity", "coherence", "visual", "truth")
LINES: Final[Mapping[str, str]] = {
    "clarity": "Language Clarity",
    "coherence": "Reasoning Coherence",
    "visual": "Vision Feature Accuracy",
    "truth": "Ground Truth Consistency",
}
"""What each is called in a judge's reply, in the order of its lines (MEDCMR, "Judging")."""
GRIDS: Final[Mapping[str, tuple[float, ...]]] = {
    "clarity": (0, 0.5, 1),
    "coherence": (0, 0.5, 1),
    "visual": (0, 1, 2, 3, 4),
    "truth": (0, 1, 2, 3, 4),
}
"""The scores there are, lowest first."""
COMPONENTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "score": COMPONENTS,
    # Without a caption nothing says what is to be seen.
    "score_uncaptioned": ("clarity", "coherence", "truth"),
}
QUESTIONS: Final = tuple(COMPONENTS_OF)


def grid_words(component: str) -> tuple[str, ...]:
    """The scores of a component as they are written: `0`, `0.5`, `1`."""
    return tuple(f"{score:g}" for score in GRIDS[component])
