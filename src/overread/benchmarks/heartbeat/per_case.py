"""Errors and right answers video by video, so that readers can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, TASKS, Edition
from overread.benchmarks.heartbeat.errors import mean_over
from overread.benchmarks.heartbeat.frames import error_of
from overread.benchmarks.heartbeat.marks import Floats, Marks, phases_of
from overread.benchmarks.heartbeat.pairs import right_of
from overread.benchmarks.heartbeat.study import Study

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["HIGHER", "per_case", "standard"]

HIGHER: Final[Mapping[str, bool]] = {
    "mae_ed": False,
    "mae_es": False,
    "accuracy_ed": True,
    "accuracy_es": True,
}
"""Whether more of a measure is better."""


def per_case(tables: Tables, edition: Edition) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value, of those of `HIGHER` that were asked.

    `mae_PHASE`: the absolute error of finding the frame (T1), in frames, mean over seeds;
    `accuracy_PHASE`: of telling two frames apart (T2), the share of seeds that are right. Each in
    the standard setting of its task, and a row for each video with a value. The mean of a reader's
    values is the mean over videos (Tables 5-7). The cluster is the patient, or the video where
    none is named.
    """
    import polars as pl

    names = ("case", "patient") if "patient" in tables.cases.columns else ("case",)
    clusters = dict(
        tables.cases.select(
            "case",
            pl.coalesce(
                pl.lit(f"{'video' if n == 'case' else n}:") + pl.col(n) for n in names[::-1]
            ),
        ).iter_rows()
    )
    found: dict[str, list[pl.DataFrame]] = {}
    for answers in standard(tables.answers):
        study = Study(msgspec.structs.replace(tables, answers=answers), edition)
        for marks in study.marks:
            for name, values in _values(marks, study):
                found.setdefault(name, []).append(_frame(marks, values, clusters))
    return {name: pl.concat(found[name]) for name in HIGHER if name in found}


def standard(answers: pl.DataFrame, among: pl.DataFrame | None = None) -> list[pl.DataFrame]:
    """The answers to T1 and T2 in each one's first context and the first format of both phases.

    Without such a format, as in T2, those of one phase each. `among` are the answers wanted, where
    these are not all: the setting is that of the whole run.
    """
    import polars as pl

    there = set(answers.select("task", "context", "format").unique().iter_rows())
    found = []
    for task in TASKS:
        asked = [(c, f) for c in CONTEXTS for f in FORMATS if (task, c, f) in there]
        context = asked[0][0] if asked else ""
        formats = [wanted for where, wanted in asked if where == context]
        pairs = [wanted for wanted in formats if len(phases_of(wanted)) == 2]
        own = pl.col("task").eq(task) & pl.col("context").eq(context)
        chosen = own & pl.col("format").is_in(pairs[:1] or formats)
        found.append((answers if among is None else among).filter(chosen))
    return found


def _values(marks: Marks, study: Study) -> list[tuple[str, Floats]]:
    if marks.task == "t2":
        return [(f"accuracy_{marks.phases[0]}", mean_over(right_of(marks, study), axis=1))]
    return [(f"mae_{phase}", error_of(marks, study, phase).per_video) for phase in marks.phases]


def _frame(marks: Marks, values: Floats, clusters: Mapping[str, str]) -> pl.DataFrame:
    import polars as pl

    cases = marks.facts.cases
    schema = {"case": pl.String, "cluster": pl.String, "value": pl.Float64}
    made = pl.DataFrame(
        {"case": cases, "cluster": [clusters[case] for case in cases], "value": values},
        schema=schema,
    ).filter(pl.col("value").is_not_nan())
    return made.select(pl.lit(marks.reader, pl.String).alias("reader"), *schema)
