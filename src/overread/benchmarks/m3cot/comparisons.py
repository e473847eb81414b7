"""Readers against readers, paired by item with a family of tests for each measure; item by item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.m3cot.accuracy import difference, flipped, right_of
from overread.benchmarks.m3cot.consistency import (
    hot,
    kept_paths,
    kept_scores,
    overall,
    scores_of,
    seen_in,
)
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import COT, DIRECT, Cell, Floats, Marks
from overread.benchmarks.m3cot.paths import Path
from overread.benchmarks.m3cot.steps import harmonic, values_of
from overread.benchmarks.m3cot.study import (
    Draft,
    Study,
    apart,
    columns_of,
    counted_in,
    defined_mean,
    drafted,
    noted,
    quotients,
    settled,
)
from overread.case import Measure

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

__all__ = ["HIGHER", "comparisons", "flip_p", "per_case", "signs"]

_FLIPS: Final = 9_999
# Of paths, where every flip chooses the references anew.
_PATH_FLIPS: Final = 999
_ROWS: Final = 1_000


def comparisons(study: Study) -> Iterator[Draft | Measure]:
    """Every pair of readers in accuracy, precision, recall, F1 and path consistency."""
    for one, two in combinations(study.marks, 2):
        for cell in (COT, DIRECT):
            if cell in one.said and cell in two.said:
                judges = _common_judges(one, two, study, "answer", cell)
                if judges:
                    by = {**cell.by, "versus": two.reader}
                    mine, theirs = (right_of(m, study, cell, judges) for m in (one, two))
                    record = _difference_record(
                        one, "diff_accuracy", by, study.label(judges, "answer")
                    )
                    yield difference(record, study, mine, theirs, f"diff_accuracy {cell.mode}")
        yield from _step_differences(one, two, study)
        yield from _path_difference(one, two, study)


def _common_judges(
    one: Marks, two: Marks, study: Study, question: str, cell: Cell = COT
) -> list[str]:
    mine, theirs = (study.judges(marks, question, cell) for marks in (one, two))
    return [judge for judge in mine if judge in theirs]


def _difference_record(marks: Marks, name: str, by: dict[str, str], label: str | None) -> Measure:
    return Measure(reader=marks.reader, measure=name, by=by, label=label)


def _step_differences(one: Marks, two: Marks, study: Study) -> Iterator[Draft]:
    tables: dict[str, list[Floats]] = {}
    for question in ("precision", "recall"):
        judges = _common_judges(one, two, study, question)
        if not judges:
            return
        tables[question] = [values_of(marks, study, judges, question) for marks in (one, two)]
        record = _difference_record(
            one, f"diff_{question}", {"versus": two.reader}, study.label(judges, question)
        )
        columns = np.hstack([columns_of(table) for table in tables[question]])
        counted = counted_in(*tables[question])
        made = drafted(record, columns, flipped, counted, limits=(-1.0, 1.0))
        p = _mean_flip_p(study, *tables[question]) if made.record.value is not None else None
        yield _with_p(made, p, f"diff_{question}")
    yield _f1_difference(one, two, study, tables)


def _f1_difference(one: Marks, two: Marks, study: Study, tables: dict[str, list[Floats]]) -> Draft:
    halves = [
        np.hstack([columns_of(tables[question][reader]) for question in ("precision", "recall")])
        for reader in (0, 1)
    ]
    width = halves[0].shape[1]

    first = 2 * tables["precision"][0].shape[1]

    def again(totals: Floats) -> Floats:
        return harmonic(totals[:, :width], first) - harmonic(totals[:, width:], first)

    judges = sorted(
        {*_common_judges(one, two, study, "precision"), *_common_judges(one, two, study, "recall")}
    )
    record = _difference_record(
        one, "diff_f1", {"versus": two.reader}, study.label(judges, "precision", "recall")
    )
    counted = counted_in(*tables["precision"], *tables["recall"])
    made = drafted(record, np.hstack(halves), again, counted, limits=(-1.0, 1.0))
    noted_record = noted(made.record, "interval only") if made.record.value is not None else None
    return made if noted_record is None else msgspec.structs.replace(made, record=noted_record)


def _with_p(made: Draft, p: float | None, family: str) -> Draft:
    if p is None:
        return made
    return msgspec.structs.replace(
        made, record=msgspec.structs.replace(made.record, p=p, family=family)
    )


def _mean_flip_p(study: Study, one: Floats, two: Floats) -> float | None:
    """Of the mean over judges of the differences, on the items both readers are counted on."""
    both = ~(np.isnan(one) | np.isnan(two))
    n = both.sum(axis=1)
    summed = np.where(both, one - two, 0.0).sum(axis=1)
    each = np.nan_to_num(quotients(summed, n.astype(float)))
    sums: Floats = np.bincount(study.facts.patients, weights=each).astype(np.float64)
    return flip_p(sums, _coins(study, _FLIPS)) if n.any() else None


def signs(units: int, flips: int, seed: int) -> NDArray[np.int8]:
    """`flips` rows of +1 and -1 by fair coins, always the same for one seed."""
    # The generator's words are frozen, what numpy makes of them is not: hence bit by bit.
    words = np.random.PCG64(np.random.SeedSequence(seed)).random_raw((flips * units + 63) // 64)
    bits = np.unpackbits(words.astype("<u8").view(np.uint8))[: flips * units]
    return bits.reshape(flips, units).view(np.int8) * np.int8(2) - np.int8(1)


def flip_p(sums: Floats, coins: NDArray[np.int8]) -> float:
    """Two-sided p of a paired difference of any values: signs flipped by patient, by these coins.

    `sums` are the patients' sums of differences. The share of sign vectors, the observed one among
    them, whose total is as far from 0.
    """
    observed, beyond = abs(float(sums.sum())), 0
    for start in range(0, len(coins), _ROWS):
        drawn = np.abs(coins[start : start + _ROWS].astype(np.float64) @ sums)
        beyond += int((drawn >= observed - 1e-9).sum())
    return (1 + beyond) / (1 + len(coins))


def _coins(study: Study, flips: int) -> NDArray[np.int8]:
    patients = int(study.facts.patients.max()) + 1
    return study.once(("coins", flips), lambda: signs(patients, flips, study.edition.seed))


def _path_difference(one: Marks, two: Marks, study: Study) -> Iterator[Measure]:
    """Both readers' items are drawn together, and their replies exchanged item by item."""
    from overread.stats import resample_interval

    judges = _common_judges(one, two, study, "order")
    if not judges:
        return
    gaps = [
        overall("consistency", kept_scores(one, study, judge))
        - overall("consistency", kept_scores(two, study, judge))
        for judge in judges
    ]
    estimates = np.mean(gaps, axis=0)
    record = _difference_record(
        one, "diff_consistency", {"versus": two.reader}, study.label(judges, "order")
    )
    value = float(estimates[0])
    if np.isnan(value):
        yield noted(record, "no paths")
        return
    low, high, sd = resample_interval(estimates[1:], value)
    if low is None or high is None or not apart(low, high):
        low = high = sd = None
    n = max(_paths_counted(marks, study, judge) for judge in judges for marks in (one, two))
    made = msgspec.structs.replace(
        record,
        value=value,
        n=n,
        low=low,
        high=high,
        sd_boot=sd,
        method=None if low is None else f"bootstrap within tasks:{study.edition.boot}",
        p=_path_p(one, two, study, judges),
        family="diff_consistency",
    )
    made = settled(made)
    yield made if low is not None else noted(made, "no interval: every resample gives the same")


def _paths_counted(marks: Marks, study: Study, judge: str) -> int:
    return int(np.nan_to_num(kept_scores(marks, study, judge).n[0]).sum())


def _path_p(one: Marks, two: Marks, study: Study, judges: Sequence[str]) -> float:
    """The share of exchanges of replies that set the readers as far apart; references refitted."""
    coins = _coins(study, _PATH_FLIPS) > 0
    kept = coins[:, study.facts.patients].astype(np.float64)
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


HIGHER: Final[Mapping[str, bool]] = {
    "accuracy_cot": True,
    "accuracy_direct": True,
    "step_f1": True,
}
"""Whether more of a measure is better."""


def per_case(tables: Tables, edition: Edition) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value, of those of `HIGHER` that were judged.

    `accuracy_MODE`: whether the answer is right, the mean over judges; the mean of a reader's
    values is its accuracy where every judge counts every item, as in `corrected`. `step_f1`: F1 of
    the item's own precision and recall, 0 where both are 0, the mean over judges; the measure `f1`
    is made of averages over items instead, and differs. Judges are those that all readers have in
    common, so that nobody is compared across judges; without one there is no frame. What does not
    count in a measure has no row. The cluster is the patient, or the item where none is named.
    """
    study = Study(tables, tables.verdicts, edition)
    clusters = _clusters_of(tables, study)
    found: dict[str, pl.DataFrame] = {}
    for name, cell in (("accuracy_cot", COT), ("accuracy_direct", DIRECT)):
        judges, readers = _judges_of_all(study, cell, "answer")
        if judges:
            values = {m.reader: defined_mean(right_of(m, study, cell, judges)) for m in readers}
            found[name] = _frame_of(study, values, clusters)
    judges, readers = _judges_of_all(study, COT, "precision", "recall")
    if judges:
        values = {m.reader: _f1_by_item(m, study, judges) for m in readers}
        found["step_f1"] = _frame_of(study, values, clusters)
    return found


def _judges_of_all(study: Study, cell: Cell, *questions: str) -> tuple[list[str], list[Marks]]:
    """The readers that were asked and judged here, and the judges of all of them."""
    panels: list[set[str]] = []
    readers: list[Marks] = []
    for marks in study.marks:
        own = [set(study.judges(marks, question, cell)) for question in questions]
        if cell in marks.said and all(own):
            panels.extend(own)
            readers.append(marks)
    return (sorted(set.intersection(*panels)) if panels else []), readers


def _f1_by_item(marks: Marks, study: Study, judges: Sequence[str]) -> Floats:
    p, r = (values_of(marks, study, judges, question) for question in ("precision", "recall"))
    made = quotients(2 * p * r, p + r)
    return defined_mean(np.where(p + r == 0, 0.0, made))


def _clusters_of(tables: Tables, study: Study) -> list[str]:
    patients = dict(tables.cases.select("case", "patient").iter_rows())
    return [
        f"patient:{patients[case]}" if patients[case] else f"item:{case}"
        for case in study.facts.cases
    ]


def _frame_of(study: Study, values: Mapping[str, Floats], clusters: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    n = study.facts.n
    made = pl.DataFrame(
        {
            "reader": [reader for reader in values for _ in range(n)],
            "case": [*study.facts.cases] * len(values),
            "cluster": [*clusters] * len(values),
            "value": np.concatenate([np.zeros(0), *values.values()]),
        },
        schema={"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64},
    )
    return made.filter(pl.col("value").is_not_nan())
