"""Right steps: precision, recall and F1 of the reasoning (M3COT 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.study import COT, Marks, Study
from overread.case import Measure
from overread.measuring.estimates import (
    Estimate,
    Floats,
    Mask,
    apart,
    columns_of,
    counted_in,
    estimated,
    mean_of_columns,
    quotients,
)
from overread.measuring.notes import noted
from overread.measuring.specs import PLAIN, Condition, Counted, Spec
from overread.measuring.units import Unit

BOTH_ZERO: Final = "both_zero"
"""The flag of F1 where no step matches either way."""
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
        if not published and over_all and marks.readable(question, COT, judge):
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


# ---------------------------------------------------------------- averages


def _judged_by(question: str) -> Callable[[Study, Marks, Condition], list[str] | None]:
    def judges(study: Study, marks: Marks, condition: Condition) -> list[str] | None:
        return study.judges(marks, question) if COT in marks.said else None

    return judges


def _mean_of_steps(record: Measure, counted: Counted, study: Any, unit: Unit) -> Estimate:
    """The mean over judges of each one's mean over items, rounded as published."""
    table, digits = counted.table, digits_of(study.edition)
    return estimated(record, columns_of(table), mean_of_columns, counted_in(table), digits=digits)


def _average(name: str, says: str, question: str, *groups: str, na: bool = True) -> Spec:
    """A mean of P_i or R_i: overall, by these groups and judge, and by type of step."""

    def of(study: Study, marks: Marks, condition: Condition) -> Counted:
        judges, kind = study.judges(marks, question), condition.get("step")
        values = values_of(marks, study, judges, question, kind, na=na)
        if kind is not None:
            return Counted(values, study.everyone)
        return Counted(values, marks.items(COT), marks.outcomes_judged(question, COT, judges))

    def conditions(study: Study, marks: Marks) -> Iterator[Condition]:
        yield PLAIN
        for kind in STEPS:
            if not np.isnan(of(study, marks, {"step": kind}).value).all():
                yield {"step": kind}

    return Spec(
        name=name,
        says=says,
        of=of,
        conditions=conditions,
        judges=_judged_by(question),
        questions=(question,),
        each_judge=lambda condition: not condition,
        groups=groups,
        bare_groups=False,
        estimate=_mean_of_steps,
    )


# ---------------------------------------------------------------- F1


def _f1_judges(study: Study, marks: Marks, condition: Condition) -> list[str] | None:
    if COT not in marks.said:
        return None
    panels = [study.judges(marks, question) for question in ("precision", "recall")]
    return sorted({*panels[0], *panels[1]}) if all(panels) else []


def _f1(study: Study, marks: Marks, condition: Condition) -> Counted:
    """2PR/(P+R) of the averages P and R: what each item has of both."""
    judges = _f1_judges(study, marks, condition) or []
    both = [values_of(marks, study, judges, question) for question in ("precision", "recall")]
    return Counted(np.stack(both, axis=2), study.everyone)


def harmonic(totals: Floats, width: int) -> Floats:
    """F1 of the judges' means of the first `width` columns and of the others."""
    p, r = mean_of_columns(totals[:, :width]), mean_of_columns(totals[:, width:])
    return quotients(2 * p * r, p + r)


def _f1_estimate(record: Measure, counted: Counted, study: Any, unit: Unit) -> Estimate:
    precision, recall = np.moveaxis(counted.table, 2, 0)
    columns = np.hstack([columns_of(precision), columns_of(recall)])
    again = partial(harmonic, width=2 * precision.shape[1])
    made = estimated(record, columns, again, counted_in(precision, recall))
    if made.record.value is None:
        if np.isnan(precision).all() or np.isnan(recall).all():
            return made
        bare = msgspec.structs.replace(record, n=made.record.n)
        return Estimate(record=noted(bare, BOTH_ZERO, "precision and recall are both 0"))
    made = msgspec.structs.replace(made, within=_bounds_where_alike(study, precision, recall))
    digits = digits_of(study.edition)
    if digits is None:
        return made
    p, r = (round(_mean(table), digits) for table in (precision, recall))
    record = msgspec.structs.replace(made.record, value=f1_of(p, r, digits))
    return msgspec.structs.replace(made, record=record)


def _bounds_where_alike(
    study: Study, precision: Floats, recall: Floats
) -> tuple[float, float] | None:
    """The bounds of F1 where all items agree on an average: resampling takes it for certain.

    F1 of that average's own bounds and of the other's value; of both bounds where both agree.
    """
    ends = []
    for table in (precision, recall):
        room = study.resampling.left_open(counted_in(table)) if _one_value(table) else 0.0
        ends.append((max(_mean(table) - room, 0.0), min(_mean(table) + room, 1.0)))
    if not (_one_value(precision) or _one_value(recall)):
        return None
    low, high = (f1_of(ends[0][side], ends[1][side]) or 0.0 for side in (0, 1))
    return low, high


def _one_value(table: Floats) -> bool:
    """Whether each judge has one value for all items it counts."""
    some = (column[~np.isnan(column)] for column in table.T)
    return all(not apart(values.min(), values.max()) for values in some if values.size)


def _mean(table: Floats) -> float:
    return float(mean_of_columns(columns_of(table).sum(axis=0)[None, :])[0])


SPECS: Final = (
    _average(
        "precision",
        "mean share of a reply's steps that match the gold steps; N/A in the denominator",
        "precision",
        *("task", "kind"),
    ),
    _average(
        "precision_no_na",
        "the same without steps of background (N/A)",
        "precision",
        *("task", "kind"),
        na=False,
    ),
    _average(
        "recall",
        "mean share of the gold steps that a reply has",
        "recall",
        *("task", "kind", "modality"),
    ),
    Spec(
        name="f1",
        says="harmonic mean of the averages of precision and recall",
        of=_f1,
        judges=_f1_judges,
        questions=("precision", "recall"),
        groups=("task", "kind"),
        bare_groups=False,
        estimate=_f1_estimate,
    ),
)
