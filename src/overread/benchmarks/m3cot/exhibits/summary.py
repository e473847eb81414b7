"""The first table, a row per reader; the paper's two tables; and who judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits import panels
from overread.benchmarks.exhibits.cells import NOT_KNOWN, table
from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell, plain, worth
from overread.benchmarks.exhibits.panels import Part
from overread.case import Measure, Table

__all__ = ["COLUMNS", "PARTS", "notes_on_judges", "paper_tables", "summary"]

PARTS: Final = {
    name: Part(said, measure, {"question": name}, keys)
    for name, said, measure, keys in (
        ("answer", "answers", "accuracy", ("mode",)),
        ("precision", "the reply's steps", "precision", ()),
        ("recall", "the gold steps", "recall", ()),
        ("order", "the order", "consistency", ()),
    )
}
"""By question."""


def notes_on_judges(index: Index, questions: Sequence[str]) -> Iterator[str]:
    """Who judged these, how fit each is, and what the marks mean."""
    return panels.notes_on_judges(index, [PARTS[question] for question in questions])


_DIRECT: Final = (("mode", "direct"),)
_COT: Final = (("mode", "cot"),)
COLUMNS: Final = (
    Column("accuracy direct", "accuracy", _DIRECT, "answer"),
    Column("accuracy CoT", "accuracy", _COT, "answer"),
    Column("impact", "impact", question="answer"),
    Column("precision", "precision", question="precision"),
    Column("recall", "recall", question="recall"),
    Column("F1", "f1", question="precision"),
    Column("consistency", "consistency", question="order"),
    Column("efficiency", "efficiency", question="recall"),
    Column("latency", "latency"),
)
_TITLE: Final = "Does it reason as a clinician would?"
_WHAT_IT_SAYS: Final = (
    "Percent; impact in points: accuracy with reasoning (CoT) less accuracy without. Precision: "
    "of a reply's steps those that match the gold steps; recall: of the gold steps those in the "
    "reply. Consistency: how alike the order of steps is within a task."
)
_TIMES: Final = (
    "Efficiency: gold steps matched a second of reasoning; latency: time with reasoning over time "
    "without. Times as they were recorded; not comparable across machines."
)
_INTERVAL: Final = "[95 % interval] over items (patients, where they are known)."


def summary(index: Index, signature: str) -> Table:
    """What counts, in one row per reader."""
    kept = [column for column in COLUMNS if column.stands(index)] or list(COLUMNS[:7])
    rows = tuple(
        (reader, *(cell(column.of(index, reader)) for column in kept)) for reader in index.readers
    )
    return Table(
        name="summary",
        title=_TITLE,
        columns=("reader", *(column.heading for column in kept)),
        rows=rows,
        signature=signature,
        notes=tuple(_summary_notes(index, kept)),
    )


def _summary_notes(index: Index, kept: Sequence[Column]) -> Iterator[str]:
    yield from notes_on_judges(index, ("answer", "precision", "recall", "order"))
    yield _WHAT_IT_SAYS
    timed = [column for column in kept if column.measure in ("efficiency", "latency")]
    if timed:
        yield _TIMES
    else:
        yield _no_times(index)
    left = _left_out(index)
    if left:
        yield left
    yield _INTERVAL


def _no_times(index: Index) -> str:
    """Why there is neither efficiency nor latency."""
    records = [record for name in ("efficiency", "latency") for record in index.all(name)]
    left_out = "Efficiency and latency are left out"
    if any(record.n for record in records):
        return f"{left_out}: replies were timed, but no time was recorded (0 s)."
    said = {record.note for record in records if record.note}
    why = f" ({'; '.join(sorted(said))})" if said else ""
    return f"{left_out}{why}: a run with --set timing=N times N items."


def _left_out(index: Index) -> str:
    """What of a number stands on no verdict or no answer; each note once."""
    said: dict[str, None] = {}
    for reader in index.readers:
        for column in COLUMNS[:7]:
            record = column.of(index, reader)
            if record is not None and record.value is not None and record.note:
                said.setdefault(f"{reader}, {column.heading}: {record.note}")
    some = list(said)[:6]
    more = f"; and {len(said) - 6} more, in measures.json" if len(said) > 6 else ""
    return "; ".join(some) + more + "." if some else ""


# ---------------------------------------------------------------- as the paper has it

_TABLE_2: Final = (
    Column("F1", "f1", question="precision"),
    Column("P", "precision", question="precision"),
    Column("R", "recall", question="recall"),
    Column("Acc direct", "accuracy", _DIRECT, "answer"),
    Column("Acc step", "accuracy", _COT, "answer"),
    Column("I", "impact", question="answer"),
    Column("E", "efficiency", question="recall"),
    Column("L", "latency"),
    Column("C path", "consistency", question="order"),
)
_TABLE_A2: Final = (
    Column("direct, s", "seconds", _DIRECT),
    Column("CoT, s", "seconds", _COT),
)


def paper_tables(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 2 and A2, as the paper lays them out: two decimals, no intervals."""
    if any(column.stands(index) for column in _TABLE_2):
        yield _table_2(index, signature)
    if any(column.stands(index) for column in _TABLE_A2):
        yield _table_a2(index, signature)


def _table_2(index: Index, signature: str) -> Table | None:
    rows = [
        (reader, *(_as_printed(column.of(index, reader)) for column in _TABLE_2))
        for reader in index.readers
    ]
    return table(
        "table_2",
        "As in Table 2 of the paper",
        ("reader", *(column.heading for column in _TABLE_2)),
        rows,
        signature,
        (
            "Laid out as the paper prints it, to be held beside it; the intervals are in "
            f'"{_TITLE}" The command overread published m3cot prints the paper\'s own rows.',
            *notes_on_judges(index, ("answer", "precision", "recall", "order")),
        ),
    )


def _table_a2(index: Index, signature: str) -> Table | None:
    return table(
        "table_a2",
        "As in Table A2 of the paper: seconds of a question",
        ("reader", *(column.heading for column in _TABLE_A2)),
        [
            (reader, *(cell(column.of(index, reader)) for column in _TABLE_A2))
            for reader in index.readers
        ],
        signature,
        ("Mean seconds of a reply, as recorded; not comparable across machines.", _INTERVAL),
    )


def _as_printed(record: Measure | None) -> str:
    if record is None:
        return NOT_ASKED
    if record.value is None:
        return NOT_KNOWN
    if record.measure in ("efficiency", "latency"):
        return f"{record.value:.2f}{worth(record)}"
    return plain(record, decimals=2) + worth(record)
