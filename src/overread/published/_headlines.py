"""Which papers have a headline of their own; the others take the layout of our summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.case import Measure, Table
from overread.published import heartbeat, m3cot, medcmr
from overread.published._flag import Flag
from overread.published._printed import Figures

__all__ = ["headline_of", "headline_tables", "shown_of"]

# The tables whose figures, and whose flags, a headline shows: the first one elsewhere.
_TABLES = {"heartbeat": ("1", "2", "3", "4"), "m3cot": ("2", "A2"), "medcmr": ("2", "3")}
_HEADLINES = {"heartbeat": heartbeat.headline, "m3cot": m3cot.headline, "medcmr": medcmr.headline}


def headline_tables(found: Figures) -> tuple[str, ...]:
    """The tables of the paper that its headline is made of."""
    return _TABLES.get(found.benchmark, found.tables[:1])


def headline_of(
    found: Figures, beside: Sequence[tuple[str, Sequence[Measure]]], flags: Sequence[Flag]
) -> list[Table] | None:
    """The paper's own headline with runs (name, measures) beside it; None where it has none."""
    made = _HEADLINES.get(found.benchmark)
    return None if made is None else made(found, beside, flags)


def shown_of(found: Figures, run: str, signature: str, asked: str) -> Iterator[str]:
    """What a run beside the paper showed, where that differs, and how to come nearer to the paper.

    `asked` is the edition its readers were asked under, empty for an import.
    """
    if found.benchmark == "heartbeat":
        yield from heartbeat.shown(found.comparing, run, signature, asked)
    elif "|edition:corrected" in signature:
        yield f"`overread measure {run} --edition authors` gives the authors' definitions."
