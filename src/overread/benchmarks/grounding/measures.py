"""The measures of the causal audit, each declared once in `SPECS`; the rates case by case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from overread.benchmarks.grounding import authors, calibration, comparisons, rates
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.marks import Study
from overread.case import Measure
from overread.measuring.contrasts import with_q
from overread.measuring.specs import Counted, Spec, counted_once, made_by, named, values

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables


SPECS: Final[tuple[Spec, ...]] = (*rates.SPECS, *calibration.SPECS, *comparisons.SPECS)
METRICS: Final[Mapping[str, Spec]] = named(SPECS)


def measure(tables: Tables, edition: Edition, options: Options) -> list[Measure]:
    """Every declared measure of every reader, in the run's order."""
    run = Study(tables, edition, options)
    specs = authors.with_their_groups(SPECS) if edition.name == "authors" else SPECS
    if run.published:  # each of the published bootstraps has a stream of its own
        authors.draw_bootstraps(run, _rates_and_groups(run, specs))
    with ThreadPoolExecutor(1) as beside:
        comparisons.begin_gap_tests(run, beside)
        records = run.finish(
            made for marks in run.marks for spec in specs for made in made_by(run, marks, spec)
        )
    records.extend(comparisons.robustness(run))
    if options.ratings is not None:
        ratings = comparisons.read_ratings(options.ratings)
        records.extend(comparisons.cgr_by_rating(run, ratings))
    return with_q(records)


def _rates_and_groups(run: Study, specs: tuple[Spec, ...]) -> Iterator[tuple[Measure, Counted]]:
    """What every rate counts, under every condition and in every group."""
    for m in run.marks:
        for spec in specs:
            for condition in spec.conditions(run, m) if spec.of else ():
                counted = counted_once(run, m, spec, condition)
                for group in run.groups(*(() if condition else spec.groups)):
                    by = {**condition, **group.by}
                    record = Measure(reader=m.reader, measure=spec.name, by=by)
                    yield record, counted.within(group.members)


def per_case(tables: Tables, edition: Edition, options: Options) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value (1 or 0) for each rate that readers compare by.

    A row stands for a case that counts in the rate, so that the mean of a reader's values is the
    rate itself: `accuracy` has parsed originals with a key (1 is right); `cgr` correct Yes on a
    boxed finding with an answer under the target mask (1: it flipped); `uar` correct originals with
    an answer to the swapped image (1: it stayed); `is` those with one under the irrelevant mask
    (1: it stayed). These depend on which answers a reader gets right, so that two readers share
    only some of their cases. The cluster is the patient, or the image where none is named.
    """
    import polars as pl

    who = pl.coalesce(
        pl.lit("patient:") + pl.col("subject_id"), pl.lit("image:") + pl.col("image_path")
    )
    clusters = tables.cases.select(who.alias("cluster"))["cluster"].to_list()
    run = Study(tables, edition, options)
    return values(run, run.marks, SPECS, clusters)
