"""Figures of the causal audit that cannot mean what the paper says they mean (GROUNDING 16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from overread.published._arithmetic import counts_that_fit, percent
from overread.published._flag import Flag
from overread.published._printed import Figures, Printed
from overread.published.grounding._rule import category

__all__ = ["CHECKS"]

_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "gsp": ("cgr", "is"),
    "image_contingent": ("uar",),
}
_THRESHOLDS: Final = (50, 60, 70, 80, 90)
_NOT_ORIGINAL: Final = (("uar", "swap"), ("cgr", "target_mask"), ("is", "irrelevant_mask"))


def categories(figures: Figures) -> Iterator[Flag]:
    """The stated rule, on the printed numbers, gives the printed category (GROUNDING 9)."""
    for system in figures.systems:
        for threshold, printed in _assignments(figures, system.name):
            said = _by_rule(figures, system.name, threshold)
            if said is not None and said != printed.record.label:
                yield Flag(
                    where=printed.where,
                    what=f"the stated rule says otherwise at an IS threshold of {threshold} "
                    "(uses image asks for 90 whatever it is)",
                    found=str(printed.record.label),
                    expected=said,
                    reader=system.name,
                    tables=(printed.table,),
                    note="D21",
                )


def _assignments(figures: Figures, reader: str) -> Iterator[tuple[int, Printed]]:
    """Thresholds of IS with what is printed for them; 70 is the rule's own."""
    for threshold in (None, *_THRESHOLDS):
        by = {} if threshold is None else {"unstable_below": f"{threshold / 100:.2f}"}
        printed = figures.find(reader, "category", by)
        if printed is not None:
            yield threshold or 70, printed


def _by_rule(figures: Figures, reader: str, threshold: int) -> str | None:
    cgr, uar, stable = (figures.find(reader, name) for name in ("cgr", "uar", "is"))
    if cgr is None or uar is None or stable is None:
        return None
    numbers = (cgr.record.value, cgr.record.low, uar.record.value, stable.record.value)
    percents = (None if x is None else round(100 * x, 6) for x in numbers)
    return category(*percents, threshold=threshold)


def premiums(figures: Figures) -> Iterator[Flag]:
    """GSP is CGR - (1 - IS), and the image-contingent fraction 1 - UAR."""
    for printed in figures.printed:
        record = printed.record
        parts = _PARTS.get(record.measure)
        if parts is None:
            continue
        ends = [_ends(figures, record.reader, name) for name in parts]
        known = [end for end in ends if end is not None]
        if record.value is None or len(known) < len(ends):
            continue
        if record.measure == "gsp":
            (low, high), (stable, steadiest) = known
            low, high = low + stable - 1, high + steadiest - 1
        else:
            ((least, most),) = known
            low, high = 1 - most, 1 - least
        room = printed.half + 0.0001
        if not low - room <= record.value <= high + room:
            yield Flag(
                where=printed.where,
                what=f"{record.measure} does not follow from {' and '.join(parts)}",
                found=percent(record.value),
                expected=f"{percent(low)} to {percent(high)}",
                reader=record.reader,
                tables=(printed.table, "1"),
            )


def _ends(figures: Figures, reader: str, measure: str) -> tuple[float, float] | None:
    """The smallest and the largest rate that whole counts allow for a printed one."""
    printed = figures.find(reader, measure)
    if printed is None or printed.record.value is None or not printed.record.n:
        return None
    fitting = counts_that_fit(printed.record.value, printed.record.n, printed.half)
    return (fitting[0] / printed.record.n, fitting[-1] / printed.record.n) if fitting else None


def untestable(figures: Figures) -> Iterator[Flag]:
    """A contrast without groups has no q."""
    for gap in figures.printed:
        record = gap.record
        if not record.measure.startswith("gap_") or record.q is None:
            continue
        measure, key = record.measure.removeprefix("gap_"), record.by["attribute"]
        groups = [
            printed.record.value
            for printed in figures.printed
            if printed.record.reader == record.reader
            and printed.record.measure == measure
            and set(printed.record.by) == {key}
        ]
        if all(value is None for value in groups):
            yield Flag(
                where=gap.where,
                what=f"{measure} by {key} has a q although nothing could be tested",
                found=f"q={record.q:.3f}",
                expected="none",
                reader=record.reader,
                tables=(gap.table,),
                note="D29",
            )


def not_run(figures: Figures) -> Iterator[Flag]:
    """A condition that was not run has no rate and no n; one that was run can be compared."""
    for system in figures.systems:
        named = []
        for measure, condition in _NOT_ORIGINAL:
            rate = figures.find(system.name, "parse_rate", {"condition": condition})
            n = figures.n(system.name, measure)
            if rate is not None and rate.record.value is None and n:
                named.append(f"{measure} n={n:,}")
        if named:
            yield Flag(
                where="Table 1",
                what="rates under conditions that are said not to have been run",
                found=", ".join(named),
                expected="none, or n by construction; Supplementary Table 12 says N/A",
                reader=system.name,
                tables=("1", "S12"),
                note="D30",
            )
        n = figures.n(system.name, "uar")
        compared = [
            printed
            for printed in figures.printed
            if printed.table == "S1" and printed.record.reader == system.name
        ]
        if n and compared and all(printed.record.value is None for printed in compared):
            yield Flag(
                where="Supplementary Table 1",
                what="UAR is said not to have been run",
                found="N/A",
                expected=f"a comparison: Table 1 has its UAR over {n:,} cases",
                reader=system.name,
                tables=("S1", "1"),
                note="D24",
            )


CHECKS: Final = (categories, premiums, untestable, not_run)
