"""The measures of the heartbeat benchmark, each declared once in `SPECS`.

Here too: does the overlay help, and does dropping the medical words (paired by video); and errors
and right answers video by video, so that readers can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.authors.measures import AUTHORS_SPECS
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, TASKS, Edition
from overread.benchmarks.heartbeat.ejection import (
    EF_SPECS,
    predicted_ef,
    read_specialists,
    specialist_measures,
)
from overread.benchmarks.heartbeat.frame_measures import FRAME_SPECS, error_of
from overread.benchmarks.heartbeat.guessers import GUESSER_SPECS, LEFT_OUT, baselines, left_out
from overread.benchmarks.heartbeat.habits import COVERAGE_SPECS, HABIT_SPECS
from overread.benchmarks.heartbeat.marks import Marks, Phase, mean_over, phases_of, spread_of
from overread.benchmarks.heartbeat.pair_measures import PAIR_SPECS, right_of
from overread.benchmarks.heartbeat.study import (
    ASKED,
    TIES_WRONG,
    HeartRun,
    Made,
    made_by_phase,
    made_spec,
)
from overread.case import Measure
from overread.measuring.contrasts import paired, paired_difference, tested, with_q
from overread.measuring.estimates import Estimate, Floats
from overread.measuring.notes import NOTHING, noted
from overread.measuring.specs import (
    PLAIN,
    Condition,
    Counted,
    Spec,
    made_by,
    named,
    paired_p,
    values,
)
from overread.measuring.units import AMOUNT, ANY, POINTS

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

# ---------------------------------------------------------------- the overlay and the words

# Each context against the one it changes a single thing of.
_SET_BESIDE: Final = {"segmented": "original", "non_medical": "segmented"}


def values_of(marks: Marks, run: HeartRun, phase: Phase) -> Floats:
    """What is compared, video by video: the error in finding a frame, or the share right in T2."""
    if marks.task == "t2":
        return mean_over(right_of(marks, run), axis=1)
    return error_of(marks, run, phase).per_video


def _contexts_apart(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    """A context less the one it is set beside, over the videos answered in both."""
    versus = _SET_BESIDE.get(marks.context, "")
    other = run.like(marks, context=versus)
    if other is None:
        return
    first, second = (values_of(m, run, phase) for m in (marks, other))
    each = first - second
    both = ~np.isnan(each)
    record = msgspec.structs.replace(record, by={**record.by, "versus": versus})
    if not both.any():
        yield Estimate(record=noted(record, NOTHING, "no video was answered in both contexts"))
        return
    record = msgspec.structs.replace(
        record,
        sd_videos=spread_of(each),
        beside=(float(first[both].mean()), float(second[both].mean())),
    )
    limits = POINTS.limits if record.measure == "diff_accuracy" else ANY.limits
    family = f"{record.measure}: {marks.context} versus {versus}"
    if run.robust:
        yield paired(record, first, second, run.clusters, limits=limits, family=family)
        return
    each = np.where(both, each, 0.0)
    made = paired_difference(record, each, both, limits=limits)
    p = paired_p(run, each, both) if run.resampling.owners(both) > 1 else None
    yield tested(made, p, family)


_CONTEXT_SPECS: Final = (
    made_by_phase(
        "diff_mae", "mae less that of the context it is set beside; below 0 it helps",
        _contexts_apart, ANY, "lower",
    ),
    made_by_phase(
        "diff_accuracy", "accuracy less that of the context it is set beside; above 0 it helps",
        _contexts_apart, POINTS, "higher", tasks=("t2",),
    ),
)  # fmt: skip

# ---------------------------------------------------------------- all of them

_HOW_MUCH: Final = "how much a run asks: seeds, passes of each, frames of the longest window"


def _asked_records(answers: pl.DataFrame, edition: Edition) -> Iterator[Measure]:
    """What the answers say of the asking, for an import may hold less than the settings name."""
    windows = answers.filter(answers["task"] == "t1")["count"].drop_nulls()
    counts = {
        "seeds": answers["seed"].n_unique(),
        "passes": answers["pass"].n_unique(),
        "window": int(windows.to_numpy().max(initial=0)),
    }
    for what, count in counts.items():
        flags = (TIES_WRONG,) if what == "passes" and edition.unparsed_t2 == "wrong" else ()
        if count:
            yield Measure(
                reader="", measure=ASKED, by={"of": what}, value=float(count), flags=flags
            )


SPECS: Final = named(
    (
        *FRAME_SPECS,
        *GUESSER_SPECS,
        *PAIR_SPECS,
        *AUTHORS_SPECS,
        *HABIT_SPECS,
        *COVERAGE_SPECS,
        *EF_SPECS,
        *_CONTEXT_SPECS,
        LEFT_OUT,
        made_spec(ASKED, _HOW_MUCH, unit=AMOUNT),
    )
)


def measure(tables: Tables, edition: Edition, sheets: str | None = None) -> list[Measure]:
    """Every declared measure of every reader, then the guessers' and the specialists' rows.

    `sheets` are csv files of the EF that other models predict, by commas.
    """
    run = HeartRun(tables, edition)
    records: list[Measure] = []
    for reader in run.asked:
        own = [marks for marks in run.marks if marks.reader == reader]
        records += run.finish(
            one for marks in own for spec in SPECS.values() for one in made_by(run, marks, spec)
        )
    records += run.finish(baselines(run))
    records += left_out(run)
    specialists = predicted_ef(read_specialists(sheets), tables.cases) if sheets else {}
    for name, predicted in specialists.items():
        records += specialist_measures(f"specialist:{name}", predicted, run)
    return with_q([*records, *_asked_records(tables.answers, edition)])


# ---------------------------------------------------------------- video by video


def _compared(task: str, phase: Phase) -> Spec:
    def of(run: HeartRun, marks: Marks, condition: Condition) -> Counted:
        return Counted(values_of(marks, run, phase), run.everyone)

    return Spec(
        name=f"{'mae' if task == 't1' else 'accuracy'}_{phase}",
        says="a video's own, in the standard setting",
        of=of,
        conditions=lambda run, marks: [PLAIN] * (marks.task == task and phase in marks.phases),
        by_case=True,
    )


COMPARED: Final = [_compared(task, phase) for task in TASKS for phase in phases_of("edv_esv")]
"""What readers are compared by, video by video."""


def per_case(tables: Tables, edition: Edition) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value, of those of `COMPARED` that were asked.

    `mae_PHASE`: the absolute error of finding the frame (T1), in frames, mean over seeds;
    `accuracy_PHASE`: of telling two frames apart (T2), the share of seeds that are right. Each in
    the standard setting of its task, and a row for each video with a value. The mean of a reader's
    values is the mean over videos (Tables 5-7). The cluster is the patient, or the video where
    none is named.
    """
    clusters = [
        f"video:{row['case']}" if row.get("patient") is None else f"patient:{row['patient']}"
        for row in tables.cases.sort("case").iter_rows(named=True)
    ]
    found: dict[str, pl.DataFrame] = {}
    for answers in standard_answers(tables.answers):
        run = HeartRun(msgspec.structs.replace(tables, answers=answers), edition)
        found |= values(run, run.marks, COMPARED, clusters)
    return found


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
