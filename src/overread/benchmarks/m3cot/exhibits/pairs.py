"""Every reader against every other, on the same items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import p_value, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.m3cot.exhibits.panels import notes_on_judges
from overread.case import Measure, Table

__all__ = ["impact_table", "pairs_table"]

_COMPARED: Final = {
    "diff_accuracy": "accuracy",
    "diff_precision": "precision",
    "diff_recall": "recall",
    "diff_f1": "F1",
    "diff_consistency": "consistency",
}


def pairs_table(index: Index, signature: str) -> Table | None:
    """Differences with their intervals and tests."""
    rows = [
        (record.reader, record.by["versus"], said, cell(record), p_value(record.p), _q(record))
        for record, said in _differences(index)
    ]
    return table(
        "pairs",
        "Who reasons better?",
        ("reader", "less", "measure", "difference", "p", "q"),
        rows,
        signature,
        (
            "Points of percent on the same items. p: accuracy by McNemar's exact test (one judge) "
            "or flips of sign, precision and recall by flips of sign, consistency by exchanging "
            "replies; F1 has its interval only. q: Benjamini and Hochberg's within a measure.",
            *notes_on_judges(index, ("answer", "precision", "recall", "order")),
        ),
        facts=3,
    )


def _differences(index: Index) -> Iterator[tuple[Measure, str]]:
    for name, said in _COMPARED.items():
        for record in index.all(name, "versus"):
            yield record, said
        for record in index.all(name, "mode", "versus"):
            yield record, f"{said} {'CoT' if record.by['mode'] == 'cot' else record.by['mode']}"


def impact_table(index: Index, signature: str) -> Table | None:
    """Does reasoning help? By judge, for judges need not agree."""
    rows = [
        (reader, judge, cell(record), p_value(record.p), _q(record))
        for reader in index.readers
        for judge, record in _impacts(index, reader)
    ]
    return table(
        "impact",
        "Does reasoning help?",
        ("reader", "judge", "impact", "p", "q"),
        rows,
        signature,
        (
            "Accuracy with reasoning less accuracy without, in points, on the same items. p of one "
            "judge: McNemar's exact test; of the mean of several: flips of sign.",
            *notes_on_judges(index, ("answer",)),
        ),
        facts=2,
    )


def _impacts(index: Index, reader: str) -> Iterator[tuple[str, Measure]]:
    judges = index.groups("impact", "judge")
    whole = index.known(reader, "impact")
    if whole is not None and len(judges) != 1:
        yield "mean of all", whole
    for judge in judges:
        record = index.known(reader, "impact", judge=judge)
        if record is not None:
            yield judge, record


def _q(record: Measure) -> str:
    return p_value(record.q)
