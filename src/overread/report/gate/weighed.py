"""What weighing a measure gives: an outcome, by how much, and what would settle it."""

from __future__ import annotations

import math

import msgspec

from overread.case import Measure
from overread.report.gate.ruling import Outcome
from overread.report.gate.words import number


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome with its reason; `value`, `low` and `high` are those that were compared."""

    outcome: Outcome
    says: str
    margin: float | None = None
    needed: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None


class Ends(msgspec.Struct, frozen=True):
    """A value and how far its interval reaches; always low <= value <= high."""

    value: float
    low: float
    high: float
    n: int


def has_value(record: Measure) -> bool:
    return record.value is not None and math.isfinite(record.value)


def ends_of(record: Measure) -> Ends | None:
    """None without a finite interval: nothing can then be told from it."""
    value, low, high = record.value, record.low, record.high
    if value is None or low is None or high is None:
        return None
    if not (math.isfinite(value) and math.isfinite(low) and math.isfinite(high)):
        return None
    return Ends(value, min(low, value), max(high, value), record.n or 0)


def settling(needed: int | None, found: Ends, *, right: bool, on: bool) -> tuple[int | None, str]:
    """The n that would settle what `found` leaves open, and a sentence that says which way.

    `right`: the value is on the side that the rule demands; `on`: it is the bound itself.
    """
    if on:
        return None, f"the value is the bound itself, {number(found.value)}: no n is enough"
    if needed is not None:
        needed = max(needed, found.n + 1)
    if needed is None:
        side = "right" if right else "wrong"
        return None, f"the value is on the {side} side, but so near that no n is enough"
    more = f"n = {needed:,} ({needed - found.n:,} more) would"
    if right:
        return needed, f"{more} show that it is met, were the value to stay"
    return needed, (
        f"the value is on the wrong side: no n is enough to meet it with this value, "
        f"and {more} show that it is not met"
    )
