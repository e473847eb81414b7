"""Table 3: how sure a reader was, by what became of its answer."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell, percent, table
from overread.benchmarks.grounding.exhibits.index import Index
from overread.case import Measure, Table

__all__ = ["REGIMES", "confidence"]

REGIMES: Final = (
    ("grounded_correct", "grounded-correct"),
    ("ungrounded_correct", "ungrounded-correct"),
    ("incorrect", "incorrect"),
)
_CALIBRATION: Final = (
    ("auroc", "AUROC"),
    ("brier", "Brier"),
    ("ece_answer", "ECE of the answer"),
    ("ece_label", "ECE of P(Yes)"),
    ("ece_authors", "ECE as published"),
)
# What is averaged, and the `by` of its records beside the regime [D8, D8b].
_AVERAGED: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("P(Yes)", {}),
    ("P(answer)", {"of": "answer"}),
    ("P(Yes), regimes by swap", {"definition": "metrics"}),
)
_NOTES: Final = (
    "Mean confidence in percent ± standard deviation over cases. Grounded-correct: correct, and "
    "the target mask flips the answer; all of these are Yes answers, so their P(Yes) is high "
    "partly by construction.",
    "AUROC, Brier score and expected calibration error (ECE, ten bins) in percent [95 % interval]. "
    "ECE of the answer: confidence in the answer given against its being correct. ECE of P(Yes): "
    "against the key. ECE as published: P(Yes) against being correct, which is neither.",
)


def confidence(index: Index, signature: str) -> Table | None:
    """Mean confidence by regime, and calibration."""
    return table(
        "confidence",
        "Does confidence tell when it looked?",
        ("reader", "averaged", *(t for _, t in REGIMES), *(t for _, t in _CALIBRATION)),
        (row for reader in index.readers for row in _rows(index, reader)),
        signature,
        (*_NOTES, *_reasons(index)),
        facts=2,
    )


def _rows(index: Index, reader: str) -> Iterator[tuple[str, ...]]:
    for place, (title, by) in enumerate(_AVERAGED):
        found = [index.get(reader, "confidence", regime=name, **by) for name, _ in REGIMES]
        if place and not any(found):
            continue
        calibration = [cell(index.get(reader, name)) for name, _ in _CALIBRATION]
        yield (reader, title, *map(_mean, found), *(calibration if not place else _BLANK))


_BLANK: Final = ("",) * len(_CALIBRATION)


def _mean(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    spread = ""
    if record.se is not None and record.n is not None:
        spread = f" ± {percent(record.se * sqrt(record.n))}"
    return f"{percent(record.value)}{spread} n={record.n}"


def _reasons(index: Index) -> Iterator[str]:
    """Why a reader has no calibration."""
    for reader in index.readers:
        record = index.get(reader, "auroc")
        if record is not None and record.value is None and record.note:
            yield f"{reader}: no calibration; {record.note}."
