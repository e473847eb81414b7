"""Counts of the causal audit that must add up to each other (GROUNDING 8, 17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from overread.published import Figures, Flag
from overread.published._figures import CASES
from published.arithmetic.rates import counts_that_fit, percent

_BOXED: Final = {"source": "ms_cxr"}
REGIMES: Final = ("grounded-correct", "ungrounded-correct", "incorrect")


def right_answers(figures: Figures, reader: str) -> tuple[int, int] | None:
    """How many originals the reader got right and how many not, by the confidence table."""
    counts = [figures.n(reader, "confidence", {"regime": regime}) for regime in REGIMES]
    grounded, ungrounded, incorrect = counts
    if grounded is None or ungrounded is None or incorrect is None:
        return None
    return grounded + ungrounded, incorrect


def composition(figures: Figures) -> Iterator[Flag]:
    """Labels and views of every row add up to its total, findings to subtotals, these to all."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}
    for printed in figures.printed:
        record = printed.record
        if record.measure == "cases" and record.n is not None:
            by = dict(record.by)
            column = "".join(f"{key} {by.pop(key)}" for key in ("label", "view") if key in by)
            rows.setdefault(tuple(sorted(by.items())), {})[column or "total"] = record.n
    for row, found in rows.items():
        table = "S9" if ("source", "chexpert") in row else "S8"
        name = " ".join(word for _, word in row) or "all"
        for left, right in (("label 1", "label 0"), ("view PA", "view AP")):
            yield from _sum(
                table, f"{name}: {left} + {right}", found[left] + found[right], found["total"]
            )
        inner = [own for other, own in rows.items() if _one_step_inside(row, other)]
        for column, whole in found.items() if inner else ():
            yield from _sum(table, f"{name}: {column}", sum(own[column] for own in inner), whole)


def _one_step_inside(row: tuple[tuple[str, str], ...], other: tuple[tuple[str, str], ...]) -> bool:
    """Whether one row names one fact more than another. CheXpert is no part of the main set."""
    more = set(other) - set(row)
    return len(more) == 1 == len(other) - len(row) and more != {("source", "chexpert")}


def _sum(table: str, what: str, found: int, expected: int) -> Iterator[Flag]:
    if found != expected:
        yield Flag(
            where=f"Supplementary Table {table[1:]}",
            what=f"{what} do not add up",
            found=f"{found:,}",
            expected=f"{expected:,}",
            tables=(table,),
        )


def regimes(figures: Figures) -> Iterator[Flag]:
    """The three regimes part the parsed originals: not all cases, and not some of them."""
    for system in figures.systems:
        parsed = figures.n(system.name, "accuracy")
        counts = right_answers(figures, system.name)
        if counts is None or parsed is None:
            continue
        total = sum(counts)
        if total == parsed:
            continue
        if total == figures.cases:
            what = f"{total - parsed:,} unparsed replies stand under incorrect"
            yield _of(system.name, "3", what, f"{total:,}", f"{parsed:,} parsed cases", "D8")
        else:
            what = "the three regimes are neither all cases nor the parsed ones"
            expected = f"{figures.cases:,} or {parsed:,}"
            yield _of(system.name, "3", what, f"{total:,}", expected, "D8, section 17")


def accuracy_and_regimes(figures: Figures) -> Iterator[Flag]:
    """The right answers of Table 1 are those of Table 3."""
    for system in figures.systems:
        printed = figures.find(system.name, "accuracy")
        counts = right_answers(figures, system.name)
        if counts is None or printed is None or printed.record.value is None:
            continue
        fitting = counts_that_fit(printed.record.value, printed.record.n or 0, printed.half)
        if fitting and counts[0] not in fitting:
            what = "the two correct regimes do not hold the right answers of Table 1"
            rate = f"{percent(printed.record.value)} of {printed.record.n:,}"
            expected = f"{fitting[0]:,} to {fitting[-1]:,} ({rate})"
            yield _of(system.name, "3", what, f"{counts[0]:,}", expected, "section 17", "1")


def flips_and_regimes(figures: Figures) -> Iterator[Flag]:
    """A grounded-correct case is one that CGR counts as a flip."""
    for system in figures.systems:
        cgr = figures.find(system.name, "cgr")
        grounded = figures.n(system.name, "confidence", {"regime": REGIMES[0]})
        if cgr is None or cgr.record.value is None or grounded is None:
            continue
        fitting = counts_that_fit(cgr.record.value, cgr.record.n or 0, cgr.half)
        if grounded not in fitting:
            what = "grounded-correct cases are not the flips of CGR"
            expected = f"{' or '.join(map(str, fitting))} ({percent(cgr.record.value)} of "
            note = "D8: unparsed target answers are counted as flips"
            expected += f"{cgr.record.n})"
            yield _of(system.name, "3", what, str(grounded), expected, note, "1")


def parse_rates(figures: Figures) -> Iterator[Flag]:
    """The parse rate of the original is n of accuracy over all cases."""
    for system in figures.systems:
        rate = figures.find(system.name, "parse_rate")
        parsed = figures.n(system.name, "accuracy")
        if rate is None or rate.record.value is None or parsed is None:
            continue
        fitting = counts_that_fit(rate.record.value, figures.cases, rate.half)
        if fitting and parsed not in fitting:
            what = "n of accuracy is not what the parse rate leaves"
            share = f"{percent(rate.record.value)} of {figures.cases:,}"
            expected = f"{fitting[0]:,} to {fitting[-1]:,} ({share})"
            yield _of(system.name, "1", what, f"{parsed:,}", expected, "section 17", "S12")


def findings(figures: Figures) -> Iterator[Flag]:
    """Cases and flips of the findings add up to those of CGR, and no finding has too many."""
    cells: dict[str, dict[str, tuple[int, range]]] = {}
    for printed in figures.printed:
        record = printed.record
        if record.measure == "cgr" and set(record.by) == {"finding"} and record.value is not None:
            fitting = counts_that_fit(record.value, record.n or 0, printed.half)
            cells.setdefault(record.reader, {})[record.by["finding"]] = record.n or 0, fitting
    for reader, own in cells.items():
        cgr = figures.find(reader, "cgr")
        if cgr is None or cgr.record.value is None:
            continue
        n = sum(count for count, _ in own.values())
        if n != cgr.record.n:
            what = "the findings' cases do not add up to those of CGR"
            yield _of(reader, "S2", what, str(n), str(cgr.record.n), "", "1")
        flips = counts_that_fit(cgr.record.value, cgr.record.n or 0, cgr.half)
        if flips and all(fitting for _, fitting in own.values()):
            least, most = (sum(k[end] for _, k in own.values()) for end in (0, -1))
            if most < flips[0] or least > flips[-1]:
                what = "the findings' flips do not add up to those of CGR"
                yield _of(reader, "S2", what, f"{least} to {most}", f"{flips[0]} to {flips[-1]}")
        for finding, (count, _) in own.items():
            there = figures.n(CASES, "cases", {**_BOXED, "finding": finding})
            if there is not None and count > there:
                what = f"{finding} has more cases than the probe set"
                yield _of(reader, "S2", what, str(count), f"at most {there}", "", "S8")


def subgroups(figures: Figures) -> Iterator[Flag]:
    """A rate over all cases is a mean of the groups', with whole counts in each of two groups."""
    for reader, measure, key, values in _contrasts(figures):
        whole = figures.find(reader, measure)
        if whole is None or whole.record.value is None or not whole.record.n:
            continue
        rates = list(values.values())
        room = 2 * whole.half
        inside = min(rates) - room <= whole.record.value <= max(rates) + room
        fitting = counts_that_fit(whole.record.value, whole.record.n, whole.half)
        most = tuple(
            figures.n(CASES, "cases", {**_BOXED, key: group}) or whole.record.n
            if measure == "cgr"
            else whole.record.n
            for group in values
        )
        if not inside or (len(rates) == 2 and not _splits(rates, fitting, whole.record.n, most)):
            found = ", ".join(f"{group} {percent(rate)}" for group, rate in values.items())
            what = f"{measure} by {key}: no groups of the cases have these rates"
            expected = f"{percent(whole.record.value)} over {whole.record.n:,} cases"
            yield _of(reader, "2", what, found, expected, "", "1")


def _contrasts(figures: Figures) -> Iterator[tuple[str, str, str, Mapping[str, float]]]:
    groups: dict[tuple[str, str, str], dict[str, float | None]] = {}
    for printed in figures.printed:
        record = printed.record
        if printed.table == "2" and not record.measure.startswith("gap_"):
            ((key, group),) = record.by.items()
            groups.setdefault((record.reader, record.measure, key), {})[group] = record.value
    for (reader, measure, key), values in groups.items():
        known = {group: value for group, value in values.items() if value is not None}
        if len(known) == len(values):
            yield reader, measure, key, known


def _splits(rates: list[float], counts: range, n: int, most: tuple[int, ...]) -> bool:
    """Whether n cases with so many hits fall into two groups that print these rates."""
    for first in range(max(1, n - most[1]), min(n - 1, most[0]) + 1):
        second = n - first
        wanted = counts_that_fit(rates[1], second, 0.0005)
        for hits in counts_that_fit(rates[0], first, 0.0005):
            if any(total - hits in wanted for total in counts):
                return True
    return False


def stability(figures: Figures) -> Iterator[Flag]:
    """IS is defined over all parsed boxed cases; its n is that of the correct ones [D3]."""
    boxed = figures.n(CASES, "cases", _BOXED)
    for system in figures.systems:
        n, parsed = figures.n(system.name, "is"), figures.n(system.name, "accuracy")
        rate = figures.find(system.name, "parse_rate", {"condition": "irrelevant_mask"})
        if boxed is None or n is None or parsed is None or rate is None:
            continue
        if rate.record.value is None or system.modality == "vision":
            continue
        answered = counts_that_fit(rate.record.value, boxed, rate.half)
        # At worst every unparsed original is a boxed case.
        least = min(answered, default=0) - (figures.cases - parsed)
        if n < least:
            what = "IS stands on fewer cases than were parsed under both conditions"
            expected = f"at least {least} of {boxed}"
            yield _of(system.name, "1", what, f"n={n}", expected, "D3", "S12")


def _of(
    reader: str, table: str, what: str, found: str, expected: str, note: str = "", *also: str
) -> Flag:
    where = f"Supplementary Table {table[1:]}" if table.startswith("S") else f"Table {table}"
    return Flag(
        where=where,
        what=what,
        found=found,
        expected=expected,
        reader=reader,
        tables=(table, *also),
        note=note,
    )


CHECKS: Final = (
    composition,
    regimes,
    accuracy_and_regimes,
    flips_and_regimes,
    parse_rates,
    findings,
    subgroups,
    stability,
)
