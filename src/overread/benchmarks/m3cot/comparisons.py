"""Readers against readers, paired by item with a family of tests for each measure; item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.m3cot.accuracy import difference, right_of
from overread.benchmarks.m3cot.consistency import (
    counted_paths,
    drawn_record,
    hot,
    kept_paths,
    kept_scores,
    overall,
    scores_of,
    seen_in,
)
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.paths import Path
from overread.benchmarks.m3cot.steps import harmonic, values_of
from overread.benchmarks.m3cot.study import COT, DIRECT, Asking, Marks, Study
from overread.case import Measure
from overread.measuring.arrays import ordered_pairs
from overread.measuring.contrasts import (
    FLIPS,
    cluster_sums,
    difference_of_means,
    flip_ps,
    mean_differences,
    signs,
    tested,
)
from overread.measuring.estimates import (
    Estimate,
    Floats,
    columns_of,
    counted_in,
    defined_mean,
    estimated,
    quotients,
)
from overread.measuring.notes import remarked
from overread.measuring.specs import PLAIN, Condition, Counted, Spec, values

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

# Of paths, where every flip chooses the references anew.
_PATH_FLIPS: Final = 999


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
                    mine, theirs = (right_of(m, study, asking, judges) for m in (one, two))
                    yield difference(record, study, mine, theirs, f"diff_accuracy {asking.mode}")
        yield from _step_differences(one, two, study)
        yield from _path_difference(one, two, study)


def _record(
    one: Marks, two: Marks, name: str, study: Study, judges: Sequence[str], *questions: str
) -> Measure:
    label = study.label(judges, *questions)
    by = {"versus": two.reader}
    return Measure(reader=one.reader, measure=f"diff_{name}", by=by, label=label)


def _step_differences(one: Marks, two: Marks, study: Study) -> Iterator[Estimate]:
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
        each = mean_differences(mine, theirs)
        (p,) = flip_ps(cluster_sums(each, study.clusters)[:, None], _coins(study, FLIPS))
        yield tested(difference_of_means(record, mine, theirs), p, f"diff_{question}")
    yield _f1_difference(
        _record(one, two, "f1", study, sorted(everyone), "precision", "recall"), tables
    )


def _f1_difference(record: Measure, tables: Sequence[Sequence[Floats]]) -> Estimate:
    """Of F1 of the first reader less that of the second, whose interval has to do for a test."""
    halves = [np.hstack([columns_of(table[at]) for table in tables]) for at in (0, 1)]
    width, first = halves[0].shape[1], 2 * tables[0][0].shape[1]

    def again(totals: Floats) -> Floats:
        return harmonic(totals[:, :width], first) - harmonic(totals[:, width:], first)

    counted = counted_in(*tables[0], *tables[1])
    made = estimated(record, np.hstack(halves), again, counted, limits=(-1.0, 1.0))
    if made.record.value is None:
        return made
    return msgspec.structs.replace(made, record=remarked(made.record, "interval only"))


def _coins(study: Study, flips: int) -> NDArray[np.int8]:
    patients = int(study.clusters.max()) + 1
    return study.once(("coins", flips), lambda: signs(patients, flips, study.edition.seed))


def _path_difference(one: Marks, two: Marks, study: Study) -> Iterator[Measure]:
    """Both readers' items are drawn together, and their replies exchanged item by item."""
    judges = study.both_judge("order", (one, COT), (two, COT))
    if not judges:
        return
    scores = [[kept_scores(marks, study, judge) for judge in judges] for marks in (one, two)]
    gaps = [
        overall("consistency", mine) - overall("consistency", theirs)
        for mine, theirs in zip(*scores, strict=True)
    ]
    n = max(int(np.nan_to_num(score.n[0]).sum()) for own in scores for score in own)
    counted = counted_paths(one, study, judges) | counted_paths(two, study, judges)
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
    p = _path_p(one, two, study, judges)
    yield msgspec.structs.replace(made, p=p, family="diff_consistency")


def _path_p(one: Marks, two: Marks, study: Study, judges: Sequence[str]) -> float:
    """The share of exchanges of replies that set the readers as far apart; references refitted."""
    coins = _coins(study, _PATH_FLIPS) > 0
    kept = coins[:, study.clusters].astype(np.float64)
    kept = np.vstack([np.ones((1, kept.shape[1])), kept])  # the first is the data
    gaps = [
        _exchanged(study, kept, kept_paths(one, study, judge), kept_paths(two, study, judge))
        for judge in judges
    ]
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
        scores[0].append(scores_of(counts, seen, "mode", apart=held))
        scores[1].append(scores_of(both - counts, seen, "mode", apart=held))
    if not scores[0]:
        return np.zeros(len(kept))
    means = [defined_mean(np.array(some).T) for some in scores]
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
            return Counted(right_of(marks, study, asking, judges), study.everyone)
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
is its accuracy where every judge counts every item, as in `corrected`. `step_f1`: F1 of the item's
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
    return values(study, study.marks, COMPARED, clusters)
