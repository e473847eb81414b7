"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from overread.benchmarks.grounding.exhibits.dot_plot import (
    Index,
    accuracy_baselines,
    decomposition,
    phrasing_lanes,
    premium,
    uar,
)
from overread.benchmarks.grounding.exhibits.findings_and_confidence import (
    confidence_histogram,
    finding_heatmap,
    reliability,
)
from overread.benchmarks.grounding.exhibits.planes import (
    resolution_plane,
    sens_spec,
    transfer_figure,
    triad,
)
from overread.benchmarks.grounding.exhibits.tables import (
    against_baselines,
    conditions,
    confidence,
    findings,
    pairwise,
    parse_rates,
    phrasing,
    rated_boxes,
    rated_boxes_by_finding,
    resolution,
    sentences,
    subgroups,
    summary,
    summary_of,
    thresholds,
    worst_cases,
)
from overread.case import Figure, Measure, Table

__all__ = ["exhibits", "summary", "transfer_figure"]

# In the order of the page: what it found, whether the image matters, where and for whom, how sure
# it was, and what the numbers depend on.
_EXHIBITS: Final[tuple[Callable[[Index, str], Table | Figure | None], ...]] = (
    summary_of,
    triad,
    premium,
    uar,
    decomposition,
    accuracy_baselines,
    against_baselines,
    pairwise,
    sens_spec,
    finding_heatmap,
    findings,
    subgroups,
    sentences,
    confidence,
    reliability,
    confidence_histogram,
    resolution_plane,
    resolution,
    phrasing_lanes,
    phrasing,
    conditions,
    rated_boxes,
    rated_boxes_by_finding,
    thresholds,
    parse_rates,
    worst_cases,
)


def exhibits(measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
    """Every exhibit the measures allow; the summary comes first, even where there is nothing."""
    index = Index(measures)
    for make in _EXHIBITS:
        made = make(index, signature)
        if made is not None:
            yield made
