"""Reasoning paths: the order in which a reply first names each category (M3COT 7).

A path is a tuple of categories, each at most once: 65 are possible, the empty one among them.
sim(P, Q) = LCS length / the longer length; 1 if both are empty, 0 if one is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from overread.benchmarks.m3cot.verdicts import ORDERS

Path: TypeAlias = tuple[str, ...]
Reference: TypeAlias = Literal["mode", "medoid"]


def path_of(orders: Mapping[str, Any]) -> Path:
    """Categories with an order above 0, by their order; ties in the sequence of `ORDERS`.

    Orders are truncated to whole numbers and None is 0. One that cannot be converted makes the
    whole path empty.
    """
    ranks = []
    for name in ORDERS:
        rank = _whole_rank(orders.get(name))
        if rank is None:
            return ()
        ranks.append(rank)
    named = [(rank, place) for place, rank in enumerate(ranks) if rank > 0]
    return tuple(ORDERS[place] for _, place in sorted(named))


def _whole_rank(said: Any) -> int | None:
    if said is None or said != said:
        return 0
    try:
        return int(said)
    except (ValueError, TypeError, OverflowError):
        return None


@lru_cache(maxsize=8192)
def lcs_length(one: Path, two: Path) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(two) + 1)
    for step in one:
        before = 0
        for place, other in enumerate(two, 1):
            here = row[place]
            row[place] = before + 1 if step == other else max(here, row[place - 1])
            before = here
    return row[-1]


def similarity(one: Path, two: Path) -> float:
    """LCS length over the longer length, in [0, 1]; two empty paths are alike."""
    longer = max(len(one), len(two))
    return lcs_length(one, two) / longer if longer else 1.0


def mode_path(paths: Sequence[Path], *, apart: bool = False) -> Path:
    """The most frequent path; the first seen wins a tie. `apart`: not the empty one, if others."""
    counts = Counter(path for path in paths if path or not apart)
    # Counter keeps the order of first sight, and max the first of equals.
    return max(counts, key=counts.__getitem__) if counts else ()
