"""The scores of a task's paths in the slow and obvious way, for tests to hold the quick one against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import msgspec

from overread.benchmarks.m3cot.verdicts import Path, Reference, mode_path, similarity


class TaskScore(msgspec.Struct, frozen=True):
    """One task: its items, the reference path, the share that takes it, the mean similarity."""

    n: int
    reference: Path
    share: float
    score: float


def medoid_path(paths: Sequence[Path], *, apart: bool = False) -> Path:
    """The observed path most like all others (Eq. 3); the first seen wins a tie."""
    counts = Counter(paths)
    seen = [path for path in counts if path or not apart]

    def likeness(path: Path) -> float:
        return sum(n * similarity(path, other) for other, n in sorted(counts.items()))

    return max(seen, key=likeness) if seen else ()


def score_task(paths: Sequence[Path], reference: Reference, *, apart: bool = False) -> TaskScore:
    """The mean similarity of a task's paths to their reference; paths in the order of the index.

    `apart`: where no path names anything, nothing is consistent, and the score is 0.
    """
    if not paths:
        raise ValueError("a task without paths has no score")
    choose = mode_path if reference == "mode" else medoid_path
    chosen = choose(paths, apart=apart)
    share = sum(path == chosen for path in paths) / len(paths)
    if apart and not chosen:
        return TaskScore(len(paths), chosen, share, 0.0)
    score = sum(similarity(chosen, path) for path in paths) / len(paths)
    return TaskScore(len(paths), chosen, share, score)


def pairs_in_task(paths: Sequence[Path]) -> float:
    """The mean similarity of two different items' paths; one that names nothing is like nobody."""
    found = [similarity(a, b) if a and b else 0.0 for a, b in combinations(paths, 2)]
    return sum(found) / len(found)
