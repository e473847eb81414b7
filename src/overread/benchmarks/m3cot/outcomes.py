"""What the numbers stand on: replies given, verdicts read, rescued and missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from overread.benchmarks.m3cot.marks import Cell, Marks
from overread.benchmarks.m3cot.study import Draft, Metric, Study, noted, share
from overread.benchmarks.m3cot.verdicts import QUESTIONS, rescued
from overread.case import Measure

__all__ = ["METRICS"]


def _answered(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for cell in sorted(marks.said):
        items = marks.items(cell)
        k = int((items & ~marks.silent(cell)).sum())
        record = Measure(reader=marks.reader, measure="answered", by=cell.by)
        yield share(record, k, int(items.sum()))


def _refused(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for cell in sorted(marks.said):
        k = sum(said.outcome == "refused" for said in marks.said[cell].values())
        record = Measure(reader=marks.reader, measure="refused", by=cell.by)
        yield share(record, k, int(marks.items(cell).sum()))


def _empty(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """A reply came, was no refusal, and has nothing in it."""
    for cell in sorted(marks.said):
        rows = marks.said[cell].values()
        k = sum(said.outcome == "answered" and not said.text.strip() for said in rows)
        record = Measure(reader=marks.reader, measure="empty", by=cell.by)
        yield share(record, k, int(marks.items(cell).sum()))


def _truncated(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Cut off at the token limit, whatever is in it; of no value where no reply says how it ended,
    as in results made elsewhere."""
    ended = study.once(("ended",), lambda: _finishes(study))
    for cell in sorted(marks.said):
        record = Measure(reader=marks.reader, measure="truncated", by=cell.by)
        own = ended.get((marks.reader, cell), {})
        # Timed replies stand for the others only where there are no others.
        found = [how for how in own.get(False, own.get(True, ())) if how is not None]
        if found:
            yield share(record, found.count("length"), int(marks.items(cell).sum()))
        else:
            yield noted(msgspec.structs.replace(record, n=0), "not known how replies ended")


def _finishes(study: Study) -> dict[tuple[str, Cell], dict[bool, list[str | None]]]:
    """How the replies of each reader ended, by cell, timed or not."""
    cases = set(study.facts.cases)
    found: dict[tuple[str, Cell], dict[bool, list[str | None]]] = {}
    columns = ("reader", "case", "mode", "image", "follow", "timed", "finish")
    for reader, case, mode, image, follow, timed, finish in study.answers.select(
        columns
    ).iter_rows():
        if case in cases:
            at = found.setdefault((reader, Cell(mode, image, follow or "")), {})
            at.setdefault(bool(timed), []).append(finish)
    return found


def _verdict_outcomes(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the questions put to a judge: read, not readable, without a reply; and of those read,
    how many had to be rescued, and how."""
    for question in QUESTIONS:
        for cell in sorted(cell for one, cell in marks.verdicts if one == question):
            for judge in marks.judges(question, cell):
                by = {"question": question, **cell.by, "judge": judge}
                rows = marks.verdicts[question, cell][judge].values()
                outcomes = Counter(verdict.outcome for verdict in rows)
                for outcome in ("judged", "invalid", "unanswered"):
                    record = Measure(reader=marks.reader, measure=VERDICT_MEASURES[outcome], by=by)
                    yield share(record, outcomes[outcome], len(rows))
                saved = Counter(
                    verdict.how
                    for verdict in rows
                    if verdict.outcome == "judged" and rescued(verdict.how)
                )
                note = ", ".join(f"{how}: {n}" for how, n in sorted(saved.items(), key=str))
                record = Measure(
                    reader=marks.reader, measure="verdicts_rescued", by=by, note=note or None
                )
                yield share(record, saved.total(), outcomes["judged"])


VERDICT_MEASURES: Final = {
    "judged": "verdicts_judged",
    "invalid": "verdicts_invalid",
    "unanswered": "verdicts_unanswered",
}
METRICS: Final = (
    Metric(name="answered", says="share of items with a reply", make=_answered),
    Metric(name="refused", says="share of items whose reply is a refusal", make=_refused),
    Metric(name="empty", says="share of items with a blank reply, no refusal", make=_empty),
    Metric(
        name="truncated", says="share of items whose reply the token limit cut off", make=_truncated
    ),
    Metric(
        name="verdicts_judged",
        says="share of a judge's verdicts that could be read; with it those invalid, unanswered, "
        "and of those read the rescued",
        make=_verdict_outcomes,
    ),
)
