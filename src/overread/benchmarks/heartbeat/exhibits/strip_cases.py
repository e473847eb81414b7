"""Which clips are shown frame by frame: of the best tenth, the median one, of the worst tenth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, Edition
from overread.benchmarks.heartbeat.exhibits.seen import Said, Seen
from overread.benchmarks.heartbeat.exhibits.settings import PHASES
from overread.benchmarks.heartbeat.exhibits.strip import strip
from overread.benchmarks.heartbeat.frames import error_of
from overread.benchmarks.heartbeat.marks import phases_of
from overread.benchmarks.heartbeat.sampling import lot
from overread.benchmarks.heartbeat.study import Study
from overread.case import Figure

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["Pictures", "strips"]

# The frames of a case's window (case, start, count, context) as pixels, or None without them.
Pictures: TypeAlias = Callable[[str, int, int, str], Sequence[NDArray[np.uint8]] | None]


def strips(
    tables: Tables, pictures: Pictures, edition: Edition, signature: str = ""
) -> Iterator[Figure]:
    """`strip-1` .. `strip-3`: clips by the error of the first reader that was asked.

    Its first context and format decide: one of the tenth with the least error and one of the tenth
    with the greatest, each by lot, and the median one. No strip where the frames cannot be had.
    """
    import polars as pl

    found = _setting(tables)
    if found is None:
        return
    reader, context, wanted = found
    answers = tables.answers.filter(
        pl.col("task").eq("t1") & pl.col("context").eq(context) & pl.col("format").eq(wanted)
    )
    errors = _errors(tables, answers.filter(pl.col("reader").eq(reader)), edition)
    order = [row.name for row in tables.readers]
    number = 0
    for case, words in _chosen(errors, edition.seed):
        seen = _seen(answers.filter(pl.col("case").eq(case)), case, context, wanted, order)
        if seen is None:
            continue
        what, start = seen
        frames = pictures(case, start, what.count, context)
        if frames is None or len(frames) != what.count:
            continue
        number += 1
        made = strip(
            what,
            frames,
            name=f"strip-{number}",
            title=f"Frame by frame, {words} of {reader}: {case}, off by {errors[case]:.1f} frames",
            signature=signature,
        )
        chosen = (
            f"Chosen by the error of {reader}, here {errors[case]:.1f} frames, a mean over "
            f"{'phases and seeds' if len(phases_of(wanted)) > 1 else 'seeds'}."
        )
        yield msgspec.structs.replace(made, notes=(chosen, *made.notes))


def _setting(tables: Tables) -> tuple[str, str, str] | None:
    """The first reader with windows, and its first context and format."""
    import polars as pl

    asked = tables.answers.filter(pl.col("task").eq("t1") & pl.col("start").is_not_null())
    there = set(asked.select("reader", "context", "format").unique().iter_rows())
    return next(
        (
            (reader.name, context, wanted)
            for reader in tables.readers
            for context in CONTEXTS
            for wanted in FORMATS
            if (reader.name, context, wanted) in there
        ),
        None,
    )


def _errors(tables: Tables, answers: pl.DataFrame, edition: Edition) -> dict[str, float]:
    """Each case's error in frames, a mean over its phases; cases without an answer are left out."""
    study = Study(msgspec.structs.replace(tables, answers=answers), edition)
    (marks,) = study.marks
    each = [error_of(marks, study, phase).per_video for phase in marks.phases]
    off = np.mean(each, axis=0)
    return {
        case: float(error)
        for case, error in zip(marks.facts.cases, off, strict=True)
        if not np.isnan(error)
    }


def _chosen(errors: dict[str, float], seed: int) -> Iterator[tuple[str, str]]:
    """Cases and what they are, no case twice."""
    ranked = sorted(errors, key=lambda case: (errors[case], lot("strip", seed, case)))
    if not ranked:
        return
    tenth = max(1, len(ranked) // 10)
    ends = "{} clip" if tenth == 1 else "a clip of the {} tenth"

    def by_lot(some: list[str]) -> str:
        return min(some, key=lambda case: lot("strip", seed, case))

    picked = {
        by_lot(ranked[:tenth]): ends.format("best"),
        ranked[len(ranked) // 2]: "median clip",
        by_lot(ranked[-tenth:]): ends.format("worst"),
    }
    yield from picked.items() if len(ranked) > 1 else [(ranked[0], "the only clip")]


def _seen(
    rows: pl.DataFrame, case: str, context: str, wanted: str, order: list[str]
) -> tuple[Seen, int] | None:
    import polars as pl

    windows = rows.drop_nulls(("start", "count", "truth_ed", "truth_es"))
    if windows.is_empty():
        return None
    first: dict[str, Any] = windows.row(0, named=True)
    # Somebody else's file may name a truth beyond the frames it says were shown.
    if not all(0 <= first[f"truth_{phase}"] < first["count"] for phase in PHASES):
        return None
    said: dict[str, Said] = {}
    for reader in order:
        own = rows.filter(pl.col("reader").eq(reader))
        if not own.is_empty():
            said[reader] = {
                phase: Counter(own[f"pred_{phase}"].drop_nulls().to_list())
                for phase in phases_of(wanted)
            }
    seen = Seen(
        case=case,
        context=context,
        format=wanted,
        ed=first["truth_ed"],
        es=first["truth_es"],
        count=first["count"],
        said=said,
    )
    return seen, first["start"]
