"""Right answers and right steps item by item, so that readers can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from overread.benchmarks.m3cot.accuracy import right_of
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import COT, DIRECT, Cell, Floats, Marks
from overread.benchmarks.m3cot.steps import values_of
from overread.benchmarks.m3cot.study import Study, defined_mean, quotients

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["HIGHER", "per_case"]

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
    clusters = _clusters(tables, study)
    found: dict[str, pl.DataFrame] = {}
    for name, cell in (("accuracy_cot", COT), ("accuracy_direct", DIRECT)):
        judges, readers = _common(study, cell, "answer")
        if judges:
            values = {m.reader: defined_mean(right_of(m, study, cell, judges)) for m in readers}
            found[name] = _frame(study, values, clusters)
    judges, readers = _common(study, COT, "precision", "recall")
    if judges:
        values = {m.reader: _f1(m, study, judges) for m in readers}
        found["step_f1"] = _frame(study, values, clusters)
    return found


def _common(study: Study, cell: Cell, *questions: str) -> tuple[list[str], list[Marks]]:
    """The readers that were asked and judged here, and the judges of all of them."""
    panels: list[set[str]] = []
    readers: list[Marks] = []
    for marks in study.marks:
        own = [set(study.judges(marks, question, cell)) for question in questions]
        if cell in marks.said and all(own):
            panels.extend(own)
            readers.append(marks)
    return (sorted(set.intersection(*panels)) if panels else []), readers


def _f1(marks: Marks, study: Study, judges: Sequence[str]) -> Floats:
    p, r = (values_of(marks, study, judges, question) for question in ("precision", "recall"))
    made = quotients(2 * p * r, p + r)
    return defined_mean(np.where(p + r == 0, 0.0, made))


def _clusters(tables: Tables, study: Study) -> list[str]:
    patients = dict(tables.cases.select("case", "patient").iter_rows())
    return [
        f"patient:{patients[case]}" if patients[case] else f"item:{case}"
        for case in study.facts.cases
    ]


def _frame(study: Study, values: Mapping[str, Floats], clusters: Sequence[str]) -> pl.DataFrame:
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
