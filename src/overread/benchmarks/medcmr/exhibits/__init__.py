"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist; the summary comes first, even where there is
nothing. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.medcmr.exhibits import figures, people, tables
from overread.case import Figure, Measure, Table

__all__ = ["exhibits"]


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow, in the order of the page."""
    index = Index(measures)
    yield tables.summary(index, signature)
    fitness, agreement = people.judge_tables(index, signature)
    made: list[Table | Figure | None] = [
        fitness,
        tables.scores_table(index, signature),
        *figures.profile_figures(index, signature),
        tables.abilities_table(index, signature),
        figures.image_lanes(index, signature),
        tables.image_table(index, "accuracy", signature),
        tables.image_table(index, "score", signature),
        figures.group_lanes(index, "modality", signature),
        tables.group_table(index, "modality", "modalities", signature),
        figures.group_lanes(index, "system", signature),
        tables.group_table(index, "system", "systems", signature),
        tables.subtypes_table(index, signature),
        tables.order_table(index, signature),
        tables.sureness_table(index, signature),
        tables.pairs_table(index, signature),
        tables.base_table(index, signature),
        figures.size_figure(index, signature),
        figures.correlations_table(index, signature),
        people.error_figure(index, signature),
        people.error_table(index, signature),
        tables.leakage_table(index, signature),
        people.rank_figure(index, signature),
        people.rank_table(index, signature),
        agreement,
        tables.coverage_table(index, signature),
    ]
    yield from (one for one in made if one is not None)
