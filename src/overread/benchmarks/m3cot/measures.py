"""The measures of the M3CoT benchmark, each declared once in `SPECS`; here those of what numbers
stand on: replies given, verdicts read, rescued and missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot import accuracy, consistency, speed, steps
from overread.benchmarks.m3cot.cases import cases_in
from overread.benchmarks.m3cot.comparisons import comparisons
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.study import Marks, Study, asking_of, facts_of
from overread.benchmarks.m3cot.verdicts import QUESTIONS, rescued
from overread.benchmarks.sentences import unseeing_noted
from overread.case import Measure
from overread.judging.agreement import JudgeCount, judge_counts
from overread.judging.fitness import fitness_in, fitness_measures, labels_of, shift_measures
from overread.judging.question import Question
from overread.measuring import specs
from overread.measuring.arrays import RunArrays
from overread.measuring.contrasts import with_q
from overread.measuring.estimates import Estimate, Mask, Resampling, clustered_share
from overread.measuring.notes import noted, remarked
from overread.measuring.specs import (
    SHARE_OF,
    Codes,
    Condition,
    Counted,
    Spec,
    coverage_specs,
    named,
)
from overread.measuring.units import Unit

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

UNKNOWN_END: Final = "unknown_end"
"""The flag of a share of replies of which nobody knows how they ended."""
VERDICT_MEASURES: Final = {
    "judged": "verdicts_judged",
    "invalid": "verdicts_invalid",
    "unanswered": "verdicts_unanswered",
}


def _outcomes(study: Study, marks: Marks, condition: Condition) -> tuple[Mask, Codes]:
    asking = asking_of(condition)
    return marks.items(asking), marks.outcomes(asking)


def _cut_off(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Cut off at the token limit, whatever is in it; of no value where no reply says how it ended,
    as in results made elsewhere."""
    rows = marks.said[asking_of(condition)]
    known = any(said.finish is not None for said in rows.values())
    found = np.full(study.n, 0.0 if known else np.nan)
    found[[place for place, said in rows.items() if said.finish == "length"]] = 1.0
    return Counted(found, marks.items(asking_of(condition)))


def _share_known(record: Measure, counted: Counted, run: RunArrays, unit: Unit) -> Measure:
    if np.isnan(counted.value).all():
        bare = msgspec.structs.replace(record, n=0)
        return noted(bare, UNKNOWN_END, "not known how replies ended")
    return SHARE_OF(record, counted, run, unit)


def _verdict_outcomes(study: Study, marks: Marks) -> Iterator[Measure]:
    """Of the questions put to a judge: read, not readable, without a reply; and of those read,
    how many had to be rescued, and how."""
    for question in QUESTIONS:
        for asking in sorted(asking for one, asking in marks.verdicts if one == question):
            for judge in marks.judges(question, asking):
                by = {"question": question, **asking.by, "judge": judge}
                rows = marks.verdicts[question, asking][judge]
                owners = study.clusters[list(rows)]
                became = np.array([verdict.outcome for verdict in rows.values()], dtype=np.str_)
                for outcome, name in VERDICT_MEASURES.items():
                    record = Measure(reader=marks.reader, measure=name, by=by)
                    yield clustered_share(record, became == outcome, owners)
                read = [verdict.how for verdict in rows.values() if verdict.outcome == "judged"]
                saved = Counter(how for how in read if rescued(how))
                note = ", ".join(f"{how}: {n}" for how, n in sorted(saved.items(), key=str))
                record = Measure(reader=marks.reader, measure="verdicts_rescued", by=by)
                hits = np.array([rescued(how) for how in read], dtype=bool)
                own = owners[became == "judged"]
                yield clustered_share(remarked(record, note), hits, own)


_COVERAGE: Final = coverage_specs(accuracy.asked_of, _outcomes)
_UNREADABLE: Final = tuple(
    Spec(name=name, says=says, better="lower", of=of, conditions=accuracy.asked_of, estimate=how)
    for name, says, of, how in (
        (
            "cut_off",
            "share of what was asked whose reply the token limit cut off",
            _cut_off,
            _share_known,
        ),
        # Names of an earlier release for `unparsed` and `cut_off`.
        (
            "empty",
            "share of items with a blank reply, no refusal",
            named(_COVERAGE)["unparsed"].of,
            SHARE_OF,
        ),
        ("truncated", "share of items whose reply the token limit cut off", _cut_off, _share_known),
    )
)
SPECS: Final = (
    *accuracy.SPECS,
    *steps.SPECS,
    *speed.SPECS,
    *consistency.SPECS,
    consistency.MODE_SHARE,
    *accuracy.DEPENDENCE,
    *_COVERAGE,
    *_UNREADABLE,
    Spec(
        name="verdicts_judged",
        says="share of a judge's verdicts that could be read; with it those invalid, unanswered, "
        "and of those read the rescued",
        make=_verdict_outcomes,
    ),
)
METRICS: Final[Mapping[str, Spec]] = named(SPECS)


def measure(
    tables: Tables,
    verdicts: pl.DataFrame | None,
    edition: Edition,
    *,
    labels: Mapping[tuple[str, str], str | None] | None = None,
    veiled: bool = False,
) -> list[Measure]:
    """Every declared measure of every reader, then the readers against each other.

    `verdicts` have the columns of `VERDICT_COLUMNS`, read under this edition. `labels` say what a
    judge's verdicts on a question are worth, where fitness was tested. Where `veiled`, no group is
    named by words of the set that only few patients have.
    """
    study = Study(tables, verdicts, edition, labels, veiled=veiled)
    records = specs.measure(study, study.marks, SPECS)
    every = [*records, *study.finish(comparisons(study)), *consistency.likenesses(study)]
    return with_q(unseeing_noted(every, tables.readers, "answered"))


def measure_judged(
    tables: Tables, questions: Sequence[Question], edition: Edition, *, veiled: bool
) -> list[Measure]:
    """The measures of a run, and beside them what its judges are worth, if it has any."""
    verdicts = tables.verdicts
    if verdicts is None:
        return measure(tables, None, edition, veiled=veiled)
    cases = cases_in(tables.cases)
    found = fitness_in(questions, verdicts, cases)
    judged = verdicts.filter(~verdicts["check"])
    labels = labels_of(questions, judged, found)
    return [
        *measure(tables, judged, edition, labels=labels, veiled=veiled),
        *fitness_measures(found),
        *shift_measures(questions, verdicts, cases),
        *agreement_measures(questions, tables.cases, judged, edition),
    ]


def agreement_measures(
    questions: Sequence[Question], table: pl.DataFrame, verdicts: pl.DataFrame, edition: Edition
) -> Iterator[Measure]:
    """`judge_agreement` and `judge_kappa` of each pair of judges at each question, overall and task
    by task. What is said of one item (of one patient) is not independent: these are resampled
    whole."""
    facts = facts_of(table)
    patients = dict(zip(facts.cases, facts.patients.tolist(), strict=True))
    cases = cases_in(table)
    tasks = {name: case.task for name, case in cases.items()}
    for pair in judge_counts(questions, verdicts, cases, groups=tasks, grouped_by="task"):
        both = pair[0].counted
        owners = np.array([patients[case] for case in pair[0].cases], dtype=np.int64)[both]
        drawn = Resampling(owners, boot=edition.boot, seed=edition.seed)
        yield from drawn.finish([_agreement(one, both) for one in pair])


def _agreement(one: JudgeCount, both: Mask) -> Estimate:
    columns = None if one.columns is None else one.columns[both]
    return msgspec.structs.replace(one, columns=columns, counted=both[both])
