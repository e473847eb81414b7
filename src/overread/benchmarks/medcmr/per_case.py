"""Right choices and judged scores item by item, so that readers can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from overread.benchmarks.drafts import Floats
from overread.benchmarks.medcmr.edition import Edition, Options
from overread.benchmarks.medcmr.marks import MCQ, OPEN
from overread.benchmarks.medcmr.scored import scored
from overread.benchmarks.medcmr.study import Study

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["HIGHER", "per_case"]

HIGHER: Final[Mapping[str, bool]] = {"accuracy": True, "score": True}
"""Whether more of a measure is better."""


def per_case(tables: Tables, edition: Edition, options: Options) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value, of those of `HIGHER` that were asked.

    `accuracy`: whether the right option was named (1 or 0), a row for each multiple-choice item;
    whatever names none is 0. `score`: S of an open answer, from 0 to 1, the mean of the judges that
    all readers have in common; a refusal and no reply are 0, what no judge could be read on has no
    row. So the mean of a reader's values is the measure itself, S where all have the same judges.
    The cluster is the item, or the first by name of those resampled with it (shared images or
    patients), under the edition's rule for clusters.
    """
    study = Study(tables, tables.verdicts, edition, options)
    chosen = {
        marks.reader: np.where(marks.asked(MCQ), marks.right(MCQ).astype(float), np.nan)
        for marks in study.marks
        if MCQ in marks.said
    }
    clusters = _clusters(study)
    found = {"accuracy": chosen, "score": _scores(study)}
    return {
        name: _frame(study, clusters, values)
        for name, values in found.items()
        if any(not np.isnan(own).all() for own in values.values())
    }


def _scores(study: Study) -> dict[str, Floats]:
    given = {
        marks.reader: scored(study, marks, OPEN)
        for marks in study.marks
        if OPEN in marks.said and marks.asked(OPEN).any()
    }
    judged = {reader: one for reader, one in given.items() if one.judges}
    if not judged:
        return {}
    common = sorted(set.intersection(*(set(one.judges) for one in judged.values())))
    if not common:
        return {}
    made = {reader: one.units("score", common) for reader, one in judged.items()}
    return {reader: units / one for reader, (units, one) in made.items()}


def _clusters(study: Study) -> list[str]:
    """Each item's cluster, by the first of its items by name: the same in every run over them."""
    first: dict[int, str] = {}
    for case, code in zip(study.facts.cases, study.facts.clusters.tolist(), strict=True):
        first[code] = min(first.get(code, case), case)
    return [f"item:{first[code]}" for code in study.facts.clusters.tolist()]


def _frame(study: Study, clusters: list[str], values: Mapping[str, Floats]) -> pl.DataFrame:
    import polars as pl

    n = study.facts.n
    made = pl.DataFrame(
        {
            "reader": [reader for reader in values for _ in range(n)],
            "case": [*study.facts.cases] * len(values),
            "cluster": clusters * len(values),
            "value": np.concatenate([np.zeros(0), *values.values()]),
        },
        schema={"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64},
    )
    return made.filter(pl.col("value").is_not_nan())
