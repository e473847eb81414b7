"""What can be recomputed of any printed rate: its count, its error, its interval, its difference.

Every check allows for the rounding of what is printed, and for the four decimals to which the
papers' scripts round before they print: a flag means that no unrounded numbers fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Final, NamedTuple

from overread.published import Figures, Flag
from overread.published._figures import Printed

SLACK: Final = 1e-9
"""What floating point may add."""
# Printed from numbers that were rounded to four decimals before.
_ROUNDED_BEFORE: Final = 0.00005
# How far from its middle a bootstrapped interval may have its value, in standard deviations.
_OFF_CENTRE: Final = 0.35
# How far its width may be from 2 · 1.96 standard deviations.
_OFF_WIDTH: Final = 0.15
_Z: Final = 1.96
# Four standard deviations of the share of 10,000 resamples below a 2.5 % quantile.
_TAIL: Final = 0.025
_TAIL_ERROR: Final = 4 * math.sqrt(_TAIL * (1 - _TAIL) / 10_000)


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


def counts_that_fit(value: float, n: int, half: float) -> range:
    """All whole k with k/n printed as this value."""
    room = half + _ROUNDED_BEFORE + SLACK
    first, last = math.ceil((value - room) * n), math.floor((value + room) * n)
    return range(max(first, 0), min(last, n) + 1)


def percent(fraction: float, places: int = 1) -> str:
    return f"{100 * fraction:.{places}f}"


def _proportions(figures: Figures) -> Iterator[tuple[Printed, float, int]]:
    """The numbers that are k of n: not scores, not differences, not correlations."""
    for printed in figures.printed:
        record = printed.record
        counted = record.measure in ("accuracy", "cgr", "uar", "is", "parse_rate")
        if counted and record.value is not None and record.n:
            yield printed, record.value, record.n


def _flag(printed: Printed, what: str, found: str, expected: str, note: str = "") -> Flag:
    record = printed.record
    by = "".join(f", {key} {word}" for key, word in record.by.items())
    return Flag(
        where=printed.where,
        what=f"{record.measure}{by}: {what}",
        found=found,
        expected=expected,
        reader=record.reader,
        tables=(printed.table,),
        note=note,
    )


def whole_counts(figures: Figures) -> Iterator[Flag]:
    """A rate over n cases is k/n for some whole k."""
    for printed, value, n in _proportions(figures):
        if not counts_that_fit(value, n, printed.half):
            near = sorted({math.floor(value * n), math.ceil(value * n)})
            either = " or ".join(f"{percent(k / n)} ({k}/{n})" for k in near)
            yield _flag(printed, "no whole count gives this rate", percent(value), either)


def standard_errors(figures: Figures) -> Iterator[Flag]:
    """What follows ± is the binomial error sqrt(p(1-p)/n)."""
    for printed, value, n in _proportions(figures):
        if printed.record.se is None:
            continue
        room = printed.spread_half + _ROUNDED_BEFORE + SLACK
        errors = [_binomial_error(k, n) for k in counts_that_fit(value, n, printed.half)]
        if errors and all(abs(error - printed.record.se) > room for error in errors):
            expected = percent(min(errors, key=lambda e: abs(e - (printed.record.se or 0))), 2)
            yield _flag(printed, "not its binomial error", percent(printed.record.se), expected)


def intervals_of_rates(figures: Figures) -> Iterator[Flag]:
    """A bootstrapped interval of k/n ends at quantiles of Binomial(n, k/n); Wilson's is known."""
    for printed, value, n in _proportions(figures):
        record = printed.record
        if record.low is None or record.high is None or record.method is None:
            continue
        bounds = _wilson_bounds if record.method == "wilson" else bootstrap_bounds
        room = printed.half + _ROUNDED_BEFORE + SLACK
        counts = counts_that_fit(value, n, printed.half)
        fitting = [bounds(k, n) for k in counts]
        if fitting and not any(
            low[0] - room <= record.low <= low[1] + room
            and high[0] - room <= record.high <= high[1] + room
            for low, high in fitting
        ):
            (low, low_too), (high, high_too) = fitting[len(fitting) // 2]
            expected = f"[{_span(low, low_too)}, {_span(high, high_too)}]"
            found = f"[{percent(record.low)}, {percent(record.high)}]"
            yield _flag(printed, f"not its {record.method} interval", found, expected)


def intervals_of_scores(figures: Figures) -> Iterator[Flag]:
    """An interval holds its value and, if it is bootstrapped, has it about in its middle."""
    for printed in figures.printed:
        record, sd = printed.record, printed.record.sd_boot
        value, low, high = record.value, record.low, record.high
        if value is None or low is None or high is None:
            continue
        found = f"{percent(value)} [{percent(low)}, {percent(high)}]"
        if not low <= value <= high:
            yield _flag(printed, "outside its own interval", found, "a value inside")
        elif sd:
            # A difference of n cases moves in steps of 1/n; the ends may lie one step apart.
            step = 2 * printed.half + (0.5 / record.n if record.n else 0)
            middle, width = (low + high) / 2, (high - low) / 2
            if abs(middle - value) > _OFF_CENTRE * sd + step:
                note = "D6" if record.measure == "auroc" else ""
                expected = f"a middle near {percent(value)}, not at {percent(middle)}"
                yield _flag(printed, "its interval is off-centre", found, expected, note)
            widest = _Z * (sd + printed.spread_half)
            if abs(width - _Z * sd) > _OFF_WIDTH * widest + step:
                expected = f"about ± {percent(_Z * sd)}"
                yield _flag(printed, "its width is not that of its ±", found, expected)


def printed_twice(figures: Figures) -> Iterator[Flag]:
    """The same number in two places is the same number."""
    for printed in figures.printed:
        record = printed.record
        first = figures.find(record.reader, record.measure, record.by) if printed.repeat else None
        if first is None:
            continue
        for field in ("value", "se", "low", "high", "n"):
            here, there = getattr(record, field), getattr(first.record, field)
            if here is not None and here != there:
                yield _flag(printed, f"{field} differs from {first.where}", str(here), str(there))


def differences(figures: Figures) -> Iterator[Flag]:
    """A difference is that of the two values, where both are printed over the same cases."""
    for printed in figures.printed:
        record = printed.record
        if not record.measure.startswith("diff_") or record.value is None:
            continue
        measure, other = record.measure.removeprefix("diff_"), record.by["versus"]
        plain = {key: word for key, word in record.by.items() if key != "versus"}
        ours = _over_the_same(figures, printed, record.reader, measure, record.by, plain)
        beside = {**plain, "versus": record.reader}
        theirs = _over_the_same(figures, printed, other, measure, beside, plain)
        if ours is None or theirs is None:
            continue
        expected = ours - theirs
        if abs(expected - record.value) > 3 * (printed.half + _ROUNDED_BEFORE) + SLACK:
            what = "not the difference of the two values"
            yield _flag(printed, what, percent(record.value), percent(expected))


def _over_the_same(
    figures: Figures,
    printed: Printed,
    reader: str,
    measure: str,
    shared: dict[str, str],
    plain: dict[str, str],
) -> float | None:
    """A reader's value over the cases of a difference, or over all of them if that is the same."""
    found = figures.find(reader, measure, shared) or figures.find(reader, measure, plain)
    if found is None or found.record.value is None:
        return None
    same = found.record.n == printed.record.n or found.record.value in (0.0, 1.0)
    return found.record.value if same else None


def _binomial_error(k: int, n: int) -> float:
    return math.sqrt(k * (n - k) / n) / n


Bounds = tuple[tuple[float, float], tuple[float, float]]


def _wilson_bounds(k: int, n: int) -> Bounds:
    from overread.stats import wilson

    found = wilson(k, n)
    low, high = found.low or 0.0, found.high or 0.0
    return (low, low), (high, high)


def bootstrap_bounds(k: int, n: int) -> Bounds:
    """Where the 2.5 % and 97.5 % quantiles of 10,000 resamples lie, but for one time in 10,000."""
    outer, inner = _TAIL - _TAIL_ERROR, _TAIL + _TAIL_ERROR
    return (
        (_quantile(outer, k, n), _quantile(inner, k, n)),
        (1 - _quantile(inner, n - k, n), 1 - _quantile(outer, n - k, n)),
    )


def _quantile(level: float, k: int, n: int) -> float:
    """The smallest x/n with P(X <= x) >= level, X ~ Binomial(n, k/n)."""
    if k in (0, n):
        return k / n
    hit, miss, whole = math.log(k / n), math.log(1 - k / n), math.lgamma(n + 1)
    below = max(0, math.floor(k - 10 * math.sqrt(k * (n - k) / n)))
    total = 0.0
    for x in range(below, n + 1):
        ways = whole - math.lgamma(x + 1) - math.lgamma(n - x + 1)
        total += math.exp(ways + x * hit + (n - x) * miss)
        if total >= level:
            return x / n
    return 1.0


def _span(low: float, high: float) -> str:
    return percent(low) if percent(low) == percent(high) else f"{percent(low)}–{percent(high)}"


CHECKS: Final = (
    whole_counts,
    standard_errors,
    intervals_of_rates,
    intervals_of_scores,
    printed_twice,
    differences,
)
