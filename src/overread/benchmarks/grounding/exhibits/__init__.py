"""What a reader of the report sees: the paper's tables and figures, made of one run's measures.

An exhibit is made only where its records exist. docs/exhibits.md lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from overread.benchmarks.grounding.exhibits.agreement import resolution_plane, transfer_figure
from overread.benchmarks.grounding.exhibits.baselines import accuracy_baselines
from overread.benchmarks.grounding.exhibits.behaviour import sens_spec, triad
from overread.benchmarks.grounding.exhibits.certainty import confidence
from overread.benchmarks.grounding.exhibits.contrasts import against_baselines, pairwise
from overread.benchmarks.grounding.exhibits.groups import (
    coverage,
    coverage_findings,
    findings,
    sentences,
    subgroups,
)
from overread.benchmarks.grounding.exhibits.headline import (
    conditions,
    parse_rates,
    summary,
    summary_of,
    thresholds,
    worst_cases,
)
from overread.benchmarks.grounding.exhibits.heatmap import finding_heatmap
from overread.benchmarks.grounding.exhibits.histogram import confidence_histogram
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.lanes import uar
from overread.benchmarks.grounding.exhibits.reliability import reliability
from overread.benchmarks.grounding.exhibits.robust import phrasing, resolution
from overread.benchmarks.grounding.exhibits.shares import decomposition, premium
from overread.benchmarks.grounding.exhibits.wording import phrasing_lanes
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
    coverage,
    coverage_findings,
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
