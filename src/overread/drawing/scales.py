"""Scales: where a value stands along an axis, and what colour, shape or size it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, inf, log10, sqrt
from typing import Any, NamedTuple, TypeAlias

from overread.drawing.expressions import NotDrawn, is_valid

Channel: TypeAlias = Mapping[str, Any]


class Number(NamedTuple):
    """A linear or a logarithmic scale of numbers from `low` to `high` onto pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: Any) -> float | None:
        """Where a number stands; None where there is none."""
        if isinstance(value, str) or not is_valid(value):
            return None
        low, high, number = self.low, self.high, float(value)
        if self.log:
            if min(low, high, number) <= 0:
                return None
            low, high, number = log10(low), log10(high), log10(number)
        if high == low:
            return (self.start + self.end) / 2
        return self.start + (number - low) / (high - low) * (self.end - self.start)

    @property
    def length(self) -> float:
        return abs(self.end - self.start)


class Steps(NamedTuple):
    """A scale of names onto bands of one width, one after the other."""

    names: tuple[Any, ...]
    step: float
    first: float  # where the first band begins
    width: float

    def at(self, value: Any) -> float | None:
        """The middle of a name's band; None for a name that is not there."""
        try:
            return self.first + self.names.index(value) * self.step + self.width / 2
        except ValueError:
            return None


Place: TypeAlias = Number | Steps


def bands(count: int, inner: float, outer: float) -> float:
    """How many steps so many bands take together."""
    return max(1.0, count - inner + 2 * outer) if count else 0.0


def steps(names: Sequence[Any], length: float, inner: float, outer: float) -> Steps:
    """Bands over a length, with shares of a step between and outside them."""
    step = length / bands(len(names), inner, outer) if names else 0.0
    first = (length - step * (len(names) - inner)) / 2
    return Steps(tuple(names), step, first, step * (1 - inner))


# ---------------------------------------------------------------- ticks


def tick_step(low: float, high: float, count: float) -> float:
    """The round step that comes nearest to so many ticks: 1, 2 or 5 times a power of ten."""
    rough = (high - low) / max(count, 1)
    if rough <= 0:
        return 0.0
    power = floor(log10(rough))
    error = rough / 10.0**power
    factor = 10 if error >= sqrt(50) else 5 if error >= sqrt(10) else 2 if error >= sqrt(2) else 1
    return float(factor * 10.0**power)


def ticks(low: float, high: float, count: float) -> list[float]:
    """Round numbers from low to high."""
    step = tick_step(low, high, count)
    if not step:
        return [low]
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    digits = max(0, -floor(log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def tick_words(values: Sequence[float], low: float, high: float, count: float) -> list[str]:
    """Numbers with as many digits as their step asks for."""
    step = tick_step(low, high, count)
    digits = max(0, -floor(log10(step))) if step else 0
    return [f"{value:,.{digits}f}".replace("-", "\u2212") for value in values]


def nice(low: float, high: float, count: float = 10) -> tuple[float, float]:
    """The ends of an axis at round numbers."""
    for _ in range(3):
        step = tick_step(low, high, count)
        if not step:
            break
        rounded = floor(low / step) * step, ceil(high / step) * step
        if rounded == (low, high):
            break
        low, high = rounded
    return low, high


# ---------------------------------------------------------------- what is not a place


class Looks(NamedTuple):
    """Colours, shapes, dashes or numbers by name."""

    names: tuple[Any, ...]
    values: tuple[Any, ...]

    def of(self, value: Any) -> Any:
        return self.values[self.names.index(value) % len(self.values)]


class Shades(NamedTuple):
    """Colours by amount, from one to another."""

    low: float
    high: float
    first: tuple[int, int, int]
    last: tuple[int, int, int]

    def of(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        share = min(max(share, 0.0), 1.0)
        pairs = zip(self.first, self.last, strict=True)
        return "rgb(" + ", ".join(str(round(a + (b - a) * share)) for a, b in pairs) + ")"


class Amounts(NamedTuple):
    """Numbers by amount: sizes of marks."""

    scale: Number

    def of(self, value: float) -> float:
        return self.scale.at(value) or 0.0


Scale: TypeAlias = Looks | Shades | Amounts
_CATEGORIES = (
    "#4c78a8", "#f58518", "#e45756", "#72b7b2", "#54a24b",
    "#eeca3b", "#b279a2", "#ff9da6", "#9d755d", "#bab0ac",
)  # fmt: skip


def look_scale(channel: Channel, rows: Sequence[Mapping[str, Any]]) -> Scale | None:
    """How values of this channel's field look; None where they say it themselves."""
    given = channel.get("scale", {})
    if given is None:
        return None
    field, domain, found = channel["field"], given.get("domain"), given.get("range")
    if channel.get("type") == "quantitative":
        ends = domain or [
            0,
            max((row[field] for row in rows if is_valid(row.get(field))), default=1),
        ]
        if not found:
            raise NotDrawn("amounts without a range of their own")
        low, high = map(float, ends)
        first, last = found
        if isinstance(first, str):
            return Shades(low, high, _rgb(first), _rgb(last))
        return Amounts(Number(low, high, float(first), float(last)))
    names = tuple(domain if domain is not None else dict.fromkeys(row.get(field) for row in rows))
    return Looks(names, tuple(found or _CATEGORIES)) if names else None


def _rgb(colour: str) -> tuple[int, int, int]:
    if len(colour) != 7 or colour[0] != "#":
        raise NotDrawn(f"shades of {colour}")
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def number_ends(channel: Channel, values: Sequence[float], zero: bool) -> tuple[float, float, bool]:
    """The ends of a scale of numbers, and whether it is logarithmic."""
    given = channel.get("scale") or {}
    kind = given.get("type", "linear")
    if kind not in ("linear", "log"):
        raise NotDrawn(f"a scale of type {kind}")
    domain = given.get("domain")
    if domain is not None:
        low, high = map(float, domain)
    else:
        low, high = min(values, default=inf), max(values, default=-inf)
        if low > high:
            low, high = 0.0, 1.0
        if given.get("zero", zero) and kind == "linear":
            low, high = min(low, 0.0), max(high, 0.0)
        if given.get("nice", True):
            low, high = nice(low, high)
    return low, high, kind == "log"
