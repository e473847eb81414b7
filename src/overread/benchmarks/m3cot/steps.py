"""Right steps: precision, recall and F1 of the reasoning (M3COT 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import COT, Floats, Marks, Mask
from overread.benchmarks.m3cot.study import (
    Draft,
    Making,
    Metric,
    Study,
    apart,
    columns_of,
    counted_in,
    drafted,
    joined,
    panel,
    quotients,
)
from overread.case import Measure

__all__ = ["METRICS", "f1_of", "matched_of", "precision_of", "values_of"]

Step = Mapping[str, Any]


def precision_of(
    steps: Sequence[Step], kind: str | None = None, *, na: bool = True, published: bool = False
) -> float | None:
    """Matched steps over steps of the four content types, or of one `kind`.

    Restatements and unknown types are in neither. N/A is in the denominator unless `na` is False.
    Without such a step it is 0: saying nothing earns nothing; for one `kind` it is 0 as published
    and otherwise None. As published, a step without a judgment makes it 0.
    """
    kept = [step for step in steps if step["type"] in (STEPS if kind is None else (kind,))]
    if published and any(step["judgment"] is None for step in kept):
        return 0.0
    if not na:
        kept = [step for step in kept if step["judgment"] != "N/A"]
    if not kept:
        return 0.0 if kind is None or published else None
    return sum(1 for step in kept if step["judgment"] == "Match") / len(kept)


def matched_of(matched: Sequence[bool], types: Sequence[str], kind: str | None) -> float | None:
    """Matched gold steps over gold steps, of all types or of one `kind`."""
    some = [hit for hit, step in zip(matched, types, strict=False) if kind in (None, step)]
    return sum(some) / len(some) if some else None


def f1_of(precision: float | None, recall: float | None, digits: int | None = None) -> float | None:
    """F1 of two averages; none without either, or where both are 0."""
    if precision is None or recall is None or precision + recall == 0:
        return None
    found = 2 * precision * recall / (precision + recall)
    return found if digits is None else round(found, digits)


def digits_of(edition: Edition) -> int | None:
    """The authors round averages to four decimals before they make F1 of them."""
    return 4 if edition.no_steps == "published" else None


def values_of(
    marks: Marks,
    study: Study,
    judges: Sequence[str],
    question: str,
    kind: str | None = None,
    *,
    na: bool = True,
) -> Floats:
    """P_i or R_i, NaN where not counted: items x judges.

    What a judge failed on is left out. An item without a reply counts 0, unless as published,
    where what has no verdict is left out (M3COT 10).
    """
    key = ("steps", marks.reader, question, kind, na, *judges)
    return study.once(key, lambda: _step_values(marks, study, judges, question, kind, na))


def _step_values(
    marks: Marks, study: Study, judges: Sequence[str], question: str, kind: str | None, na: bool
) -> Floats:
    published = study.edition.no_steps == "published"
    types = marks.facts.steps
    found = np.full((marks.facts.n, len(judges)), np.nan)
    for column, judge in enumerate(judges):
        # Precision of one type is over replies with such a step; recall over gold steps.
        over_all = kind is None or question == "recall"
        if not published and over_all and marks.heard(question, COT, judge):
            found[_without_reply(marks, question, judge), column] = 0.0
        for place, said in marks.given(question, COT, judge):
            if not published and marks.silent_at(COT, place):
                continue  # a verdict on nothing
            if question == "precision":
                one = precision_of(said, kind, na=na, published=published)
            else:
                one = matched_of(said, types[place], kind)
            found[place, column] = np.nan if one is None else one
    if question == "recall":
        # No gold step, or none of this type, is nothing to recall.
        found[[not any(kind in (None, step) for step in steps) for steps in types]] = np.nan
    return found


def _without_reply(marks: Marks, question: str, judge: str) -> Mask:
    """Items with nothing to judge: no reply, a blank one, or a refusal nobody was asked about."""
    judged = np.zeros(marks.facts.n, dtype=bool)
    judged[[place for place, _ in marks.given(question, COT, judge)]] = True
    found = marks.asked(COT) & ~judged & ~marks.missed(question, COT, judge)
    return found | (marks.asked(COT) & marks.silent(COT))


def _step_note(marks: Marks, study: Study, question: str, judges: Sequence[str]) -> str | None:
    missed = sum(int(marks.missed(question, COT, judge).sum()) for judge in judges)
    silent = int((marks.asked(COT) & marks.silent(COT)).sum())
    how = "left out" if study.edition.no_steps == "published" else "count 0"
    return joined(
        marks.left_out(COT),
        f"{silent} without an answer {how}" if silent else None,
        f"{missed} not judged left out" if missed else None,
    )


def _averages(name: str, question: str, *, na: bool = True) -> Making:
    """The maker of a mean of P_i or R_i: overall, by task, kind, step type and judge."""

    def make(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
        started = Measure(reader=marks.reader, measure=name)
        judges = study.judges(marks, question)
        if not judges:
            yield msgspec.structs.replace(started, n=0, note=_unjudged(marks))
            return
        digits = digits_of(study.edition)
        label = study.label(judges, question)
        values = values_of(marks, study, judges, question, na=na)

        def mean(by: dict[str, str], some: Floats, label: str | None, note: str | None) -> Draft:
            record = msgspec.structs.replace(started, by=by, label=label, note=note)
            return drafted(record, columns_of(some), panel, counted_in(some), digits=digits)

        for group, members in study.groups:
            some = np.where(members[:, None], values, np.nan)
            if not group or not np.isnan(some).all():
                note = None if group else _step_note(marks, study, question, judges)
                yield mean(group, some, label, note)
        for group, members in study.modalities if question == "recall" else ():
            some = np.where(members[:, None], values, np.nan)
            if not np.isnan(some).all():
                yield mean(group, some, label, None)
        for step in STEPS:
            some = values_of(marks, study, judges, question, step, na=na)
            if not np.isnan(some).all():
                yield mean({"step": step}, some, label, None)
        for column, judge in enumerate(judges):
            yield mean(
                {"judge": judge},
                values[:, [column]],
                study.label([judge], question),
                _step_note(marks, study, question, [judge]),
            )

    return make


def _unjudged(marks: Marks) -> str:
    return "not judged" if COT in marks.said else "not asked to reason"


def _f1(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """2PR/(P+R) of the averages P and R; overall, by task, kind and judge."""
    started = Measure(reader=marks.reader, measure="f1")
    panels = [study.judges(marks, question) for question in ("precision", "recall")]
    if not all(panels):
        yield msgspec.structs.replace(started, n=0, note=_unjudged(marks))
        return
    tables = [
        values_of(marks, study, judges, question)
        for judges, question in zip(panels, ("precision", "recall"), strict=True)
    ]
    everyone = sorted({*panels[0], *panels[1]})
    label = study.label(everyone, "precision", "recall")
    for group, members in study.groups:
        p, r = (np.where(members[:, None], table, np.nan) for table in tables)
        if not group or not (np.isnan(p).all() or np.isnan(r).all()):
            record = msgspec.structs.replace(started, by=group, label=label)
            yield f1_draft(record, study, p, r)
    for judge in everyone:
        if all(judge in judges for judges in panels):
            record = msgspec.structs.replace(
                started, by={"judge": judge}, label=study.label([judge], "precision", "recall")
            )
            p, r = (
                table[:, [judges.index(judge)]]
                for table, judges in zip(tables, panels, strict=True)
            )
            yield f1_draft(record, study, p, r)


def harmonic(totals: Floats, width: int) -> Floats:
    """F1 of the panel means of the first `width` columns and of the others."""
    p, r = panel(totals[:, :width]), panel(totals[:, width:])
    return quotients(2 * p * r, p + r)


def f1_draft(record: Measure, study: Study, precision: Floats, recall: Floats) -> Draft:
    columns = np.hstack([columns_of(precision), columns_of(recall)])
    again = partial(harmonic, width=2 * precision.shape[1])
    made = drafted(record, columns, again, counted_in(precision, recall))
    if made.record.value is None:
        nought = msgspec.structs.replace(made.record, note="precision and recall are both 0")
        both = not np.isnan(precision).all() and not np.isnan(recall).all()
        return msgspec.structs.replace(made, record=nought) if both else made
    made = msgspec.structs.replace(made, within=_bounds_where_alike(study, precision, recall))
    digits = digits_of(study.edition)
    if digits is None:
        return made
    p, r = (_rounded(columns_of(table), digits) for table in (precision, recall))
    value = f1_of(p, r, digits)
    return msgspec.structs.replace(made, record=msgspec.structs.replace(made.record, value=value))


def _bounds_where_alike(
    study: Study, precision: Floats, recall: Floats
) -> tuple[float, float] | None:
    """The bounds of F1 where all items agree on an average: resampling takes it for certain.

    F1 of that average's own bounds and of the other's value; of both bounds where both agree.
    """
    ends = []
    for table in (precision, recall):
        value = float(panel(columns_of(table).sum(axis=0)[None, :])[0])
        room = study.left_open(counted_in(table)) if _one_value(table) else 0.0
        ends.append((max(value - room, 0.0), min(value + room, 1.0)))
    if not (_one_value(precision) or _one_value(recall)):
        return None
    low, high = (f1_of(ends[0][side], ends[1][side]) or 0.0 for side in (0, 1))
    return low, high


def _one_value(table: Floats) -> bool:
    """Whether each judge has one value for all items it counts."""
    some = (column[~np.isnan(column)] for column in table.T)
    return all(not apart(values.min(), values.max()) for values in some if values.size)


def _rounded(columns: Floats, digits: int) -> float:
    return round(float(panel(columns.sum(axis=0)[None, :])[0]), digits)


METRICS: Final = (
    Metric(
        name="precision",
        says="mean share of a reply's steps that match the gold steps; N/A in the denominator",
        make=_averages("precision", "precision"),
    ),
    Metric(
        name="precision_no_na",
        says="the same without steps of background (N/A)",
        make=_averages("precision_no_na", "precision", na=False),
    ),
    Metric(
        name="recall",
        says="mean share of the gold steps that a reply has",
        make=_averages("recall", "recall"),
    ),
    Metric(name="f1", says="harmonic mean of the averages of precision and recall", make=_f1),
)
