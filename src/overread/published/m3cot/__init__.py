"""What is looked for in the figures of the M3CoTBench paper, and how they are laid out."""

from __future__ import annotations

from typing import Final

from overread.published._arithmetic import printed_twice
from overread.published.m3cot import _identities
from overread.published.m3cot._headline import headline

__all__ = ["CHECKS", "headline"]

CHECKS: Final = (*_identities.CHECKS, printed_twice)
