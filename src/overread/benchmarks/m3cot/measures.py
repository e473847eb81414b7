"""The measures of the M3CoT benchmark, each declared once in `SPECS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from overread.benchmarks.m3cot import accuracy, consistency, outcomes, speed, steps
from overread.benchmarks.m3cot.cases import cases_in
from overread.benchmarks.m3cot.comparisons import comparisons
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import facts_of
from overread.benchmarks.m3cot.study import Study
from overread.benchmarks.sentences import unseeing_noted
from overread.case import Measure
from overread.judging.agreement import JudgeCount, judge_counts
from overread.judging.fitness import fitness_in, fitness_measures, labels_of, shift_measures
from overread.judging.question import Question
from overread.measuring import specs
from overread.measuring.contrasts import with_q
from overread.measuring.estimates import Estimate, Mask, Resampling
from overread.measuring.specs import Spec, named

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

SPECS: Final = (
    *accuracy.SPECS,
    *steps.SPECS,
    *speed.SPECS,
    *consistency.SPECS,
    *consistency.MODES,
    *accuracy.DEPENDENCE,
    *outcomes.SPECS,
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
    return Estimate(
        record=one.record,
        columns=None if one.columns is None else one.columns[both],
        again=one.again,
        counted=both[both],
        limits=one.limits,
        step=one.unit,
    )
