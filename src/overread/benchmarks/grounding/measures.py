"""The measures of the causal audit, each registered once in `METRICS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from overread.benchmarks.families import with_q
from overread.benchmarks.grounding import (
    calibration,
    comparisons,
    regimes,
    sentences,
    subgroups,
    triad,
)
from overread.benchmarks.grounding.coverage import coverage, read_ratings
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.robustness import robustness
from overread.benchmarks.grounding.study import Metric, Study
from overread.case import Measure

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["METRICS", "Metric", "measure"]

METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for part in (triad, calibration, regimes, sentences, subgroups, comparisons)
    for metric in part.METRICS
}


def measure(tables: Tables, edition: Edition, options: Options) -> list[Measure]:
    """Every registered measure of every reader, in the run's order."""
    study = Study(tables, edition, options)
    for columns in (
        triad.columns,
        calibration.columns,
        comparisons.columns,
        triad.columns_beside,
    ):
        study.need(columns(study))
    triad.draw(study)
    records: list[Measure] = []
    for marks in study.marks:
        done: dict[str, Measure] = {}
        for metric in METRICS.values():
            for record in metric.make(marks, study, done):
                records.append(record)
                if not record.by:
                    done[record.measure] = record
    records.extend(robustness(study))
    if options.ratings is not None:
        records.extend(coverage(study, read_ratings(options.ratings)))
    return with_q(records)
