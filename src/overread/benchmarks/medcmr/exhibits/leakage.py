"""Has a reader seen the reference answers? How alike are their words?"""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.medcmr.exhibits.columns import interval_notes
from overread.case import Table

__all__ = ["leakage_table"]

_KINDS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("MCQ-converted", {"kind": "reformulated"}),
    ("open", {"kind": "open"}),
    ("overall", {}),
)
_NAMES: Final = {"rouge_l": "ROUGE-L", "edit_similarity": "edit similarity"}


def leakage_table(index: Index, signature: str) -> Table | None:
    """The paper's Tables 4 and 5 side by side."""
    columns = [
        (f"{said}, {kind}", name, by) for name, said in _NAMES.items() for kind, by in _KINDS
    ]
    rows = [
        (reader, *(cell(index.get(reader, name, **by)) for _, name, by in columns))
        for reader in index.readers
        if any(index.get(reader, name, **by) for _, name, by in columns)
    ]
    return table(
        "leakage",
        "Does it repeat the reference answers?",
        ("reader", *(heading for heading, _, _ in columns)),
        rows,
        signature,
        (
            "High likeness in words would mean that a reader may have seen the answers; low "
            "likeness does not prove that it has not.",
            "From 0 to 100, the mean over replies. ROUGE-L: the most words in common in the "
            "same order, as an F-score; edit similarity: 100 less the share of characters to be "
            "changed. MCQ-converted: multiple-choice items asked without their options.",
            *interval_notes(index, *_NAMES),
        ),
    )
