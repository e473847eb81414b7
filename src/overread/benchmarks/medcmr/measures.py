"""The measures of the Med-CMR benchmark, each registered once in `METRICS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from overread.benchmarks.drafts import Draft
from overread.benchmarks.families import with_q
from overread.benchmarks.medcmr import (
    accuracy,
    coverage,
    dependence,
    invalid,
    leakage,
    positions,
    probabilities,
    scores,
)
from overread.benchmarks.medcmr.alignment import alignment_measures
from overread.benchmarks.medcmr.comparisons import comparisons
from overread.benchmarks.medcmr.edition import Edition, Options
from overread.benchmarks.medcmr.error_shares import error_measures
from overread.benchmarks.medcmr.scale import scale_measures
from overread.benchmarks.medcmr.score_comparisons import score_comparisons
from overread.benchmarks.medcmr.study import Labels, Metric, Study
from overread.case import Measure

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["METRICS", "Metric", "measure"]

METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for part in (
        accuracy,
        invalid,
        coverage,
        positions,
        probabilities,
        dependence,
        scores,
        leakage,
    )
    for metric in part.METRICS
}


def measure(
    tables: Tables,
    verdicts: pl.DataFrame | None,
    edition: Edition,
    options: Options | None = None,
    *,
    labels: Labels | None = None,
) -> list[Measure]:
    """Every registered measure of every reader, the readers against each other, and what stands
    beside them: chance, alignment with people, labelled errors, size.

    `verdicts` have the columns of `VERDICT_COLUMNS`, read under this edition. `labels` say what a
    judge's verdicts on a question are worth, where fitness was tested.
    """
    chosen = options or Options()
    study = Study(tables, verdicts, edition, chosen, labels)
    records = study.finish(_made(study))
    records.extend(scale_measures(records, tables.readers))
    records.extend(alignment_measures(study, tables, chosen))
    records.extend(error_measures(study, tables, chosen))
    return with_q(records)


def _made(study: Study) -> Iterator[Draft | Measure]:
    yield from accuracy.chance(study)
    yield from _sizes(study)
    for marks in study.marks:
        for metric in METRICS.values():
            yield from metric.make(marks, study)
    yield from comparisons(study)
    yield from score_comparisons(study)


def _sizes(study: Study) -> Iterator[Measure]:
    """`params_b`: what was declared of a reader's size, in billions of parameters."""
    for reader in study.declared:
        if reader.params_b is not None:
            yield Measure(reader=reader.name, measure="params_b", value=reader.params_b)
