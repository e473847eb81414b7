"""The measures of the causal audit, each registered once in `METRICS`; the rates case by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from overread.benchmarks.families import with_q
from overread.benchmarks.grounding import calibration, comparisons, subgroups, triad
from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.comparisons import robustness
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.marks import Marks, Metric, Study, facts_of, marks_at
from overread.benchmarks.grounding.subgroups import cgr_by_rating, read_ratings
from overread.case import Measure

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

__all__ = ["HIGHER", "METRICS", "Metric", "measure", "per_case"]

METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for part in (triad, calibration, subgroups, comparisons)
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
        records.extend(cgr_by_rating(study, read_ratings(options.ratings)))
    return with_q(records)


# ---------------------------------------------------------------- the headline rates case by case
# So that readers can be compared within a run and across runs.


HIGHER: Final[Mapping[str, bool]] = {"accuracy": True, "cgr": True, "is": True}
"""Whether more of a measure is better.

Of UAR it cannot be said: the other patient has the same finding and label, so that who looks and
who does not both keep their answer.
"""


def per_case(tables: Tables, edition: Edition, options: Options) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value (1 or 0) for each rate.

    A row stands for a case that counts in the rate, so that the mean of a reader's values is the
    rate itself: `accuracy` has parsed originals with a key (1 is right); `cgr` correct Yes on a
    boxed finding with an answer under the target mask (1: it flipped); `uar` correct originals with
    an answer to the swapped image (1: it stayed); `is` those with one under the irrelevant mask
    (1: it stayed). These depend on which answers a reader gets right, so that two readers share
    only some of their cases. The cluster is the patient, or the image where none is named.
    """
    import polars as pl

    counts: Mapping[str, Callable[[Marks], pr.Count]] = {
        "accuracy": pr.accuracy,
        "cgr": pr.cgr,
        "uar": pr.uar,
        "is": pr.stability(edition),
    }
    who = tables.cases.select(
        "case",
        cluster=pl.coalesce(
            pl.lit("patient:") + pl.col("subject_id"), pl.lit("image:") + pl.col("image_path")
        ),
    )
    every = marks_at(tables, edition, facts_of(tables.cases, edition), options.px, options.phrasing)
    names = ("reader", "case", "cluster")
    schema: dict[str, Any] = dict.fromkeys(names, pl.String) | {"value": pl.Float64}
    found: dict[str, pl.DataFrame] = {}
    for name, counting in counts.items():
        parts = [_reader_values(marks, counting(marks), who) for marks in every]
        found[name] = pl.concat([pl.DataFrame(schema=schema), *parts])
    return found


def _reader_values(marks: Marks, count: pr.Count, who: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    decided = count.decided
    return who.filter(pl.Series(decided)).select(
        pl.lit(marks.reader, pl.String).alias("reader"),
        "case",
        "cluster",
        pl.Series("value", count.hits[decided].astype(float)),
    )
