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
    index = Index(measures, signature, tables.WORDING)
    yield tables.summary(index)
    fitness, agreement = people.judge_tables(index)
    made: list[Table | Figure | None] = [
        fitness,
        tables.scores_table(index),
        *figures.profile_figures(index),
        tables.abilities_table(index),
        figures.image_lanes(index),
        tables.image_table(index, "accuracy"),
        tables.image_table(index, "score"),
        figures.group_lanes(index, "modality"),
        tables.group_table(index, "modality", "modalities"),
        figures.group_lanes(index, "system"),
        tables.group_table(index, "system", "systems"),
        tables.subtypes_table(index),
        tables.order_table(index),
        tables.sureness_table(index),
        tables.pairs_table(index),
        tables.base_table(index),
        figures.size_figure(index),
        figures.correlations_table(index),
        people.error_figure(index),
        people.error_table(index),
        tables.leakage_table(index),
        people.rank_figure(index),
        people.rank_table(index),
        agreement,
        tables.coverage_table(index),
    ]
    yield from (one for one in made if one is not None)
