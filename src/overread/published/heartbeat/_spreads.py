"""What the two spreads of the same errors say: over seeds (Tables 1-4) and over videos (5-7)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from overread.published._flag import Flag
from overread.published._printed import Figures, Printed
from overread.published.heartbeat._rows import NUMBERS, SEEDS, errors, named, places

__all__ = ["CHECKS"]

# Printed twice from unrounded numbers: half a unit each.
_SLACK: Final = 1e-9
# SD / mean of n values of which one alone counts is sqrt(n), with ddof 1.
_NEARLY_ONE: Final = 0.95
# How near to the largest possible SD a spread of R² is no accident.
_NEARLY_ALL: Final = 0.85


def one_seed(figures: Figures) -> Iterator[Flag]:
    """Of n values that are not negative, SD / mean is at most sqrt(n - 1), with ddof 1 sqrt(n)."""
    for printed, value in errors(figures):
        if printed.spread is None or printed.spread <= math.sqrt(SEEDS - 1) * value:
            continue
        over = figures.find(printed.record.reader, "mae_videos", printed.record.by)
        also = "" if over is None else f"; over videos {over.cell}"
        tables = (printed.table,) if over is None else (printed.table, over.table)
        total = f"{value * SEEDS * figures.cases / 1e6:.2g} million"
        if over is not None and (over.spread or 0.0) >= _NEARLY_ONE * math.sqrt(figures.cases) * (
            over.record.value or 0.0
        ):
            who, off = "one video of one seed makes", f"that video is about {total} frames off"
        else:
            who, off = "one seed makes", f"its videos are about {total} frames off together"
        yield Flag(
            where=printed.where,
            what=f"{who} this mean, and ± can be so large with ddof 1 only",
            found=f"{printed.cell} ({named(printed)}){also}",
            expected=f"no mean without a median: {off}",
            reader=printed.record.reader,
            tables=tables,
            note=NUMBERS,
        )


def out_of_range(figures: Figures) -> Iterator[Flag]:
    """No frame of a window is further off than the window is long."""
    longest = figures.find("windows", "longest_window", {"task": "t1"})
    if longest is None or longest.record.value is None:
        return
    most = longest.record.value - 1
    for system in figures.systems:
        beyond = [
            printed
            for printed, value in errors(figures)
            if printed.record.reader == system.name and value > most
        ]
        if beyond:
            tables = tuple(dict.fromkeys(printed.table for printed in beyond))
            yield Flag(
                where=beyond[0].where,
                what="errors that no frame of a window can make: answers beyond the range are "
                "kept, and what EF they have is not said",
                found=places(beyond),
                expected=f"at most {most:.0f} frames",
                reader=system.name,
                tables=tables,
                note=NUMBERS,
            )


def few_videos(figures: Figures) -> Iterator[Flag]:
    """Values between 0 and 1 have no larger SD than sqrt(m(1 - m) n / (n - 1))."""
    for printed, mean in errors(figures, "r2"):
        largest = math.sqrt(mean * (1 - mean) * SEEDS / (SEEDS - 1))
        if mean > printed.half and (printed.spread or 0.0) >= _NEARLY_ALL * largest:
            yield Flag(
                where=printed.where,
                what="R² is near 0 for some seeds and near 1 for others, as of two or three videos",
                found=f"{printed.cell} ({named(printed)})",
                expected=f"far less than {largest:.2f}, the largest SD this mean allows; the "
                "number of videos with an answer is not printed",
                reader=printed.record.reader,
                tables=(printed.table,),
                note=f"{NUMBERS}; HEARTBEAT 3: this prompt lacks the line that asks for one line",
            )


def two_means(figures: Figures) -> Iterator[Flag]:
    """Without missing answers a mean over seeds is the mean over videos.

    Truncated answers lie earlier by a third of a frame on average: that lowers the error where they
    are too late, as for ED, and raises it where they are too early, as for ES (HEARTBEAT 7).
    """
    for system in figures.systems:
        pairs = [
            (printed, other)
            for printed, _ in errors(figures)
            if printed.record.reader == system.name
            and (other := figures.find(system.name, "mae_videos", printed.record.by)) is not None
        ]
        apart = [pair for pair in pairs if _apart(*pair)]
        if not apart:
            continue
        ed = [_less(*pair) for pair in apart if pair[0].record.by["phase"] == "ed"]
        es = [not _less(*pair) for pair in apart if pair[0].record.by["phase"] == "es"]
        first, again = apart[0]
        yield Flag(
            where="Tables 1 to 3 and 5 to 7",
            what=f"{len(apart)} of {len(pairs)} errors are not the same in both",
            found=f"{first.cell} and {again.cell} ({named(first)}); of these Tables 1 to 3 are "
            f"lower in {sum(ed)} of {len(ed)} for ED and higher in {sum(es)} of {len(es)} for ES",
            expected="equal means, were no answer missing or cut to a whole frame in one of them",
            reader=system.name,
            tables=("1", "2", "3", "5", "6", "7"),
            note=f"{NUMBERS}; HEARTBEAT 7: the code cuts to whole frames",
        )


def two_means_of_ef(figures: Figures) -> Iterator[Flag]:
    """EF is printed twice too: its errors are kept with fractions, so nothing is cut there."""
    pairs = [
        (printed, other)
        for printed, _ in errors(figures, "ef_mae")
        if "format" in printed.record.by
        and (other := figures.find(printed.record.reader, "ef_mae_videos", printed.record.by))
    ]
    apart = [pair for pair in pairs if _apart(*pair)]
    if apart:
        first, again = max(apart, key=lambda pair: _far(*pair))
        yield Flag(
            where="Tables 1 to 3 and 5 to 7",
            what=f"{len(apart)} of {len(pairs)} errors of EF are not the same in both",
            found=f"{first.cell} and {again.cell} of {first.record.reader} ({named(first)}); "
            f"Tables 1 to 3 are lower in {sum(_less(*pair) for pair in apart)} of {len(apart)}",
            expected="equal means, were no answer missing; how many are is not printed",
            tables=("1", "2", "3", "5", "6", "7"),
            note=NUMBERS,
        )


def heading(figures: Figures) -> Iterator[Flag]:
    """The heading of Appendix A calls its spreads those of seeds; over seeds they cannot be.

    The SD of ten values that are not negative is at most sqrt(10) times their mean, with ddof 1.
    """
    pairs = [
        (printed, other)
        for printed, _ in errors(figures)
        if (other := figures.find(printed.record.reader, "mae_videos", printed.record.by))
        and printed.spread is not None
        and other.spread is not None
    ]
    larger = [other for one, other in pairs if (other.spread or 0.0) > (one.spread or 0.0)]
    beyond = [
        other
        for other in larger
        if (other.spread or 0.0) > math.sqrt(SEEDS) * (other.record.value or 0.0)
    ]
    if beyond:
        yield Flag(
            where="Appendix A",
            what="headed as spreads of training over random seeds; nothing is trained, and its "
            "tables say that they are over videos",
            found=f"{len(larger)} of {len(pairs)} spreads are larger than over seeds, {len(beyond)}"
            f" larger than any over {SEEDS} seeds, such as {beyond[0].cell} ({named(beyond[0])})",
            expected=f"a heading of spreads over videos; over seeds ± is at most "
            f"{math.sqrt(SEEDS):.2f} times the mean",
            tables=("1", "2", "3", "5", "6", "7", "text"),
            note=NUMBERS,
        )


def _far(one: Printed, other: Printed) -> float:
    return abs((one.record.value or 0.0) - (other.record.value or 0.0))


def _apart(one: Printed, other: Printed) -> bool:
    return _far(one, other) > one.half + other.half + _SLACK


def _less(one: Printed, other: Printed) -> bool:
    return (one.record.value or 0.0) < (other.record.value or 0.0)


CHECKS: Final = (one_seed, out_of_range, few_videos, two_means, two_means_of_ef, heading)
