"""Synthetic patients whose truth is known exactly. Each kind is imported when it is made.

A module of an organ has `write_phantoms(root, n, seed)`, which a benchmark names as its maker.
"""

from __future__ import annotations

from pathlib import Path

from overread.benchmarks.base import place_of
from overread.case import BadInput

__all__ = ["write_set"]

_MAKERS = {
    "grounding": "overread.phantoms.chest:write_phantoms",
    "heartbeat": "overread.phantoms.heart:write_phantoms",
    "m3cot": "overread.phantoms.question:write_phantoms",
    "medcmr": "overread.phantoms.vignette:write_phantoms",
}


def write_set(benchmark: str, root: Path, n: int, seed: int = 0) -> Path:
    """The phantom cases of a benchmark in a folder of their own below `root`, made if not there."""
    if benchmark not in _MAKERS:
        *others, last = _MAKERS
        raise BadInput(
            f'benchmark "{benchmark}" has no phantoms; {", ".join(others)} and {last} have.'
        )
    made: Path = place_of(_MAKERS[benchmark])(root, n, seed)
    return made
