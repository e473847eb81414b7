"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist; the summary comes first, even where there is
nothing. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.m3cot.exhibits.case_view import case_views
from overread.benchmarks.m3cot.exhibits.figures import (
    likeness_figure,
    paths_table,
    profile_figures,
    task_figure,
)
from overread.benchmarks.m3cot.exhibits.summary import paper_tables, summary
from overread.benchmarks.m3cot.exhibits.tables import (
    follow_table,
    image_table,
    impact_table,
    judge_tables,
    kinds_table,
    modalities_table,
    pairs_table,
    steps_table,
    tasks_table,
)
from overread.case import Figure, Measure, Table

__all__ = ["case_views", "exhibits", "summary"]


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow, in the order of the page."""
    index = Index(measures)
    yield summary(index, signature)
    fitness, agreement, verdicts = judge_tables(index, signature)
    made: list[Table | Figure | None] = [
        fitness,
        *profile_figures(index, signature),
        impact_table(index, signature),
        task_figure(index, signature),
        tasks_table(index, signature),
        kinds_table(index, signature),
        steps_table(index, signature),
        modalities_table(index, signature),
        paths_table(index, signature),
        likeness_figure(index, signature),
        image_table(index, signature),
        follow_table(index, signature),
        pairs_table(index, signature),
        agreement,
        verdicts,
        *paper_tables(index, signature),
    ]
    yield from (one for one in made if one is not None)
