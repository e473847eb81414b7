"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist; the summary comes first, even where there is
nothing. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.medcmr.exhibits.case_view import case_views
from overread.benchmarks.medcmr.exhibits.people import (
    alignment_exhibits,
    error_exhibits,
    judge_tables,
)
from overread.benchmarks.medcmr.exhibits.profile import profile_figures
from overread.benchmarks.medcmr.exhibits.robustness import (
    coverage_table,
    image_exhibits,
    leakage_table,
    order_table,
    sureness_table,
)
from overread.benchmarks.medcmr.exhibits.score_tables import (
    abilities_table,
    base_table,
    group_exhibits,
    pairs_table,
    scores_table,
    subtypes_table,
    summary,
)
from overread.benchmarks.medcmr.exhibits.size import size_exhibits
from overread.case import Figure, Measure, Table

__all__ = ["case_views", "exhibits", "summary"]


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow, in the order of the page."""
    index = Index(measures)
    yield summary(index, signature)
    fitness, agreement = judge_tables(index, signature)
    made: list[Table | Figure | None] = [
        fitness,
        scores_table(index, signature),
        *profile_figures(index, signature),
        abilities_table(index, signature),
        *image_exhibits(index, signature),
        *group_exhibits(index, signature),
        subtypes_table(index, signature),
        order_table(index, signature),
        sureness_table(index, signature),
        pairs_table(index, signature),
        base_table(index, signature),
        *size_exhibits(index, signature),
        *error_exhibits(index, signature),
        leakage_table(index, signature),
        *alignment_exhibits(index, signature),
        agreement,
        coverage_table(index, signature),
    ]
    yield from (one for one in made if one is not None)
