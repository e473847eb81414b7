"""The measures of the heartbeat benchmark, each registered once in `METRICS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from overread.benchmarks.families import with_q
from overread.benchmarks.heartbeat import (
    biases,
    contexts,
    correlation,
    ejection,
    frames,
    guessing,
    pairs,
)
from overread.benchmarks.heartbeat.baselines import baselines
from overread.benchmarks.heartbeat.edition import Edition, Options
from overread.benchmarks.heartbeat.study import Draft, Metric, Study
from overread.case import Measure

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["METRICS", "Metric", "measure"]

METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for part in (frames, correlation, guessing, pairs, biases, ejection, contexts)
    for metric in part.METRICS
}


def measure(
    tables: Tables,
    edition: Edition,
    options: Options | None = None,
    *,
    volumes: Mapping[str, Any] | None = None,
    volume_method: str = "",
    areas: Mapping[str, Any] | None = None,
    specialists: Mapping[str, Mapping[str, float]] | None = None,
) -> list[Measure]:
    """Every registered measure of every reader, then the guessers' and the specialists' rows.

    `volumes` are the ventricle's volumes by case, one per frame of the clip; `volume_method` says
    how they were got, and is printed with what is made of them; `areas` are those of the masks.
    `specialists` give the EF each model predicts, by case.
    """
    study = Study(tables, edition, volumes, volume_method, areas)
    records: list[Measure] = []
    for reader in study.readers:
        drafts: list[Draft] = []
        for marks in study.marks:
            if marks.reader != reader:
                continue
            for metric in METRICS.values():
                if marks.task in metric.tasks:
                    drafts.extend(_drafted(made) for made in metric.make(marks, study))
        records.extend(study.finish(drafts))
    records.extend(study.finish(list(baselines(study))))
    records.extend(guessing.left_out(study))
    for name, predicted in (specialists or {}).items():
        records.extend(ejection.specialist(f"specialist:{name}", predicted, study))
    return with_q(records)


def _drafted(made: Draft | Measure) -> Draft:
    return made if isinstance(made, Draft) else Draft(record=made)
