"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist; the summary comes first, even where there is
nothing. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits.dot_plots import accuracy_figure, error_figures
from overread.benchmarks.heartbeat.exhibits.scatter import scatters, seed_boxes
from overread.benchmarks.heartbeat.exhibits.strips import strips
from overread.benchmarks.heartbeat.exhibits.tables import (
    accuracies,
    frame_errors,
    habits,
    helps,
    left_out,
    skills,
    summary,
    video_errors,
)
from overread.case import Figure, Measure, Table

__all__ = ["exhibits", "strips", "summary"]


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow, in the order of the page."""
    index = Index(measures)
    yield summary(index, signature)
    made: list[Table | Figure | None] = [
        *error_figures(index, signature),
        accuracy_figure(index, signature),
        *scatters(index, signature),
        skills(index, signature),
        *frame_errors(index, signature),
        accuracies(index, signature),
        helps(index, signature),
        habits(index, signature),
        *seed_boxes(index, signature),
        left_out(index, signature),
        *video_errors(index, signature),
    ]
    yield from (one for one in made if one is not None)
