"""What a printed number may have been before it was rounded."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final, NamedTuple

from overread.published._printed import Printed

__all__ = ["SLACK", "Span", "apart", "of_spans", "span_of"]

SLACK: Final = 1e-9
"""What floating point may add."""


class Span(NamedTuple):
    """All that a printed number may have been."""

    low: float
    high: float


def span_of(printed: Printed | None) -> Span | None:
    if printed is None or printed.record.value is None:
        return None
    return Span(printed.record.value - printed.half, printed.record.value + printed.half)


def of_spans(make: Callable[..., float], *spans: Span) -> Span:
    """All values of something that rises or falls with each of its numbers."""
    found = [make(*corner) for corner in product(*spans)]
    return Span(min(found), max(found))


def apart(one: Span, two: Span) -> bool:
    return one.low > two.high + SLACK or one.high < two.low - SLACK
