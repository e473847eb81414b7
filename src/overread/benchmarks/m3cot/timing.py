"""What the authors' runner makes of attempts and their durations (M3COT 4, 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

__all__ = ["Attempt", "Timing", "failed_text", "ratio", "timed", "totals"]

# Case-sensitive and anywhere in the text: a reply on a "Refractive Error" can never succeed.
_TELLTALES: Final = ("Error", "Failed")


class Attempt(msgspec.Struct, frozen=True):
    """One call: how long it took and what came back; `raised` where nothing did."""

    seconds: float
    text: str | None = None
    raised: bool = False


class Timing(msgspec.Struct, frozen=True):
    """One item: its reply if it succeeded, that attempt's seconds, and those of failed attempts."""

    text: str | None
    success: bool
    seconds: float
    wasted: float
    attempts: int

    @property
    def stored(self) -> float:
        """The duration in the record of the item: four decimals, 0 when it failed."""
        return round(self.seconds, 4)


def failed_text(text: str | None) -> bool:
    """Whether the authors take a returned text for a failed attempt. An empty one succeeds."""
    return text is not None and any(word in text for word in _TELLTALES)


def timed(attempts: Sequence[Attempt]) -> Timing:
    """The first attempt that succeeds is the item's; those before it are wasted."""
    wasted = 0.0
    for place, attempt in enumerate(attempts, 1):
        if not attempt.raised and not failed_text(attempt.text):
            return Timing(attempt.text, True, attempt.seconds, wasted, place)
        wasted += attempt.seconds
    return Timing(None, False, 0.0, wasted, len(attempts))


def totals(timings: Sequence[Timing]) -> dict[str, float]:
    """The summary of one mode, under the authors' names."""
    successes = [timing for timing in timings if timing.success]
    return {
        "total_item_count": len(timings),
        "successful_item_count": len(successes),
        "failed_item_count": len(timings) - len(successes),
        "total_successful_time_s": sum(timing.seconds for timing in successes),
        "total_wasted_time_s": sum(timing.wasted for timing in timings),
    }


def ratio(over: float, under: float) -> float | None:
    """E = matched steps / seconds of cot; L = seconds of cot / seconds of direct (M3COT 8)."""
    return over / under if under > 0 else None
