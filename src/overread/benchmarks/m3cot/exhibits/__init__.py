"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist; the summary comes first, even where there is
nothing. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.m3cot.exhibits import figures, tables
from overread.case import Figure, Measure, Table


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow, in the order of the page."""
    index = Index(measures)
    yield tables.summary(index, signature)
    fitness, agreement, verdicts = tables.judge_tables(index, signature)
    made: list[Table | Figure | None] = [
        fitness,
        *figures.profile_figures(index, signature),
        tables.impact_table(index, signature),
        figures.task_figure(index, signature),
        tables.tasks_table(index, signature),
        tables.kinds_table(index, signature),
        tables.steps_table(index, signature),
        tables.modalities_table(index, signature),
        tables.paths_table(index, signature),
        figures.likeness_figure(index, signature),
        tables.image_table(index, signature),
        tables.follow_table(index, signature),
        tables.pairs_table(index, signature),
        agreement,
        verdicts,
        *tables.paper_tables(index, signature),
    ]
    yield from (one for one in made if one is not None)
