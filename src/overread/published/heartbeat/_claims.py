"""What the running text says of the tables, and EF where only one frame was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from overread.published._flag import Flag
from overread.published._printed import Figures
from overread.published.heartbeat._rows import (
    CONTEXTS,
    FORMATS,
    FRAME_TABLES,
    NUMBERS,
    PHASES,
    errors,
    named,
    places,
)

__all__ = ["CHECKS"]

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


CHECKS: Final = (best, above, better_than_guesses, one_frame)
