"""What a reader of the report sees first: one row per reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.case import Measure, Table

__all__ = ["summary"]

_COLUMNS: Final = (
    ("accuracy", "accuracy"),
    ("sensitivity", "sensitivity"),
    ("specificity", "specificity"),
    ("cgr", "CGR"),
    ("uar", "UAR"),
    ("is", "IS"),
    ("gsp", "GSP"),
    ("parse_rate", "parse rate"),
)
_NOTES: Final = (
    "Percent [95 % interval]; n is the number of cases a rate stands on; GSP in percentage points.",
    "CGR: correct Yes the target mask flips. UAR: correct answers another patient's image leaves. "
    "IS: correct answers a mask elsewhere leaves. GSP: CGR less the flips any mask causes.",
    "A category describes behaviour on these cases. It is no evidence of clinical safety.",
)


def summary(measures: Sequence[Measure], signature: str) -> Table:
    """Category, accuracy and the causal triad of every reader, each with interval and n."""
    overall: dict[str, dict[str, Measure]] = {}
    for record in measures:
        if not record.by:
            overall.setdefault(record.reader, {})[record.measure] = record
    return Table(
        name="summary",
        title="Did it look at the image?",
        columns=("reader", "category", *(title for _, title in _COLUMNS)),
        rows=tuple(_row(reader, found) for reader, found in overall.items()),
        signature=signature,
        notes=(*_NOTES, *_remarks(overall)),
    )


def _row(reader: str, found: dict[str, Measure]) -> tuple[str, ...]:
    category = found.get("category")
    word = category.label if category is not None else None
    return (reader, word or "n/a", *(_cell(found.get(name)) for name, _ in _COLUMNS))


def _cell(record: Measure | None) -> str:
    if record is None or record.value is None:
        return "n/a"
    sign = "+" if record.measure == "gsp" else ""
    cell = f"{100 * record.value:{sign}.1f}"
    if record.low is not None and record.high is not None:
        cell += f" [{100 * record.low:{sign}.1f}, {100 * record.high:{sign}.1f}]"
    return cell if record.n is None else f"{cell} n={record.n}"


def _remarks(overall: dict[str, dict[str, Measure]]) -> Iterator[str]:
    for reader, found in overall.items():
        category = found.get("category")
        if category is not None and category.note:
            yield f"{reader}: {category.note}."
