"""What people said of a sample of judged replies, and the numbers that their checks put right.

The sample is that of `overread judge-sample`: rows drawn by lot, which people judged without
seeing what judges said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from overread.case import BadInput, Measure, Method
from overread.judging.question import Question, choices_of
from overread.judging.sheet import filled_cells, unit_key
from overread.measuring.arrays import RunArrays
from overread.measuring.estimates import Floats, defined_mean, flagged_few, settled
from overread.measuring.notes import ONE_CLUSTER, noted, remarked, with_method
from overread.measuring.specs import OUTCOMES, Condition, Spec, SpokenFor, counted_once

if TYPE_CHECKING:
    import polars as pl

FEWEST: Final = 10
"""Checked replies of a reader without which nothing is put right."""
_ANSWERED: Final = OUTCOMES.index("answered")


class CheckedReply(NamedTuple):
    """A whole reply of which people were asked one thing; which reply is told by its words."""

    question: str
    reader: str
    case: str
    reply: str


def people_said(
    sheets: Iterable[Path],
    questions: Sequence[Question],
    names: Sequence[str],
    cases: Mapping[str, Any],
    answers: pl.DataFrame | pl.LazyFrame,
) -> dict[CheckedReply, str]:
    """What people wrote of whole replies of this run, of the things named on the sheet alone.

    A row about no reply of the run is refused, and so are two that say different things of one.
    """
    cells = [
        (sheet.name, *cell)
        for sheet in sheets
        for cell in filled_cells(sheet, choices_of(questions))
        if cell[2] in names
    ]
    if not cells:  # nearly always: naming every reply of a run is not quick
        return {}
    known: dict[str, CheckedReply] = {}
    for name in names:
        question = next(one for one in questions if name in one.choices)
        for reader, case, text in (
            answers.lazy().select("reader", "case", "text").collect().iter_rows()
        ):
            if case in cases:
                gold, reply = question.gold(cases[case], name), text or ""
                place = CheckedReply(name, reader, case, reply)
                known[unit_key(case, name, reader, gold, reply, "")] = place
    said: dict[CheckedReply, str] = {}
    for sheet, line, unit, _, word in cells:
        if unit not in known:
            raise BadInput(
                f"{sheet} row {line}: id {unit} is no reply of this run. Give the run that the "
                "sample was drawn from."
            )
        if said.setdefault(known[unit], word) != word:
            raise BadInput(f"{sheet} row {line}: {unit} is judged in two ways; keep one row.")
    return said


def checked_by_people(
    run: RunArrays,
    readers: Iterable[SpokenFor],
    spec: Spec,
    records: Iterable[Measure],
    people: Callable[[Any, Condition], Floats],
) -> Iterator[Measure]:
    """A judged mean as people would give it: `MEASURE_checked` (`stats.prediction_powered`).

    Of each record of the measure over all cases and judges of which people checked `FEWEST` replies
    or more. `people` gives their values by case, NaN where a reply was not checked. What counts
    unjudged (no reply, nothing that a judge could be read on) is no judge's error and stays as it
    is counted. `beside` are the mean as judged and that of people on their sample; the number holds
    however bad the judges are, so that it has no label of theirs.

    References
    ----------
    A. N. Angelopoulos and others (2023), Science 382, 669-674.
    """
    from overread.stats import prediction_powered

    judged = {
        (record.reader, frozenset(record.by.items())): record
        for record in records
        if record.measure == spec.name and record.value is not None
    }
    for reader in readers:
        for condition in spec.conditions(run, reader):
            record = judged.get((reader.reader, frozenset(condition.items())))
            if record is None or record.value is None:
                continue
            counted = counted_once(run, reader, spec, condition)
            assert counted.why is not None
            values = defined_mean(counted.table)
            there = ~np.isnan(values)
            answered = (counted.why.reshape(len(values), -1) == _ANSWERED).any(axis=1)
            said = np.where(answered, people(reader, condition), np.nan)[there]
            checked, owners = ~np.isnan(said), run.clusters[there]
            if checked.sum() < FEWEST:
                continue
            found, spread, weight = prediction_powered(
                values[there], said, owners, spec.unit.limits, ~answered[there]
            )
            theirs = float(said[checked].mean())
            made = Measure(
                reader=reader.reader,
                measure=f"{spec.name}_checked",
                by=record.by,
                value=found.point,
                n=found.n,
                left_out=record.left_out,
                as_wrong=record.as_wrong,
                beside=(record.value, theirs),
            )
            told = f"people checked {checked.sum()} and give them {theirs:.3f} on average"
            made = remarked(made, told)
            if found.low is None:
                yield noted(made, ONE_CLUSTER)
                continue
            made = msgspec.structs.replace(made, se=found.sd, low=found.low, high=found.high)
            how = Method(
                kind="prediction-powered",
                effect=spread.effect,
                t=round(spread.df),
                checked=int(checked.sum()),
                weight=weight,
            )
            yield settled(flagged_few(with_method(made, how), owners[checked]))
