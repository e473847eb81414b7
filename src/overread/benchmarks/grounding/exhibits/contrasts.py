"""Supplementary Table 1 and its kin: one reader against another on the cases both decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell, p_value, table
from overread.benchmarks.grounding.exhibits.index import Index
from overread.case import Table

__all__ = ["BASELINE", "DIFFERENCES", "against_baselines", "pairwise"]

# The kinds of comparison, as comparisons.py names them; it imports numpy, and this module is
# imported with the benchmark.
BASELINE: Final = "text_baseline"
PAIRWISE: Final = "pairwise"

DIFFERENCES: Final = (
    ("diff_accuracy", "accuracy"),
    ("diff_uar", "UAR"),
    ("diff_cgr", "CGR"),
    ("diff_is", "IS"),
)
_COLUMNS: Final = ("reader", "against", "rate", "difference", "both rates", "p", "q")
_NOTES: Final = (
    "Percentage points [95 % interval] on the cases that decide the rate for both readers.",
    "p of the paired bootstrap; q is adjusted within a family of comparisons "
    "(Benjamini–Hochberg). † q < 0.05.",
)


def against_baselines(index: Index, signature: str) -> Table | None:
    """Every reader less each reader that gets no image."""
    title = "Is it better than a reader without the image?"
    rows = _rows(index, BASELINE)
    return table("comparisons", title, _COLUMNS, rows, signature, _NOTES, facts=3)


def pairwise(index: Index, signature: str) -> Table | None:
    """Every reader less every other."""
    title = "How do the readers differ, two by two?"
    rows = _rows(index, PAIRWISE)
    return table("pairwise", title, _COLUMNS, rows, signature, _NOTES, facts=3)


def _rows(index: Index, kind: str) -> Iterator[tuple[str, ...]]:
    for name, title in DIFFERENCES:
        for record in index.all(name, "versus", "comparison"):
            if record.by["comparison"] == kind:
                mark = "†" if record.q is not None and record.q < 0.05 else ""
                yield (
                    record.reader,
                    record.by["versus"],
                    title,
                    cell(record),
                    _both(record.note),
                    p_value(record.p),
                    p_value(record.q) + mark,
                )


def _both(note: str | None) -> str:
    """The rates that were compared, from fractions to percent: `0.6620 against 0.6050`."""
    if note is None:
        return NOT_KNOWN
    first, _, second = note.partition(" against ")
    try:
        return f"{100 * float(first):.1f} against {100 * float(second):.1f}"
    except ValueError:
        return note
