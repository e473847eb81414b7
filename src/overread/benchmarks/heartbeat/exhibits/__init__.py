"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist; the summary comes first, even where there is
nothing. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.heartbeat.exhibits import dot_plots, scatter, tables
from overread.benchmarks.heartbeat.exhibits.settings import HeartIndex
from overread.benchmarks.heartbeat.exhibits.strips import strips
from overread.case import Figure, Measure, Table

__all__ = ["exhibits", "strips"]


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow, in the order of the page."""
    index = HeartIndex(measures, signature)
    made: tuple[Table | Figure | None, ...] = (
        tables.summary(index),
        *dot_plots.error_figures(index),
        dot_plots.accuracy_figure(index),
        *scatter.scatters(index),
        tables.skills(index),
        *tables.frame_errors(index),
        tables.accuracies(index),
        tables.helps(index),
        tables.habits(index),
        *scatter.seed_boxes(index),
        tables.left_out(index),
        *tables.video_errors(index),
    )
    yield from (one for one in made if one is not None)
