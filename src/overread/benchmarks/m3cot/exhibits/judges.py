"""Can the judges be trusted: on replies of known truth, with each other, and to be read at all?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.judges import agreement_table, fitness_table
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.m3cot.exhibits.panels import PARTS
from overread.case import Measure, Table

__all__ = ["judge_tables"]

_OUTCOMES: Final = (
    "verdicts_judged",
    "verdicts_rescued",
    "verdicts_invalid",
    "verdicts_unanswered",
)
_LONGEST: Final = 160
# The harmless changes of `judging.sensitivity`, as columns.
_CHANGES: Final = {
    "sections": "changed by the parts' order",
    "steps": "changed by the gold steps' order",
    "length": "changed by length",
}
_SHIFT_NOTE: Final = (
    "Changed: of its verdicts on these replies, the share that is another when the parts of the "
    "prompt or the gold steps stand in reverse, or when polite words that say nothing go before "
    "the reply (the order then without others). Verdicts on one reply count as if they were "
    "independent."
)
_AGREEMENT_NOTE: Final = (
    "Kappa: Cohen's, agreement beyond that of judges who say as often what these say, but by lot; "
    "n/a where both said one thing only. Intervals: items are drawn again and again, each with all "
    "verdicts on its replies (a patient with all its items)."
)


def judge_tables(index: Index, signature: str) -> Iterator[Table | None]:
    """Fitness, agreement, and verdicts that could be read."""
    parts = list(PARTS.values())
    yield fitness_table(index, signature, parts, _CHANGES, _SHIFT_NOTE)
    yield agreement_table(index, signature, parts, "task", _AGREEMENT_NOTE)
    yield _verdicts(index, signature)


def _verdicts(index: Index, signature: str) -> Table | None:
    """Replies that were there, and verdicts that could be read."""
    rows = []
    for record in _plain_records(index):
        by = record.by
        answered = index.get(record.reader, "answered", mode=by["mode"])
        found = [index.get(record.reader, name, **by) for name in _OUTCOMES]
        told = found[1].note if found[1] is not None and found[1].note else ""
        rows.append(
            (
                record.reader,
                "CoT" if by["mode"] == "cot" else by["mode"],
                _counted(answered),
                by["judge"],
                PARTS[by["question"]].said,
                *map(_counted, found),
                told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…",
            )
        )
    return table(
        "verdicts",
        "Could replies and verdicts be read?",
        (
            *("reader", "mode", "replies", "judge", "judges what", "read", "of these rescued"),
            *("not readable", "no verdict", "how they were rescued"),
        ),
        rows,
        signature,
        (
            "k/n. Rescued: read after all, though not strict JSON in the words asked for. What is "
            "not readable was asked again first, as often as the edition says. Steps and order "
            "leave it out; accuracy counts it as wrong, or leaves it out in the authors' edition.",
        ),
        facts=5,
    )


def _plain_records(index: Index) -> list[Measure]:
    return index.all("verdicts_judged", "question", "mode", "judge")


def _counted(record: Measure | None) -> str:
    if record is None or record.k is None:
        return cell(record)
    return f"{record.k}/{record.n}"
