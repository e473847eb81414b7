"""What is looked for in the figures of the heartbeat paper, and how they are laid out."""

from __future__ import annotations

from typing import Final

from overread.published._arithmetic import printed_twice
from overread.published.heartbeat import _claims, _constants, _inputs, _spreads
from overread.published.heartbeat._headline import headline
from overread.published.heartbeat._shown import shown

__all__ = ["CHECKS", "headline", "shown"]

CHECKS: Final = (
    *_inputs.CHECKS,
    *_constants.CHECKS,
    *_spreads.CHECKS,
    *_claims.CHECKS,
    printed_twice,
)
