"""What the printed numbers say of each other (M3COT 5, 6, 8, 9).

A flag means that no unrounded numbers fit: every check takes what rounding may hide on all sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from overread.published import Figures, Flag
from overread.published._figures import Printed
from published.arithmetic.rates import SLACK, Span, apart, of_spans, span_of

_NUMBERS: Final = "from the printed numbers"
# An item has two to four gold steps (M3COT 1).
_FEWEST, _MOST = 2, 4
# Accuracy is the mean of two judges over all items.
_JUDGES: Final = 2
_DIRECT: Final = {"mode": "direct"}
_COT: Final = {"mode": "cot"}
# What the authors' README prints in the place of Table 2's accuracy (M3COT 9).
_README: Final = {("MedGemma-27B", "cot"): 0.4588}
# Section 5.2, Impact: what reasoning is said to give a reader.
_SAID_GAIN: Final = {"LLaVA-CoT": "limited performance gain"}


def _flag(
    printed: Printed, what: str, found: str, expected: str, *tables: str, note: str = _NUMBERS
) -> Flag:
    return Flag(
        where=printed.where,
        what=what,
        found=found,
        expected=expected,
        reader=printed.record.reader,
        tables=tables or (printed.table,),
        note=note,
    )


def harmonic_mean(figures: Figures) -> Iterator[Flag]:
    """F1 = 2PR/(P + R) of the printed averages."""
    for system in figures.systems:
        printed = figures.find(system.name, "f1")
        own = span_of(printed)
        p, r = (span_of(figures.find(system.name, name)) for name in ("precision", "recall"))
        if printed is None or own is None or p is None or r is None:
            continue
        made = of_spans(lambda p, r: 2 * p * r / (p + r), p, r)
        if apart(own, made):
            middle = (made.low + made.high) / 2
            what = "F1 is not the harmonic mean of P and R"
            yield _flag(printed, what, printed.cell, f"{100 * middle:.2f}")


def impact_is_the_difference(figures: Figures) -> Iterator[Flag]:
    """I = Acc_step - Acc_direct."""
    for system in figures.systems:
        printed = figures.find(system.name, "impact")
        own = span_of(printed)
        cot, direct = (span_of(figures.find(system.name, "accuracy", by)) for by in (_COT, _DIRECT))
        if printed is None or own is None or cot is None or direct is None:
            continue
        made = of_spans(lambda cot, direct: cot - direct, cot, direct)
        if apart(own, made):
            middle = (made.low + made.high) / 2
            what = "I is not the difference of the two accuracies"
            yield _flag(printed, what, printed.cell, f"{100 * middle:.2f}")


def latency_is_the_ratio(figures: Figures) -> Iterator[Flag]:
    """L = T_cot / T_direct of Table A2: totals over the same items are to each other as means."""
    for system in figures.systems:
        printed = figures.find(system.name, "latency")
        own = span_of(printed)
        times = [figures.find(system.name, "seconds", by) for by in (_COT, _DIRECT)]
        cot, direct = map(span_of, times)
        if printed is None or own is None or cot is None or direct is None or direct.low <= 0:
            continue
        made = of_spans(lambda cot, direct: cot / direct, cot, direct)
        if apart(own, made):
            cells = " / ".join(time.cell for time in times if time is not None)
            what = "L is not the ratio of the times in Table A2"
            expected = f"{_ratio(times):.2f} ({cells} s)"
            yield _flag(printed, what, printed.cell, expected, "2", "A2")


def _ratio(times: list[Printed | None]) -> float:
    cot, direct = (time.record.value or math.nan if time else math.nan for time in times)
    return cot / direct


def steps_a_second(figures: Figures) -> Iterator[Flag]:
    """E times the seconds of an item are its matched steps: R times two to four gold steps."""
    for system in figures.systems:
        printed = figures.find(system.name, "efficiency")
        own, recall = span_of(printed), span_of(figures.find(system.name, "recall"))
        time = figures.find(system.name, "seconds", _COT)
        cot = span_of(time)
        if printed is None or own is None or recall is None or time is None or cot is None:
            continue
        matched = of_spans(lambda e, t: e * t, own, cot)
        possible = Span(_FEWEST * recall.low, _MOST * recall.high)
        if apart(matched, possible):
            low, high = (bound / (cot.low + cot.high) * 2 for bound in possible)
            what = "E does not go with R and the time in Table A2: an item has two to four steps"
            found = f"{printed.cell} with {time.cell} s"
            expected = f"{low:.2f} to {high:.2f}"
            yield _flag(printed, what, found, expected, "2", "A2")


def whole_counts(figures: Figures) -> Iterator[Flag]:
    """An accuracy is k of twice the items for a whole k: two judges, and no item left out."""
    n = _JUDGES * figures.cases
    for system in figures.systems:
        for by in (_DIRECT, _COT):
            printed = figures.find(system.name, "accuracy", by)
            own = span_of(printed)
            if printed is None or own is None:
                continue
            first, last = math.ceil((own.low - SLACK) * n), math.floor((own.high + SLACK) * n)
            if first > last:
                near = " or ".join(f"{100 * k / n:.2f} ({k}/{n})" for k in (last, first))
                what = f"accuracy {by['mode']}: no whole count of two judges gives it"
                yield _flag(printed, what, printed.cell, near)


def readme(figures: Figures) -> Iterator[Flag]:
    """The authors' README prints some of the accuracies once more."""
    for (reader, mode), value in _README.items():
        printed = figures.find(reader, "accuracy", {"mode": mode})
        span = span_of(printed)
        if printed is not None and span is not None and not span.low <= value <= span.high:
            what = f"accuracy {mode}: the authors' README has another number"
            note = "M3COT 9: the paper's and the README's accuracies differ by up to 0.42 points"
            expected = f"{100 * value:.2f}, as there, or why not"
            yield _flag(printed, what, printed.cell, expected, note=note)


def gain(figures: Figures) -> Iterator[Flag]:
    """Who is said to gain by reasoning has the higher accuracy with it."""
    for reader, words in _SAID_GAIN.items():
        printed = figures.find(reader, "impact")
        cot, direct = (figures.find(reader, "accuracy", by) for by in (_COT, _DIRECT))
        own = span_of(printed)
        if printed is None or own is None or cot is None or direct is None or own.high > 0:
            continue
        yield Flag(
            where="Section 5.2",
            what=f"reasoning is said to give a {words}",
            found=f"{printed.cell} ({cot.cell} with it, {direct.cell} without): a loss",
            expected="more than 0, or another word",
            reader=reader,
            tables=(printed.table, "text"),
            note=_NUMBERS,
        )


CHECKS: Final = (
    harmonic_mean,
    impact_is_the_difference,
    latency_is_the_ratio,
    steps_a_second,
    whole_counts,
    readme,
    gain,
)
