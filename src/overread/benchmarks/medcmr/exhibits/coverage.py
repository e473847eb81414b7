"""Replies that say nothing, cannot be read or break off; and verdicts that could be read."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell
from overread.benchmarks.medcmr.exhibits.columns import interval_notes
from overread.case import Table

__all__ = ["coverage_table"]

_KINDS: Final = {"mcq": "multiple choice", "open": "open", "reformulated": "reformulated"}
_RATES: Final = {
    "invalid_rate": "invalid",
    "refused_rate": "refused",
    "unanswered_rate": "unanswered",
    "cut_off_rate": "cut off",
}


def coverage_table(index: Index, signature: str) -> Table | None:
    """A row per reader and kind of item."""
    judges = list(
        dict.fromkeys(record.by["judge"] for record in index.all("judged_rate", "kind", "judge"))
    )
    rows = []
    for reader in index.readers:
        for kind, said in _KINDS.items():
            found = [index.get(reader, name, kind=kind) for name in _RATES]
            judged = [index.get(reader, "judged_rate", kind=kind)]
            if len(judges) > 1:
                judged += [index.get(reader, "judged_rate", kind=kind, judge=j) for j in judges]
            if any(found) or any(judged):
                verdicts = [NOT_ASKED if kind == "mcq" else cell(one) for one in judged]
                rows.append((reader, said, *map(cell, found), *verdicts))
    each = [f"verdicts of {judge}" for judge in judges] if len(judges) > 1 else []
    return table(
        "coverage",
        "What of the replies could be used?",
        ("reader", "kind", *_RATES.values(), "verdicts read", *each),
        rows,
        signature,
        (
            "Where much is invalid, refused or cut off, a low score is one of format or of length "
            "and says little about medicine.",
            "Percent of what was asked. Invalid: no letter could be read, or no answer section; "
            "refused: it declined; unanswered: no reply came; cut off: it ran out of tokens. All "
            "but the last count as wrong in accuracy, and as 0 in judged scores where there is "
            "nothing to judge. Verdicts read: of replies to be judged, those with a verdict that "
            "could be read.",
            *interval_notes(index, *_RATES, "judged_rate"),
        ),
        facts=2,
    )
