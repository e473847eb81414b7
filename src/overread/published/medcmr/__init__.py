"""What is looked for in the figures of the Med-CMR paper, and how they are laid out."""

from __future__ import annotations

from typing import Final

from overread.published._arithmetic import differences, printed_twice
from overread.published.medcmr import _claims, _counts, _marks, _scores
from overread.published.medcmr._headline import headline

__all__ = ["CHECKS", "headline"]

CHECKS: Final = (
    *_scores.CHECKS,
    *_counts.CHECKS,
    *_claims.CHECKS,
    *_marks.CHECKS,
    printed_twice,
    differences,
)
