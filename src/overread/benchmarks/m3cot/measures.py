"""The measures of the M3CoT benchmark, each registered once in `METRICS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from overread.benchmarks.families import with_q
from overread.benchmarks.m3cot import accuracy, consistency, outcomes, speed, steps
from overread.benchmarks.m3cot.comparisons import comparisons
from overread.benchmarks.m3cot.consistency import likenesses
from overread.benchmarks.m3cot.edition import Edition, Options
from overread.benchmarks.m3cot.study import Draft, Labels, Metric, Study
from overread.case import Measure

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

__all__ = ["METRICS", "Metric", "measure"]

METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for part in (
        accuracy.METRICS,
        steps.METRICS,
        speed.METRICS,
        speed.SECONDS_METRICS,
        consistency.METRICS,
        consistency.MODE_METRICS,
        accuracy.DEPENDENCE_METRICS,
        outcomes.METRICS,
    )
    for metric in part
}


def measure(
    tables: Tables,
    verdicts: pl.DataFrame | None,
    edition: Edition,
    options: Options | None = None,
    *,
    labels: Labels | None = None,
    veiled: bool = False,
) -> list[Measure]:
    """Every registered measure of every reader, then the readers against each other.

    `verdicts` have the columns of `VERDICT_COLUMNS`, read under this edition. `labels` say what a
    judge's verdicts on a question are worth, where fitness was tested. Where `veiled`, no group is
    named by words of the set that only few patients have.
    """
    study = Study(tables, verdicts, edition, labels, veiled=veiled)
    records: list[Measure] = []
    for marks in study.marks:
        made = (one for metric in METRICS.values() for one in metric.make(marks, study))
        records.extend(study.finish([_drafted(one) for one in made]))
    records.extend(study.finish([_drafted(one) for one in comparisons(study)]))
    records.extend(likenesses(study))
    return with_q(records)


def _drafted(made: Draft | Measure) -> Draft:
    return made if isinstance(made, Draft) else Draft(record=made)
