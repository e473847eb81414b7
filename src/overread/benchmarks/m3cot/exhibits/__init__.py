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
    index = Index(measures, signature, tables.WORDING)
    yield tables.summary(index)
    fitness, agreement, verdicts = tables.judge_tables(index)
    made: list[Table | Figure | None] = [
        fitness,
        *figures.profile_figures(index),
        tables.impact_table(index),
        figures.task_figure(index),
        tables.tasks_table(index),
        tables.kinds_table(index),
        tables.steps_table(index),
        tables.modalities_table(index),
        tables.paths_table(index),
        figures.likeness_figure(index),
        tables.image_table(index),
        tables.follow_table(index),
        tables.pairs_table(index),
        agreement,
        verdicts,
        *tables.paper_tables(index),
    ]
    yield from (one for one in made if one is not None)
