"""What the text says of the tables, and what cannot be as it is printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.published._flag import Flag
from overread.published._printed import CASES, Figures, Printed
from overread.published._spans import SLACK, span_of

__all__ = ["CHECKS"]

_SECOND, _HARDEST = "Gemini-2.5-Pro", "LTG"
# Two opponents an item, and half a point for a tie.
_OPPONENTS: Final = 2


def _accuracies(figures: Figures, reader: str) -> dict[str, Printed]:
    return {
        printed.record.by["dimension"]: printed
        for printed in figures.printed
        if printed.record.reader == reader and set(printed.record.by) == {"dimension"}
    }


def second_everywhere(figures: Figures) -> Iterator[Flag]:
    """Section 3.2: Gemini-2.5-Pro is second overall and in every dimension."""
    for dimension, printed in _accuracies(figures, _SECOND).items():
        above = []
        for system in figures.systems:
            other = figures.find(system.name, "accuracy", {"dimension": dimension})
            if other is not None and (other.record.value or 0) > (printed.record.value or 0):
                above.append(f"{system.name} {other.cell}")
        if len(above) > 1:
            yield Flag(
                where="Section 3.2",
                what=f"said to be second in every dimension, but in {dimension} others are above",
                found=printed.cell,
                expected=f"a value above all but one of {', '.join(above)}",
                reader=_SECOND,
                tables=("text", printed.table),
            )


def hardest_for_all(figures: Figures) -> Iterator[Flag]:
    """Section 3.2: long-tail generalization is consistently the most difficult."""
    for system in figures.systems:
        found = _accuracies(figures, system.name)
        if _HARDEST not in found:
            continue
        own = found[_HARDEST]
        below = [
            f"{dimension} {printed.cell}"
            for dimension, printed in found.items()
            if (printed.record.value or 0) < (own.record.value or 0)
        ]
        if below:
            yield Flag(
                where="Section 3.2",
                what=f"{_HARDEST} is said to be the most difficult throughout, but is not here",
                found=f"{_HARDEST} {own.cell}, {', '.join(below)}",
                expected=f"no dimension below {own.cell}",
                reader=system.name,
                tables=("text", own.table),
            )


def whole_wins(figures: Figures) -> Iterator[Flag]:
    """A difference of win ratios over n items is so many half points of n items and two rivals."""
    n = figures.n(CASES, "cases", {"sample": "ranked by people"})
    for printed in figures.printed:
        own = span_of(printed)
        if printed.record.measure != "win_ratio_gap" or own is None or n is None:
            continue
        halves = 2 * _OPPONENTS * n
        first = -int(-(own.low - SLACK) * halves // 1)
        if first > (own.high + SLACK) * halves:
            near = " or ".join(f"{k / halves:.4f}" for k in (first - 1, first))
            yield Flag(
                where=printed.where,
                what=f"no difference of wins and ties over {n} items gives this",
                found=printed.cell,
                expected=near,
                reader=printed.record.reader,
                tables=(printed.table,),
                note=f"steps of {1 / halves:.5f} against two models, {2 / halves:.4f} against one",
            )


def words(figures: Figures) -> Iterator[Flag]:
    """PA is pathophysiologic analysis."""
    for part in figures.parts:
        if "psychophysiologic" in part.note:
            yield Flag(
                where=part.where,
                what="PA is spelled out with another word",
                found="psychophysiologic analysis",
                expected="pathophysiologic analysis",
                tables=(part.table,),
                note="MEDCMR",
            )


CHECKS: Final = (second_everywhere, hardest_for_all, whole_wins, words)
