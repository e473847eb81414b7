"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist; the summary comes first, even where there is
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits.figures import accuracy_figure, error_figures, scatter
from overread.benchmarks.heartbeat.exhibits.tables import (
    accuracies,
    frame_errors,
    habits,
    helps,
    summary,
    video_errors,
)
from overread.case import Figure, Measure, Table

__all__ = ["exhibits", "summary"]


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow, in the order of the page."""
    index = Index(measures)
    yield summary(index, signature)
    made: list[Table | Figure | None] = [
        *error_figures(index, signature),
        *frame_errors(index, signature),
        accuracy_figure(index, signature),
        accuracies(index, signature),
        *scatter(index, signature),
        helps(index, signature),
        habits(index, signature),
        *video_errors(index, signature),
    ]
    yield from (one for one in made if one is not None)
