"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from overread.benchmarks.grounding.exhibits import dot_plot, figures, tables
from overread.case import Figure, Measure, Table

__all__ = ["exhibits"]

# In the order of the page: what it found, whether the image matters, where and for whom, how sure
# it was, and what the numbers depend on.
_EXHIBITS: Final[tuple[Callable[[dot_plot.Index], Table | Figure | None], ...]] = (
    tables.summary,
    figures.triad,
    dot_plot.premium,
    dot_plot.uar,
    dot_plot.decomposition,
    dot_plot.accuracy_baselines,
    tables.against_baselines,
    tables.pairwise,
    figures.sens_spec,
    figures.finding_heatmap,
    tables.findings,
    tables.subgroups,
    tables.sentences,
    tables.confidence,
    figures.reliability,
    figures.confidence_histogram,
    figures.resolution_plane,
    tables.resolution,
    dot_plot.phrasing_lanes,
    tables.phrasing,
    tables.conditions,
    tables.rated_boxes,
    tables.rated_boxes_by_finding,
    tables.thresholds,
    tables.parse_rates,
    tables.worst_cases,
)


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow; the summary comes first, even where there is nothing."""
    index = dot_plot.Index(measures, signature)
    return (made for make in _EXHIBITS if (made := make(index)) is not None)
