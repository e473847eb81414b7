"""What the printed scores of open replies, and similarities, say of each other (MEDCMR, "Scores").

A flag means that no unrounded numbers fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from overread.published._flag import Flag
from overread.published._printed import CASES, Figures
from overread.published._spans import SLACK, apart, of_spans, span_of

__all__ = ["CHECKS", "COMPONENTS"]

# With their weights in S.
COMPONENTS: Final = {"clarity": 1, "coherence": 1, "visual": 4, "truth": 4}
# Clarity and coherence are given as 0, 0.5 or 1.
_HALVES: Final = ("clarity", "coherence")
_KINDS: Final = {"reformulated": "leakage, multiple choice", "open": "leakage, open"}


def weighted_score(figures: Figures) -> Iterator[Flag]:
    """S = (con + coh + 4 vis + 4 gt) / 10 of the printed parts."""
    total = sum(COMPONENTS.values())
    for system in figures.systems:
        printed = figures.find(system.name, "score")
        own = span_of(printed)
        parts = [span_of(figures.find(system.name, name)) for name in COMPONENTS]
        spans = [part for part in parts if part is not None]
        if printed is None or own is None or len(spans) < len(parts):
            continue
        made = of_spans(_mean, *spans)
        if apart(own, made):
            yield Flag(
                where=printed.where,
                what="S is not the weighted mean of its four parts",
                found=printed.cell,
                expected=f"{50 * (made.low + made.high):.2f}",
                reader=system.name,
                tables=(printed.table,),
                note=f"weights {', '.join(map(str, COMPONENTS.values()))} of {total}",
            )


def _mean(*parts: float) -> float:
    weights = COMPONENTS.values()
    return sum(w * part for w, part in zip(weights, parts, strict=True)) / sum(weights)


def half_points(figures: Figures) -> Iterator[Flag]:
    """Clarity and coherence are so many half points of the open items, if all were judged."""
    n = figures.n(CASES, "cases", {"kind": "open"})
    if n is None:
        return
    for system in figures.systems:
        for name in _HALVES:
            printed = figures.find(system.name, name)
            own = span_of(printed)
            if printed is None or own is None:
                continue
            first = math.ceil((own.low - SLACK) * 2 * n)
            if first > (own.high + SLACK) * 2 * n:
                near = " or ".join(f"{50 * k / n:.2f}" for k in (first - 1, first))
                yield Flag(
                    where=printed.where,
                    what=f"{name}: no number of half points of {n:,} items gives it",
                    found=printed.cell,
                    expected=near,
                    reader=system.name,
                    tables=(printed.table,),
                )


def pooled_similarity(figures: Figures) -> Iterator[Flag]:
    """A similarity of all replies is the mean of both kinds by how many were sampled."""
    sizes = [figures.n(CASES, "cases", {"sample": name}) or 0 for name in _KINDS.values()]
    if not all(sizes):
        return

    def pooled(*means: float) -> float:
        return sum(n * mean for n, mean in zip(sizes, means, strict=True)) / sum(sizes)

    for measure in ("rouge_l", "edit_similarity"):
        for system in figures.systems:
            printed = figures.find(system.name, measure)
            own = span_of(printed)
            parts = [span_of(figures.find(system.name, measure, {"kind": k})) for k in _KINDS]
            spans = [part for part in parts if part is not None]
            if printed is None or own is None or len(spans) < len(parts):
                continue
            made = of_spans(pooled, *spans)
            # Where the ends only touch, every number would have had to lie on the edge of rounding.
            if min(own.high, made.high) - max(own.low, made.low) <= SLACK:
                yield Flag(
                    where=printed.where,
                    what="overall is not the mean of both kinds",
                    found=printed.cell,
                    expected=f"{(made.low + made.high) / 2:.3f}",
                    reader=system.name,
                    tables=(printed.table,),
                    note=f"{sizes[0]:,} and {sizes[1]:,} replies",
                )


CHECKS: Final = (weighted_score, half_points, pooled_similarity)
