"""What the two spreads of the same errors say, over seeds (Tables 1-4) and over videos (5-7), and what
the running text says of the tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from overread.published import Figures, Flag
from overread.published._figures import Printed
from published.arithmetic.heartbeat_rows import (
    CONTEXTS,
    FORMATS,
    FRAME_TABLES,
    NUMBERS,
    PHASES,
    SEEDS,
    errors,
    named,
    places,
)

# ---------------------------------------------------------------- two spreads of the same errors

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


# ---------------------------------------------------------------- what the text says, and EF of one frame

# Section 5: all single-phase errors exceed so many frames.
_SAID_ABOVE: Final = 6


class _Best(NamedTuple):
    """Section 4.1: this reader is the best in a context and format, in these phases."""

    reader: str
    context: str
    format: str
    phases: tuple[str, ...]


_SAID_BEST: Final = (
    _Best("Gemma-3n", "original", "edv_esv", ("ed",)),
    _Best("LLaVA-NeXT-Video-34B", "original", "edv_esv", ("es",)),
    _Best("Qwen3-VL-8B", "original", "esv_edv", PHASES),
    _Best("Gemma-3n", "original", "esv", ("es",)),
    _Best("Qwen3-VL-8B", "original", "edv", ("ed",)),
    _Best("LLaVA-NeXT-Video-34B", "segmented", "edv_esv", PHASES),
    _Best("Gemma-3n", "segmented", "esv_edv", PHASES),
    _Best("Gemma-3n", "segmented", "esv", ("es",)),
    _Best("Gemma-3n", "non_medical", "esv", ("es",)),
)


def best(figures: Figures) -> Iterator[Flag]:
    """Who is said to be the best has the smallest error."""
    for said in _SAID_BEST:
        for phase in said.phases:
            by = {
                "task": "t1",
                "context": said.context,
                "format": said.format,
                "phase": phase,
            }
            rivals = [
                (printed.record.value, printed)
                for system in figures.systems
                if (printed := figures.find(system.name, "mae", by)) is not None
                and printed.record.value is not None
            ]
            own = figures.find(said.reader, "mae", by)
            if own is None or own.record.value is None:
                continue
            least, first = min(rivals, key=lambda rival: rival[0])
            if least < own.record.value:
                yield Flag(
                    where="Section 4.1",
                    what=f"said to be the best on {CONTEXTS[said.context]} {said.format}",
                    found=f"{own.cell} for {phase.upper()}",
                    expected=f"the smallest, which is {first.cell} of {first.record.reader}",
                    reader=said.reader,
                    tables=(FRAME_TABLES[said.context], "text"),
                    note=NUMBERS,
                )


def above(figures: Figures) -> Iterator[Flag]:
    """All single-phase errors are said to exceed six frames."""
    for system in figures.systems:
        below = [
            printed
            for printed, value in errors(figures)
            if printed.record.reader == system.name
            and len(FORMATS[printed.record.by["format"]]) == 1
            and value <= _SAID_ABOVE
        ]
        if below:
            yield Flag(
                where="Section 5",
                what=f"all errors where one phase is asked for are said to exceed {_SAID_ABOVE} "
                "frames",
                found=places(below),
                expected=f"more than {_SAID_ABOVE}",
                reader=system.name,
                tables=tuple(dict.fromkeys(printed.table for printed in below)),
                note=NUMBERS,
            )


def better_than_guesses(figures: Figures) -> Iterator[Flag]:
    """Most models are said to surpass the guesses on the non-medical question."""
    smaller: dict[str, list[bool]] = {}
    for printed, value in errors(figures):
        by = {key: printed.record.by[key] for key in ("task", "context", "phase")}
        guess = figures.find("Random", "chance_mae", by)
        if by["context"] == "non_medical" and guess is not None and guess.record.value is not None:
            smaller.setdefault(printed.record.reader, []).append(value < guess.record.value)
    mostly = [own for own in smaller.values() if 2 * sum(own) > len(own)]
    if smaller and 2 * len(mostly) <= len(smaller):
        all_of_them = [one for own in smaller.values() for one in own]
        yield Flag(
            where="Table 3",
            what="most models are said to surpass the guesses",
            found=f"{sum(all_of_them)} of {len(all_of_them)} errors are smaller; in more than half "
            f"of its own, {len(mostly)} of {len(smaller)} models",
            expected=f"more than {len(smaller) // 2} models",
            tables=("3", "text"),
            note=NUMBERS,
        )


def one_frame(figures: Figures) -> Iterator[Flag]:
    """EF needs two frames; a question for one names one."""
    single = [
        printed
        for printed, _ in errors(figures, "ef_mae")
        if len(FORMATS.get(printed.record.by.get("format", ""), PHASES)) == 1
    ]
    if not single:
        return
    again = [figures.find(p.record.reader, "ef_mae_videos", p.record.by) for p in single]
    missing = "" if any(again) else "; Table 7 has none of them"
    yield Flag(
        where=single[0].where,
        what="EF where one frame was asked for: with which other frame is not said, and no code for"
        " EF is published",
        found=f"{len(single)} errors of EF, {named(single[0])}{missing}",
        expected="none, or how the two frames were put together",
        tables=(single[0].table, "7"),
        note=f"{NUMBERS}; HEARTBEAT 7",
    )


CHECKS: Final = (
    one_seed,
    out_of_range,
    few_videos,
    two_means,
    two_means_of_ef,
    heading,
    best,
    above,
    better_than_guesses,
    one_frame,
)
