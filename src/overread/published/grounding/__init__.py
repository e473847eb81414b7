"""What is looked for in the figures of the causal audit, beside the arithmetic of any rate."""

from __future__ import annotations

from typing import Final

from overread.published import _arithmetic
from overread.published.grounding import _claims, _correlations, _counts, _meaning, _telltales

__all__ = ["CHECKS"]

CHECKS: Final = (
    *_arithmetic.CHECKS,
    *_counts.CHECKS,
    *_meaning.CHECKS,
    *_claims.CHECKS,
    *_telltales.CHECKS,
    *_correlations.CHECKS,
)
