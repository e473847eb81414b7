"""Reasoning paths: the order in which a reply first names each category (M3COT 7).

A path is a tuple of categories, each at most once: 65 are possible, the empty one among them.
sim(P, Q) = LCS length / the longer length; 1 if both are empty, 0 if one is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.m3cot.verdicts_authors import ORDERS

__all__ = [
    "Path",
    "Reference",
    "TaskScore",
    "cells_of",
    "lcs_length",
    "medoid_path",
    "mode_path",
    "path_of",
    "score_task",
    "similarity",
    "text_columns",
]

Path: TypeAlias = tuple[str, ...]
Reference: TypeAlias = Literal["mode", "medoid"]

# What pandas takes for a missing cell, and for a truth, when it reads the authors' file.
_MISSING: Final = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN")
) | frozenset(("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"))
_TRUTHS: Final = {
    **dict.fromkeys(("True", "TRUE", "true"), True),
    **dict.fromkeys(("False", "FALSE", "false"), False),
}


def path_of(orders: Mapping[str, Any]) -> Path:
    """Categories with an order above 0, by their order; ties in the sequence of `ORDERS`.

    Orders are truncated to whole numbers and None is 0. One that cannot be converted makes the
    whole path empty.
    """
    ranks = []
    for name in ORDERS:
        rank = _whole(orders.get(name))
        if rank is None:
            return ()
        ranks.append(rank)
    named = [(rank, place) for place, rank in enumerate(ranks) if rank > 0]
    return tuple(ORDERS[place] for _, place in sorted(named))


def _whole(said: Any) -> int | None:
    if said is None or said != said:
        return 0
    try:
        return int(said)
    except (ValueError, TypeError, OverflowError):
        return None


def cells_of(rows: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any]]:
    """Orders as they come back from the authors' CSV file, all rows of one reader and judge.

    A cell that is no number turns its whole column to text, after which "1.0" is no whole number
    any more and its path is lost (M3COT 7, golden `odd_orders`). None is a row that failed.
    """
    told = [{name: _cell(row.get(name) if row else None) for name in ORDERS} for row in rows]
    as_text = text_columns(told)
    return [
        {
            name: cell if name in as_text and cell not in _MISSING else _number(cell)
            for name, cell in row.items()
        }
        for row in told
    ]


def text_columns(rows: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Columns of cells that are read as text: neither all numbers nor all truths."""
    columns: dict[str, list[str]] = {name: [] for name in ORDERS}
    for row in rows:
        for name, cells in columns.items():
            if row[name] not in _MISSING:
                cells.append(row[name])
    return frozenset(
        name
        for name, cells in columns.items()
        if not all(cell in _TRUTHS for cell in cells)
        and not all(cell not in _TRUTHS and _is_number(cell) for cell in cells)
    )


def _cell(said: Any) -> str:
    return "" if said is None else str(said)


def _number(cell: str) -> float | bool | None:
    if cell in _MISSING:
        return None
    return _TRUTHS[cell] if cell in _TRUTHS else float(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


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


class TaskScore(msgspec.Struct, frozen=True):
    """One task: its items, the reference path, the share that takes it, the mean similarity."""

    n: int
    reference: Path
    share: float
    score: float


def mode_path(paths: Sequence[Path], *, apart: bool = False) -> Path:
    """The most frequent path; the first seen wins a tie. `apart`: not the empty one, if others."""
    counts = Counter(path for path in paths if path or not apart)
    # Counter keeps the order of first sight, and max the first of equals.
    return max(counts, key=counts.__getitem__) if counts else ()


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
