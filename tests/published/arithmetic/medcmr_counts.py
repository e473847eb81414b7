"""What the printed scores, accuracies and counts of Med-CMR say of each other.

A flag means that no unrounded numbers fit.

An accuracy of two decimals over n items is k/n for few n only, and eighteen of them leave one: the
counts of the groups can be read off the tables, but for the largest, which is what remains. Larger
counts of the smaller groups do not go with the overall accuracies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from overread.published import Figures, Flag
from overread.published._figures import CASES
from published.arithmetic.rates import SLACK, Span, apart, of_spans, span_of

# ---------------------------------------------------------------- scores and similarities (MEDCMR, "Scores")

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


# ---------------------------------------------------------------- how many items stand behind

# How far from the stated total another one is looked for.
_NEAR: Final = 25
_TABLES: Final = {"dimension": "2", "ability": "3"}
Values = Mapping[str, Sequence[Span]]


def behind(values: Values, overall: Sequence[Span], total: int) -> dict[str, int] | None:
    """The size of each group, if `total` items give every row; None if they cannot.

    `values` are the accuracies of each group, row by row, and `overall` those over all items.
    """
    least = {group: _least(spans) for group, spans in values.items()}
    largest = max(least, key=lambda group: least[group])
    rest = total - sum(n for group, n in least.items() if group != largest)
    if rest < 1:
        return None
    sizes = least | {largest: rest}
    for row, whole in enumerate(overall):
        right = [_counts(spans[row], sizes[group]) for group, spans in values.items()]
        fitting = _counts(whole, total)
        if not fitting or not all(right):
            return None
        low, high = sum(r[0] for r in right), sum(r[-1] for r in right)
        if high < fitting[0] or low > fitting[-1]:
            return None
    return sizes


def _least(spans: Sequence[Span]) -> int:
    """The smallest number of items of which every one of these accuracies is a whole count."""
    return next(n for n in count(1) if all(_counts(span, n) for span in spans))


def _counts(span: Span, n: int) -> range:
    """All whole k with k/n printed so."""
    return range(-int(-(span.low - SLACK) * n // 1), int((span.high + SLACK) * n // 1) + 1)


def one_set_of_counts(figures: Figures) -> Iterator[Flag]:
    """All rows of a table, and its overall accuracies, are counts over the same items."""
    stated = figures.n(CASES, "cases", {"kind": "mcq"})
    overall = _spans(figures, {})
    if stated is None or len(overall) < len(figures.systems):
        return
    for key, table in _TABLES.items():
        groups = dict.fromkeys(
            printed.record.by[key] for printed in figures.printed if set(printed.record.by) == {key}
        )
        values = {group: _spans(figures, {key: group}) for group in groups}
        if any(len(spans) < len(overall) for spans in values.values()):
            continue
        if behind(values, overall, stated) is not None:
            continue
        near = sorted(range(stated - _NEAR, stated + _NEAR + 1), key=lambda n: abs(n - stated))
        fitting = ((n, behind(values, overall, n)) for n in near)
        total, sizes = next(((n, sizes) for n, sizes in fitting if sizes), (None, {}))
        parts = " + ".join(f"{group} {size:,}" for group, size in sizes.items())
        yield Flag(
            where=f"Table {table}",
            what=f"no whole counts of {stated:,} items give all rows and their overall accuracy",
            found=f"{stated:,} multiple-choice items in the text",
            expected="other accuracies" if total is None else f"{total:,} = {parts}",
            tables=tuple(dict.fromkeys(("2", table, "text"))),
            note="counts read off the printed accuracies; every row then fits" if sizes else "",
        )


def _spans(figures: Figures, by: Mapping[str, str]) -> list[Span]:
    found = (span_of(figures.find(system.name, "accuracy", by)) for system in figures.systems)
    return [span for span in found if span is not None]


def kinds_add_up(figures: Figures) -> Iterator[Flag]:
    """Multiple-choice and open items are all items."""
    kinds = [figures.n(CASES, "cases", {"kind": kind}) or 0 for kind in ("mcq", "open")]
    whole = figures.find(CASES, "cases")
    if whole is not None and whole.record.n != sum(kinds):
        yield Flag(
            where=whole.where,
            what="the two kinds are not all items",
            found=f"{whole.record.n:,}",
            expected=f"{sum(kinds):,}",
            tables=(whole.table,),
        )


def tables_add_up(figures: Figures) -> Iterator[Flag]:
    """The counts of Tables 6 and 7 are all items, and the shares are shares of the counts."""
    for key in ("modality", "system"):
        counts = {
            p.record.by[key]: p
            for p in figures.printed
            if p.record.measure == "cases" and set(p.record.by) == {key}
        }
        total = sum(printed.record.n or 0 for printed in counts.values())
        if not counts:
            continue
        table = next(iter(counts.values()))
        if total != figures.cases:
            note = "" if list(_shares(figures, key, total)) else "the shares are of this sum"
            yield Flag(
                where=table.where,
                what="the counts do not add up to all items",
                found=f"{total:,}",
                expected=f"{figures.cases:,}",
                tables=(table.table,),
                note=note,
            )
        yield from _shares(figures, key, total)


def _shares(figures: Figures, key: str, total: int) -> Iterator[Flag]:
    for printed in figures.printed:
        group = printed.record.by.get(key, "")
        n, own = figures.n(CASES, "cases", {key: group}), span_of(printed)
        if printed.record.measure != "share" or n is None or own is None:
            continue
        if not own.low - SLACK <= n / total <= own.high + SLACK:
            yield Flag(
                where=printed.where,
                what=f"{group}: not its share of the counts",
                found=printed.cell,
                expected=f"{n / total:.3f}",
                tables=(printed.table,),
            )


CHECKS: Final = (
    weighted_score,
    half_points,
    pooled_similarity,
    one_set_of_counts,
    kinds_add_up,
    tables_add_up,
)
