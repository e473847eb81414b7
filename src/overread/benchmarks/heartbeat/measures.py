"""The measures of the heartbeat benchmark, each registered once in `METRICS`.

Here too: does the overlay help, and does dropping the medical words (paired by video); and errors
and right answers video by video, so that readers can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from overread.benchmarks.families import with_q
from overread.benchmarks.heartbeat import (
    ejection,
    frame_measures,
    guessers,
    habits,
    pair_measures,
)
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, TASKS, Edition, Options
from overread.benchmarks.heartbeat.frame_measures import error_of
from overread.benchmarks.heartbeat.guessers import baselines
from overread.benchmarks.heartbeat.marks import Average, Floats, Marks, mean_over, phases_of
from overread.benchmarks.heartbeat.pair_measures import right_of
from overread.benchmarks.heartbeat.study import Draft, Metric, Study
from overread.case import Measure

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

__all__ = [
    "HIGHER_IS_BETTER",
    "METRICS",
    "Metric",
    "flip_p",
    "measure",
    "per_case",
    "standard_answers",
]

# ---------------------------------------------------------------- the overlay and the words

# Each context against the one it changes a single thing of.
_SET_BESIDE: Final = {"segmented": "original", "non_medical": "segmented"}
# Signs drawn at a time: some tens of megabytes.
_SIGNS_AT_A_TIME: Final = 1 << 22


def flip_p(
    differences: Floats, patients: Any, flips: int, seed: int, kept: dict[Any, Any] | None = None
) -> float | None:
    """Two-sided p of a paired difference: patients' sums change sign by a fair coin.

    Seeded draws, the data themselves among them, so p is never 0. None with fewer than two
    patients; the order and the names of the patients do not matter.
    """
    _, where = np.unique(patients, return_inverse=True)
    sums = np.sort(np.abs(np.bincount(where, weights=differences)))
    if sums.size < 2:
        return None
    total = abs(float(differences.sum()))
    # Rounding must not decide a tie.
    least = total - 1e-9 * max(1.0, float(sums.sum()))
    beyond = sum(
        int((np.abs(some @ sums) >= least).sum())
        for some in _drawn_signs(sums.size, flips, seed, {} if kept is None else kept)
    )
    return (1 + beyond) / (1 + flips)


def _drawn_signs(patients: int, flips: int, seed: int, kept: dict[Any, Any]) -> Iterator[Floats]:
    """Rows of -1 and 1, some at a time; a set small enough is drawn once for all tests."""
    step = max(1, _SIGNS_AT_A_TIME // patients)
    key = ("signs", patients, flips, seed)
    if key in kept:
        yield kept[key]
        return
    rng = np.random.default_rng(seed)
    for start in range(0, flips, step):
        rows = min(step, flips - start)
        coins = rng.integers(0, 2, size=(rows, patients), dtype=np.int8)
        drawn: Floats = 2.0 * coins.astype(np.float64) - 1
        if rows == flips:
            kept[key] = drawn
        yield drawn


def _set_beside(marks: Marks, study: Study) -> Marks | None:
    for other in study.marks:
        if (other.reader, other.task, other.format, other.context) == (
            marks.reader,
            marks.task,
            marks.format,
            _SET_BESIDE.get(marks.context),
        ):
            return other
    return None


def _diff_mae(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    other = _set_beside(marks, study)
    if other is None or marks.task != "t1":
        return
    for phase in marks.phases:
        here, there = (error_of(m, study, phase).per_video for m in (marks, other))
        by = marks.by(phase) | {"versus": other.context}
        yield _difference(marks, study, "diff_mae", by, here - there, (-np.inf, np.inf))


def _diff_accuracy(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    other = _set_beside(marks, study)
    if other is None or marks.task != "t2":
        return
    here, there = (Average(right_of(m, study), "videos").per_video for m in (marks, other))
    by = marks.by(marks.phases[0]) | {"versus": other.context}
    yield _difference(marks, study, "diff_accuracy", by, here - there, (-1.0, 1.0))


def _difference(
    marks: Marks,
    study: Study,
    name: str,
    by: dict[str, str],
    each: Floats,
    limits: tuple[float, float],
) -> Draft:
    average = Average(each[:, None], "videos")
    record = Measure(reader=marks.reader, measure=name, by=by, value=average.point, n=average.n)
    if average.point is None:
        note = "no video was answered in both contexts"
        return Draft(record=msgspec.structs.replace(record, note=note))
    held = average.counted
    boot, seed = study.edition.boot, study.edition.seed
    p = flip_p(each[held], marks.facts.patients[held], boot, seed, study.kept)
    record = msgspec.structs.replace(
        record,
        sd_videos=average.sd_videos,
        p=p,
        family=None if p is None else f"{name}: {by['context']} versus {by['versus']}",
    )
    return Draft(
        record=record,
        columns=average.columns,
        again=Average.again,
        counted=held,
        unit=1.0,
        limits=limits,
    )


_CONTEXT_METRICS: Final = (
    Metric(
        name="diff_mae",
        says="mae less that of the context it is set beside; below 0 it helps",
        tasks=("t1",),
        make=_diff_mae,
    ),
    Metric(
        name="diff_accuracy",
        says="accuracy less that of the context it is set beside; above 0 it helps",
        tasks=("t2",),
        make=_diff_accuracy,
    ),
)


# ---------------------------------------------------------------- all of them

METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        *frame_measures.METRICS,
        *guessers.METRICS,
        *pair_measures.METRICS,
        *habits.METRICS,
        *ejection.EF_METRICS,
        *_CONTEXT_METRICS,
    )
}


def measure(
    tables: Tables,
    edition: Edition,
    options: Options | None = None,
    *,
    volumes: Mapping[str, Any] | None = None,
    volume_method: str = "",
    areas: Mapping[str, Any] | None = None,
    specialists: Mapping[str, Mapping[str, float]] | None = None,
) -> list[Measure]:
    """Every registered measure of every reader, then the guessers' and the specialists' rows.

    `volumes` are the ventricle's volumes by case, one per frame of the clip; `volume_method` says
    how they were got, and is printed with what is made of them; `areas` are those of the masks.
    `specialists` give the EF each model predicts, by case.
    """
    study = Study(tables, edition, volumes, volume_method, areas)
    records: list[Measure] = []
    for reader in study.readers:
        drafts: list[Draft] = []
        for marks in study.marks:
            if marks.reader != reader:
                continue
            for metric in METRICS.values():
                if marks.task in metric.tasks:
                    drafts.extend(_as_draft(made) for made in metric.make(marks, study))
        records.extend(study.finish(drafts))
    records.extend(study.finish(list(baselines(study))))
    records.extend(guessers.left_out(study))
    for name, predicted in (specialists or {}).items():
        records.extend(ejection.specialist_measures(f"specialist:{name}", predicted, study))
    return with_q(records)


def _as_draft(made: Draft | Measure) -> Draft:
    return made if isinstance(made, Draft) else Draft(record=made)


# ---------------------------------------------------------------- video by video

HIGHER_IS_BETTER: Final[Mapping[str, bool]] = {
    "mae_ed": False,
    "mae_es": False,
    "accuracy_ed": True,
    "accuracy_es": True,
}
"""Whether more of a measure is better."""


def per_case(tables: Tables, edition: Edition) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value, of those of `HIGHER_IS_BETTER` that were asked.

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
    for answers in standard_answers(tables.answers):
        study = Study(msgspec.structs.replace(tables, answers=answers), edition)
        for marks in study.marks:
            for name, values in _values_of(marks, study):
                found.setdefault(name, []).append(_value_frame(marks, values, clusters))
    return {name: pl.concat(found[name]) for name in HIGHER_IS_BETTER if name in found}


def standard_answers(
    answers: pl.DataFrame, among: pl.DataFrame | None = None
) -> list[pl.DataFrame]:
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


def _values_of(marks: Marks, study: Study) -> list[tuple[str, Floats]]:
    if marks.task == "t2":
        return [(f"accuracy_{marks.phases[0]}", mean_over(right_of(marks, study), axis=1))]
    return [(f"mae_{phase}", error_of(marks, study, phase).per_video) for phase in marks.phases]


def _value_frame(marks: Marks, values: Floats, clusters: Mapping[str, str]) -> pl.DataFrame:
    import polars as pl

    cases = marks.facts.cases
    schema = {"case": pl.String, "cluster": pl.String, "value": pl.Float64}
    made = pl.DataFrame(
        {"case": cases, "cluster": [clusters[case] for case in cases], "value": values},
        schema=schema,
    ).filter(pl.col("value").is_not_nan())
    return made.select(pl.lit(marks.reader, pl.String).alias("reader"), *schema)
