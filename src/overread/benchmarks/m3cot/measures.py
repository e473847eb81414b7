"""The measures of the M3CoT benchmark, each declared once in `SPECS`.

Here readers against readers, paired by item with a family of tests for each measure; item by item;
and what numbers stand on: replies given, verdicts read, rescued and missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.m3cot import accuracy, consistency, steps
from overread.benchmarks.m3cot.accuracy import difference, over_both, right_where_judged
from overread.benchmarks.m3cot.cases import cases_in
from overread.benchmarks.m3cot.consistency import (
    compared_paths,
    compared_scores,
    drawn_record,
    hot,
    overall,
    pairs_of,
    scores_of,
    seen_in,
)
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.steps import harmonic, item_f1, values_of
from overread.benchmarks.m3cot.study import COT, DIRECT, Asking, Marks, Study, asking_of, facts_of
from overread.benchmarks.m3cot.verdicts import QUESTIONS, Path, rescued
from overread.benchmarks.sentences import unseeing_noted
from overread.case import Measure
from overread.judging.agreement import JudgeCount, judge_counts
from overread.judging.checking import CheckedReply, checked_by_people, people_said
from overread.judging.fitness import (
    corrected_for_errors,
    fitness_in,
    fitness_measures,
    labels_of,
    shift_measures,
)
from overread.judging.question import Question
from overread.measuring import contrasts, specs
from overread.measuring import estimates as est
from overread.measuring.arrays import RunArrays, ordered_pairs
from overread.measuring.estimates import Estimate, Floats, Mask, quotients
from overread.measuring.notes import noted, remarked
from overread.measuring.specs import PLAIN, Codes, Condition, Counted, Spec
from overread.measuring.units import Unit

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

# ---------------------------------------------------------------- readers against readers

# Of paths, where every flip chooses the references anew.
_PATH_FLIPS: Final = 999
_LEVEL: Final = 0.05


def comparisons(study: Study) -> Iterator[Estimate | Measure]:
    """Every pair of readers in accuracy, precision, recall, F1 and path consistency."""
    for one, two in ordered_pairs(study.marks):
        for asking in (COT, DIRECT):
            if asking in one.said and asking in two.said:
                judges = study.both_judge("answer", (one, asking), (two, asking))
                if judges:
                    by = {**asking.by, "versus": two.reader}
                    label = study.label(judges, "answer")
                    record = Measure(reader=one.reader, measure="diff_accuracy", by=by, label=label)
                    mine, theirs = (
                        right_where_judged(m, study, asking, judges) for m in (one, two)
                    )
                    yield difference(record, study, mine, theirs, f"diff_accuracy {asking.mode}")
        yield from _step_differences(one, two, study)
        yield from _path_difference(one, two, study)


def _record(
    one: Marks, two: Marks, name: str, study: Study, judges: Sequence[str], *questions: str
) -> Measure:
    label = study.label(judges, *questions)
    by = {"versus": two.reader}
    return Measure(reader=one.reader, measure=f"diff_{name}", by=by, label=label)


def _step_differences(one: Marks, two: Marks, study: Study) -> Iterator[Estimate | Measure]:
    tables: list[list[Floats]] = []
    everyone: set[str] = set()
    for question in ("precision", "recall"):
        judges = study.both_judge(question, (one, COT), (two, COT))
        if not judges:
            return
        everyone |= set(judges)
        mine, theirs = (values_of(marks, study, judges, question) for marks in (one, two))
        tables.append([mine, theirs])
        record = _record(one, two, question, study, judges, question)
        if study.robust:
            yield difference(record, study, mine, theirs, f"diff_{question}")
            continue
        each = contrasts.mean_differences(mine, theirs)
        (p,) = contrasts.flip_ps(
            contrasts.cluster_sums(each, study.clusters)[:, None], _coins(study, contrasts.FLIPS)
        )
        yield contrasts.tested(
            contrasts.difference_of_means(record, mine, theirs), p, f"diff_{question}"
        )
    record = _record(one, two, "f1", study, sorted(everyone), "precision", "recall")
    if study.robust:
        both = [over_both(*table) for table in tables]
        first, second = (item_f1(*side) for side in zip(*both, strict=True))
        made = contrasts.paired(record, first, second, study.clusters, family="diff_f1")
        if made.p is not None:
            made = _agreeing(msgspec.structs.replace(made, p=_f1_p(study, both)))
        yield made
    else:
        yield _f1_difference(record, tables)


def _f1_p(study: Study, both: Sequence[tuple[Floats, Floats]]) -> float:
    """The share of exchanges of patients' replies that set the readers as far apart in F1.

    F1 is worked out anew in each: what an item adds to a reader's F1 depends on that reader's
    averages, so that items' parts cannot be exchanged (two readers alike but for one item of ten
    would have p = 0.004).
    """
    middles, halves = [], []
    for one, two in both:
        n = max(int((~np.isnan(one)).sum()), 1)
        middles.append(float(np.nansum(one) + np.nansum(two)) / (2 * n))
        halves.append(contrasts.cluster_sums(np.nan_to_num(one - two), study.clusters) / (2 * n))
    sums = np.column_stack(halves)
    sums = sums[np.lexsort(sums.T)]  # no names decide what is drawn
    coins = np.vstack([np.ones((1, len(sums))), _coins(study, contrasts.FLIPS)])  # first the data
    away = coins @ sums
    first, second = (
        np.nan_to_num(quotients(2 * p * r, p + r))
        for p, r in ((middles + side * away).T for side in (1, -1))
    )
    drawn = np.abs(first - second)
    return int((drawn >= drawn[0] - 1e-9).sum()) / len(drawn)


def _f1_difference(record: Measure, tables: Sequence[Sequence[Floats]]) -> Estimate:
    """Of F1 of the first reader less that of the second, whose interval has to do for a test."""
    halves = [np.hstack([est.columns_of(table[at]) for table in tables]) for at in (0, 1)]
    width, first = halves[0].shape[1], 2 * tables[0][0].shape[1]

    def again(totals: Floats) -> Floats:
        return harmonic(totals[:, :width], first) - harmonic(totals[:, width:], first)

    counted = est.counted_in(*tables[0], *tables[1])
    made = est.estimated(record, np.hstack(halves), again, counted, limits=(-1.0, 1.0))
    if made.record.value is None:
        return made
    return msgspec.structs.replace(made, record=remarked(made.record, "interval only"))


def _coins(study: Study, flips: int) -> NDArray[np.int8]:
    patients = int(study.clusters.max()) + 1
    return study.once(
        ("coins", flips), lambda: contrasts.signs(patients, flips, study.edition.seed)
    )


def _path_difference(one: Marks, two: Marks, study: Study) -> Iterator[Measure]:
    """Both readers' items are drawn together, and their replies exchanged item by item."""
    judges = study.both_judge("order", (one, COT), (two, COT))
    if not judges:
        return
    paths = {judge: compared_paths(one, two, study, judge) for judge in judges}
    scores = [compared_scores(one, two, study, judge) for judge in judges]
    gaps = [
        overall("consistency", mine, study.edition) - overall("consistency", other, study.edition)
        for mine, other in scores
    ]
    n = max(int(np.nan_to_num(score.n[0]).sum()) for both in scores for score in both)
    sides = [side for both in paths.values() for side in both]
    counted = np.array([any(p is not None for p in own) for own in zip(*sides, strict=True)], bool)
    record = _record(one, two, "consistency", study, judges, "order")
    made = drawn_record(
        msgspec.structs.replace(record, n=n),
        study,
        np.mean(gaps, axis=0),
        counted,
        "items within tasks",
        step=None,
        limits=(-1.0, 1.0),
    )
    if made.value is None:
        yield made
        return
    p = _path_p(study, list(paths.values()))
    made = msgspec.structs.replace(made, p=p, family="diff_consistency")
    yield _agreeing(made) if study.robust else made


def _agreeing(made: Measure) -> Measure:
    """The bounds that were drawn, made to say of 0 what the test says, which is right."""
    made = msgspec.structs.replace(made, against=0.0)
    if made.value is None or made.low is None or made.high is None or made.p is None:
        return made
    low, high = made.low, made.high
    if made.p > _LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)
    elif low <= 0 <= high:
        near = made.value / 1_000
        low, high = (near, high) if made.value > 0 else (low, near)
    return msgspec.structs.replace(made, low=low, high=high)


def _path_p(study: Study, paths: Sequence[tuple[list[Path | None], list[Path | None]]]) -> float:
    """The share of exchanges of replies that set the readers as far apart; references refitted."""
    coins = _coins(study, _PATH_FLIPS) > 0
    kept = coins[:, study.clusters].astype(np.float64)
    kept = np.vstack([np.ones((1, kept.shape[1])), kept])  # the first is the data
    gaps = [_exchanged(study, kept, mine, theirs) for mine, theirs in paths]
    drawn = np.abs(np.mean(gaps, axis=0))
    return int((drawn >= drawn[0] - 1e-9).sum()) / (_PATH_FLIPS + 1)


def _exchanged(
    study: Study, kept: Floats, one: Sequence[Path | None], two: Sequence[Path | None]
) -> Floats:
    """First less second reader's consistency; where `kept` is 0 their replies are exchanged."""
    held = study.edition.empty_paths == "apart"
    scores: tuple[list[Floats], list[Floats]] = ([], [])
    for task in study.tasks:
        members: list[int] = np.flatnonzero(study.facts.tasks == task).tolist()
        first, second = ([paths[place] for place in members] for paths in (one, two))
        seen = seen_in(*(path for pair in zip(first, second, strict=True) for path in pair))
        if not seen.paths:
            continue
        mine, theirs = hot(first, seen), hot(second, seen)
        both = mine.sum(axis=0) + theirs.sum(axis=0)
        counts = kept[:, members] @ (mine - theirs) + theirs.sum(axis=0)
        for side, own in zip(scores, (counts, both - counts), strict=True):
            if study.edition.consistency == "pairs":
                side.append(pairs_of(own, seen))
            else:
                side.append(scores_of(own, seen, "mode", apart=held))
    if not scores[0]:
        return np.zeros(len(kept))
    means = [est.defined_mean(np.array(some).T) for some in scores]
    return means[0] - means[1]


# ---------------------------------------------------------------- item by item


def _judged_alike(study: Study, asking: Asking, *questions: str) -> tuple[list[str], list[Marks]]:
    """The judges of all readers that were asked and judged here, and these readers.

    So nobody is compared across judges.
    """

    def make() -> tuple[list[str], list[Marks]]:
        panels: list[set[str]] = []
        readers: list[Marks] = []
        for marks in study.marks:
            own = [set(study.judges(marks, question, asking)) for question in questions]
            if asking in marks.said and all(own):
                panels.extend(own)
                readers.append(marks)
        return (sorted(set.intersection(*panels)) if panels else []), readers

    return study.once(("judged alike", asking, *questions), make)


def _by_item(name: str, says: str, asking: Asking, *questions: str) -> Spec:
    """What `compare` goes by: right answers, or F1 of the item's own precision and recall."""

    def of(study: Study, marks: Marks, condition: Condition) -> Counted:
        judges, _ = _judged_alike(study, asking, *questions)
        if "answer" in questions:
            return Counted(right_where_judged(marks, study, asking, judges), study.everyone)
        p, r = (values_of(marks, study, judges, question) for question in questions)
        f1 = np.where(p + r == 0, 0.0, quotients(2 * p * r, p + r))
        return Counted(f1, study.everyone)

    def conditions(study: Study, marks: Marks) -> list[Condition]:
        judges, readers = _judged_alike(study, asking, *questions)
        return [PLAIN] if judges and any(one is marks for one in readers) else []

    return Spec(name=name, says=says, of=of, conditions=conditions, by_case=True)


COMPARED: Final = (
    _by_item("accuracy_cot", "whether the answer with reasoning is right", COT, "answer"),
    _by_item("accuracy_direct", "whether the answer without reasoning is right", DIRECT, "answer"),
    _by_item("step_f1", "F1 of the item's own steps", COT, "precision", "recall"),
)
"""`accuracy_MODE`: whether the answer is right, the mean over judges; the mean of a reader's values
is its accuracy where every judge could be read on every item. `step_f1`: F1 of the item's
own precision and recall, 0 where both are 0, the mean over judges; the measure `f1` is made of
averages over items instead, and differs."""


def per_case(tables: Tables, edition: Edition) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value, of those of `COMPARED` that were judged.

    Judges are those that all readers have in common; without one there is no frame. What does not
    count in a measure has no row. The cluster is the patient, or the item where none is named.
    """
    study = Study(tables, tables.verdicts, edition)
    patients: dict[str, Any] = dict(tables.cases.select("case", "patient").iter_rows())
    clusters = [
        f"patient:{patients[case]}" if patients[case] else f"item:{case}" for case in study.cases
    ]
    return specs.values(study, study.marks, COMPARED, clusters)


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
    return specs.SHARE_OF(record, counted, run, unit)


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
                    hit = became == outcome
                    yield est.clustered_share(record, hit, owners, robust=study.robust)
                read = [verdict.how for verdict in rows.values() if verdict.outcome == "judged"]
                saved = Counter(how for how in read if rescued(how))
                note = ", ".join(f"{how}: {n}" for how, n in sorted(saved.items(), key=str))
                record = Measure(reader=marks.reader, measure="verdicts_rescued", by=by)
                hits = np.array([rescued(how) for how in read], dtype=bool)
                own = owners[became == "judged"]
                record = remarked(record, note)
                yield est.clustered_share(record, hits, own, robust=study.robust)


_COVERAGE: Final = specs.coverage_specs(accuracy.asked_of, _outcomes)
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
            specs.named(_COVERAGE)["unparsed"].of,
            specs.SHARE_OF,
        ),
        ("truncated", "share of items whose reply the token limit cut off", _cut_off, _share_known),
    )
)
SPECS: Final = (
    *accuracy.SPECS,
    *steps.SPECS,
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
METRICS: Final[Mapping[str, Spec]] = specs.named(SPECS)


def measure(
    tables: Tables,
    verdicts: pl.DataFrame | None,
    edition: Edition,
    *,
    labels: Mapping[tuple[str, str], str | None] | None = None,
    veiled: bool = False,
    people: Mapping[CheckedReply, str] | None = None,
) -> list[Measure]:
    """Every declared measure of every reader, then the readers against each other.

    `verdicts` have the columns of `VERDICT_COLUMNS`, read under this edition. `labels` say what a
    judge's verdicts on a question are worth, where fitness was tested. Where `veiled`, no group is
    named by words of the set that only few patients have. `people` is what they said of answers
    that judges had judged.
    """
    study = Study(tables, verdicts, edition, labels, veiled=veiled)
    records = specs.measure(study, study.marks, SPECS)
    if people and study.robust:
        right = partial(accuracy.right_by_people, study, people)
        records += checked_by_people(study, study.marks, METRICS["accuracy"], records, right)
    every = [*records, *study.finish(comparisons(study)), *consistency.likenesses(study)]
    return contrasts.with_q(unseeing_noted(every, tables.readers, "answered"))


def measure_judged(
    tables: Tables,
    questions: Sequence[Question],
    edition: Edition,
    *,
    veiled: bool,
    sheets: Sequence[FilePath] = (),
) -> list[Measure]:
    """The measures of a run, and beside them what its judges are worth, if it has any.

    `sheets` are those that people filled.
    """
    verdicts = tables.verdicts
    if verdicts is None:
        return measure(tables, None, edition, veiled=veiled)
    cases = cases_in(tables.cases)
    found = fitness_in(questions, verdicts, cases)
    judged = verdicts.filter(~verdicts["check"])
    labels = labels_of(questions, judged, found)
    people = people_said(sheets, questions, ("answer",), cases, tables.answers)
    records = measure(tables, judged, edition, labels=labels, veiled=veiled, people=people)
    return [
        *records,
        *(corrected_for_errors(records, found, "accuracy", "answer") if edition.robust else ()),
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
        drawn = est.Resampling(owners, boot=edition.boot, seed=edition.seed, robust=edition.robust)
        yield from drawn.finish([_of_both(one, both) for one in pair])


def _of_both(one: JudgeCount, both: Mask) -> Estimate:
    columns = None if one.columns is None else one.columns[both]
    return msgspec.structs.replace(one, columns=columns, counted=both[both])
