"""Path consistency: do the items of a task take one path, and two readers the same? (M3COT 7)

Items are resampled within their task and the reference path is chosen anew in every resample: a
reference fitted to the very paths it is compared with flatters them. Beside the score, as in the
authors' `lcs_analyzer.py`: the path that most items of a task take (`mode_path` with `mode_ratio`)
and how alike those of two models are. A mode is a reader's by one judge, so that judges stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.m3cot.authors import TABLE, cells_of
from overread.benchmarks.m3cot.marks import COT, Floats, Marks, Mask
from overread.benchmarks.m3cot.paths import Path, Reference, mode_path, path_of, similarity
from overread.benchmarks.m3cot.study import (
    Draft,
    Metric,
    Study,
    agreeing,
    apart,
    columns_of,
    counted_in,
    defined_mean,
    drafted,
    joined,
    left_open,
    noted,
    panel,
    quotients,
    settled,
    widened,
)
from overread.case import Measure

__all__ = [
    "METRICS",
    "MODE_METRICS",
    "NO_PATH",
    "Scores",
    "Seen",
    "chosen_of",
    "drawn_paths",
    "hot",
    "kept_paths",
    "kept_scores",
    "likenesses",
    "overall",
    "owners_of",
    "paths_of",
    "resampled",
    "rows_of",
    "scores_of",
    "seen_in",
    "spoken",
]

# Tasks draw from seeds of their own: one stream for all would tie their resamples together.
_STRIDE: Final = 1009


def paths_of(marks: Marks, study: Study, judge: str) -> list[Path | None]:
    """The path of each item as a judge gave it; None is left out.

    As published, every row of the authors' table is in, those that failed with the empty path; and
    orders go through a CSV file. Ours leaves out what the judge failed on and keeps a reply without
    any category, or no reply, as the empty path (M3COT 10).
    """
    given = dict(marks.given("order", COT, judge))
    facts = marks.facts
    if study.edition.empty_paths == "kept":
        rows = rows_of(marks, study, judge)
        cells = cells_of([given.get(place) for place in rows])
        found: list[Path | None] = [None] * facts.n
        for place, row in zip(rows, cells, strict=True):
            found[place] = path_of(row)
        return [path if task else None for path, task in zip(found, facts.tasks, strict=True)]
    if not marks.heard("order", COT, judge):
        return [None] * facts.n
    missed, asked = marks.missed("order", COT, judge), marks.asked(COT)
    return [
        None
        if missed[place] or not asked[place] or not facts.tasks[place]
        else path_of(given.get(place, {}) if not marks.silent_at(COT, place) else {})
        for place in range(facts.n)
    ]


def rows_of(marks: Marks, study: Study, judge: str) -> Sequence[int]:
    """The items that may have a path, in the order in which they decide a tie.

    As published, the rows of the authors' table: of an imported one those that it has; else it is
    made with a row for every index up to the last predicted.
    """
    if study.edition.empty_paths != "kept":
        return range(marks.facts.n)
    verdicts = marks.verdicts.get(("order", COT), {}).get(judge, {})
    rows = [place for place, verdict in verdicts.items() if verdict.how == TABLE]
    if rows:
        return rows
    facts, predicted = marks.facts, list(marks.said.get(COT, {}))
    last = int(facts.index[predicted].max()) if predicted else 0
    return [place for place in range(facts.n) if facts.index[place] <= last]


class Scores(NamedTuple):
    """Scores of a reader by one judge: rows are resamples (the first is the data), columns tasks.

    NaN where a task has no path. `n` counts the paths.
    """

    mode: Floats
    medoid: Floats
    n: Floats


def scores_of(counts: Floats, seen: Seen, reference: Reference, *, apart: bool) -> Floats:
    """Mean similarity to the reference, for each row of counts of paths.

    Columns are distinct paths in the order of first sight, so the first wins a tie. `apart`: the
    empty path is no reference where there are others, and where there are none the score is 0.
    """
    n = counts.sum(axis=1)
    means = quotients(counts @ seen.likeness, np.repeat(n[:, None], counts.shape[1], axis=1))
    weight = counts if reference == "mode" else means
    chosen, any_open = chosen_of(counts, weight, seen, apart=apart)
    score = np.where(any_open, means[np.arange(len(counts)), chosen], 0.0)
    return np.where(n > 0, score, np.nan)


def chosen_of(
    counts: Floats, weight: Floats, seen: Seen, *, apart: bool
) -> tuple[NDArray[np.intp], Mask]:
    """The heaviest path that may be the reference, for each row of counts; and whether any may."""
    open_to = (counts > 0) & (seen.named[None, :] | (not apart))
    any_open: Mask = np.any(open_to, axis=1)
    return np.where(open_to, weight, -1.0).argmax(axis=1), any_open


class Seen(NamedTuple):
    """Distinct paths: sim between them, and which name anything."""

    paths: tuple[Path, ...]
    likeness: Floats
    named: NDArray[np.bool_]


def seen_in(*paths: Path | None) -> Seen:
    """The distinct paths in the order of first sight."""
    distinct = tuple(dict.fromkeys(path for path in paths if path is not None))
    likeness = [[similarity(one, two) for two in distinct] for one in distinct]
    named = [bool(path) for path in distinct]
    return Seen(distinct, np.array(likeness, dtype=float), np.array(named, dtype=bool))


def hot(paths: Sequence[Path | None], seen: Seen) -> Floats:
    """Items x distinct paths: 1 where an item takes the path."""
    cells = [[path == one for one in seen.paths] for path in paths]
    return np.array(cells, dtype=float).reshape(len(paths), len(seen.paths))


def resampled(
    study: Study, by_judge: Sequence[Sequence[Path | None]], rows: Sequence[Sequence[int]]
) -> list[Scores]:
    """The scores of every task by each judge, in the data and in resamples of the task's items."""
    held = study.edition.empty_paths == "apart"
    shape = (study.edition.boot + 1, len(study.tasks))
    found = [Scores(*(np.full(shape, np.nan) for _ in range(3))) for _ in by_judge]
    for column, drawn in enumerate(drawn_paths(study, by_judge, rows)):
        for scores, (one, counts) in zip(found, drawn, strict=True):
            if one.paths:
                scores.n[:, column] = counts.sum(axis=1)
                scores.mode[:, column] = scores_of(counts, one, "mode", apart=held)
                scores.medoid[:, column] = scores_of(counts, one, "medoid", apart=held)
    return found


def drawn_paths(
    study: Study, by_judge: Sequence[Sequence[Path | None]], rows: Sequence[Sequence[int]]
) -> Iterator[list[tuple[Seen, Floats]]]:
    """Task by task and judge by judge: the paths seen, and their counts in the data and in
    resamples of the task's items.

    `rows` are the items in the order in which each judge's table has them.
    """
    from overread.stats import PatientWeights

    edition, facts = study.edition, study.facts
    for column, task in enumerate(study.tasks):
        members: list[int] = np.flatnonzero(facts.tasks == task).tolist()
        some = [[paths[place] for place in members] for paths in by_judge]
        own = set(members)
        seen = [
            seen_in(*(paths[place] for place in order if place in own))
            for paths, order in zip(by_judge, rows, strict=True)
        ]
        table = np.hstack([hot(paths, one) for paths, one in zip(some, seen, strict=True)])
        seed = edition.seed * _STRIDE + column
        weights = PatientWeights(facts.patients[members], n_boot=edition.boot, seed=seed)
        every = np.vstack([table.sum(axis=0)[None, :], weights.totals(table)])
        ends = np.cumsum([len(one.paths) for one in seen])
        yield list(zip(seen, np.split(every, ends[:-1], axis=1), strict=True))


def _over_items(scores: Floats, n: Floats) -> Floats:
    """The mean over items: each task by its number of paths."""
    there = ~np.isnan(scores)
    weighted = np.where(there, scores * n, 0.0).sum(axis=1)
    return quotients(weighted, np.where(there, n, 0.0).sum(axis=1))


def overall(name: str, scores: Scores) -> Floats:
    """One of the three measures in the data and in every resample."""
    if name == "consistency_items":
        return _over_items(scores.mode, scores.n)
    return defined_mean(scores.mode if name == "consistency" else scores.medoid)


def _consistency_records(name: str, marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    started = Measure(reader=marks.reader, measure=name)
    judges = study.judges(marks, "order")
    if not judges:
        yield msgspec.structs.replace(started, n=0, note="not judged")
        return
    by_judge = {judge: kept_scores(marks, study, judge) for judge in judges}
    label = study.label(judges, "order")
    notes = {judge: _path_note(marks, study, judge) for judge in judges}
    every = joined(*dict.fromkeys(notes.values()))
    record = msgspec.structs.replace(started, label=label, note=every)
    yield _consistency_record(
        record, study, [overall(name, one) for one in by_judge.values()], by_judge
    )
    if name != "consistency_items":
        for column, task in enumerate(study.tasks):
            columns = [
                (one.mode if name == "consistency" else one.medoid)[:, column]
                for one in by_judge.values()
            ]
            record = msgspec.structs.replace(started, by={"task": task}, label=label)
            yield _consistency_record(record, study, columns, by_judge, column)
    for judge, one in by_judge.items():
        record = msgspec.structs.replace(
            started,
            by={"judge": judge},
            label=study.label([judge], "order"),
            note=notes[judge],
        )
        yield _consistency_record(record, study, [overall(name, one)], {judge: one})


def kept_paths(marks: Marks, study: Study, judge: str) -> list[Path | None]:
    """The paths of a reader by a judge, worked out once."""
    return study.once(("paths", marks.reader, judge), lambda: paths_of(marks, study, judge))


def kept_scores(marks: Marks, study: Study, judge: str) -> Scores:
    """The scores of a reader by a judge; all its judges' are worked out once, together."""
    judges = study.judges(marks, "order")

    def make() -> dict[str, Scores]:
        paths = [kept_paths(marks, study, one) for one in judges]
        rows = [rows_of(marks, study, one) for one in judges]
        return dict(zip(judges, resampled(study, paths, rows), strict=True))

    return study.once(("scores", marks.reader), make)[judge]


def _path_note(marks: Marks, study: Study, judge: str) -> str | None:
    missed = int(marks.missed("order", COT, judge).sum())
    kept = study.edition.empty_paths == "kept"
    counted = np.array([path is not None for path in kept_paths(marks, study, judge)], dtype=bool)
    silent = int(((counted if kept else marks.asked(COT)) & marks.silent(COT)).sum())
    how = "empty path" if kept else "left out"
    return joined(
        None if kept else marks.left_out(COT),
        f"{silent} without an answer: empty path" if silent else None,
        f"{missed} not judged: {how}" if missed else None,
    )


def _consistency_record(
    record: Measure,
    study: Study,
    columns: Sequence[Floats],
    by_judge: Mapping[str, Scores],
    task: int | None = None,
) -> Measure:
    """The mean over judges of these estimates, the first of each being the value."""
    from overread.stats import resample_interval

    estimates = defined_mean(np.array(columns).T)
    sizes = np.array([np.nan_to_num(one.n[0]) for one in by_judge.values()]).max(axis=0)
    sizes = sizes if task is None else sizes[[task]]
    n = int(sizes.sum())
    if np.isnan(estimates[0]):
        return noted(msgspec.structs.replace(record, n=n), "no paths")
    value = float(estimates[0])
    filled = msgspec.structs.replace(record, value=value, n=n)
    if n < 2:
        return noted(filled, "one item has no interval")
    # A path that comes up twice in a resample agrees with itself: refitted to such, the reference
    # fits better than it does the data, so the estimates are moved back to the value.
    drawn = estimates[1:]
    drift = float(np.nanmean(drawn)) - value if not np.isnan(drawn).all() else 0.0
    low, high, sd = resample_interval(drawn - drift, value)
    # Tasks of few items are often of one mind by chance, and resampling then shows no spread, or
    # hardly any: the interval is at least what so many items leave open, all of one mind or not.
    room = left_open(min(n, owners_of(study, task)))
    if low is not None and high is not None and apart(low, high):
        made = msgspec.structs.replace(
            filled,
            low=max(low, 0.0),
            high=min(high, 1.0),
            sd_boot=sd,
            method=f"bootstrap within tasks, reference refitted, centred:{study.edition.boot}"
            f":{study.edition.seed}",
        )
        return settled(widened(made, (max(value - room, 0.0), min(value + room, 1.0))))
    return agreeing(filled, room, (0.0, 1.0))


def owners_of(study: Study, task: int | None) -> int:
    """Patients of the items of one task, or of all that have a task."""
    tasks = study.facts.tasks
    held = tasks != "" if task is None else tasks == study.tasks[task]
    return int(np.unique(study.facts.patients[held]).size)


def _consistency(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    return _consistency_records("consistency", marks, study)


def _medoid(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    return _consistency_records("consistency_medoid", marks, study)


def _items(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    return _consistency_records("consistency_items", marks, study)


METRICS: Final = (
    Metric(
        name="consistency",
        says="mean similarity of a task's paths to their most frequent one, tasks alike",
        make=_consistency,
    ),
    Metric(
        name="consistency_medoid",
        says="the same to the path most like all others (Eq. 3)",
        make=_medoid,
    ),
    Metric(
        name="consistency_items",
        says="similarity to the most frequent path, every item alike",
        make=_items,
    ),
)


NO_PATH: Final = "none"


def spoken(path: Path) -> str:
    """`modality > feature > conclusion`."""
    return " > ".join(path) or NO_PATH


def _mode_share(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The share of a task's paths that are the most frequent one, which `by` names."""
    held = study.edition.empty_paths == "apart"
    for judge in study.judges(marks, "order"):
        paths = kept_paths(marks, study, judge)
        rows = rows_of(marks, study, judge)
        for task in study.tasks:
            members = study.facts.tasks == task
            told = [path for place in rows if members[place] and (path := paths[place]) is not None]
            if not told:
                continue
            mode = mode_path(told, apart=held)
            taken = [
                float(path == mode) if path is not None and own else np.nan
                for path, own in zip(paths, members, strict=True)
            ]
            values = np.array(taken)[:, None]
            record = Measure(
                reader=marks.reader,
                measure="mode_share",
                by={"task": task, "judge": judge, "path": spoken(mode)},
                k=told.count(mode),
                label=study.label([judge], "order"),
            )
            yield drafted(record, columns_of(values), panel, counted_in(values))


class _Modes(NamedTuple):
    """Of one task: the paths seen, and which is the mode in the data and in each resample."""

    paths: tuple[Path, ...]
    chosen: NDArray[np.intp]
    # Where there is any mode.
    there: Mask
    n: int


def _modes_by_task(marks: Marks, study: Study, judge: str) -> list[_Modes | None]:
    def make() -> list[_Modes | None]:
        held = study.edition.empty_paths == "apart"
        drawn = drawn_paths(
            study, [kept_paths(marks, study, judge)], [rows_of(marks, study, judge)]
        )
        found: list[_Modes | None] = []
        for ((seen, counts),) in drawn:
            if not seen.paths:
                found.append(None)
                continue
            chosen, there = chosen_of(counts, counts, seen, apart=held)
            found.append(_Modes(seen.paths, chosen, there, int(counts[0].sum())))
        return found

    return study.once(("modes", marks.reader, judge), make)


def likenesses(study: Study) -> Iterator[Measure]:
    """sim of the modes of every two readers by one judge: in each task, the mean over tasks; and
    the mean over pairs in each task, of nobody in particular."""
    judges = sorted({judge for marks in study.marks for judge in study.judges(marks, "order")})
    for judge in judges:
        readers = [marks for marks in study.marks if judge in study.judges(marks, "order")]
        by_task: dict[int, list[tuple[Floats, int]]] = {}
        for one, two in combinations(readers, 2):
            alike: list[tuple[Floats, int]] = []
            pairs = zip(
                _modes_by_task(one, study, judge), _modes_by_task(two, study, judge), strict=True
            )
            for column, (mine, theirs) in enumerate(pairs):
                if mine is None or theirs is None:
                    continue
                drawn = _likeness_drawn(mine, theirs)
                if np.isnan(drawn[0]):
                    continue
                n = min(mine.n, theirs.n)
                by = {"task": study.tasks[column], "versus": two.reader, "judge": judge}
                yield _likeness_record(study, one.reader, by, drawn, n)
                alike.append((drawn, n))
                by_task.setdefault(column, []).append((drawn, n))
            if alike:
                by = {"versus": two.reader, "judge": judge}
                yield _likeness_record(
                    study, one.reader, by, *_mean_likeness(alike, sum(n for _, n in alike))
                )
        for column, every in sorted(by_task.items()):
            by = {"task": study.tasks[column], "judge": judge}
            yield _likeness_record(study, "", by, *_mean_likeness(every, min(n for _, n in every)))


def _likeness_drawn(mine: _Modes, theirs: _Modes) -> Floats:
    """sim of the two modes in the data and in each resample; NaN where a reader has none."""
    table = np.array([[similarity(a, b) for b in theirs.paths] for a in mine.paths])
    return np.where(mine.there & theirs.there, table[mine.chosen, theirs.chosen], np.nan)


def _mean_likeness(drawn: list[tuple[Floats, int]], n: int) -> tuple[Floats, int]:
    return defined_mean(np.array([one for one, _ in drawn]).T), n


def _likeness_record(
    study: Study, reader: str, by: dict[str, str], drawn: Floats, n: int
) -> Measure:
    """Modes are chosen anew in each resample; where none differs, so many items leave that open."""
    from overread.stats import resample_interval

    made = Measure(
        reader=reader,
        measure="path_likeness",
        by=by,
        value=float(drawn[0]),
        n=n,
        label=study.label([by["judge"]], "order"),
    )
    if n < 2:
        return noted(made, "one item has no interval")
    low, high, sd = resample_interval(drawn[1:], float(drawn[0]))
    if low is None or high is None or not apart(low, high):
        task = study.tasks.index(by["task"]) if "task" in by else None
        return agreeing(made, left_open(min(n, owners_of(study, task))), (0.0, 1.0))
    return settled(
        msgspec.structs.replace(
            made,
            low=low,
            high=high,
            sd_boot=sd,
            method=f"bootstrap within tasks, modes chosen anew:{study.edition.boot}"
            f":{study.edition.seed}",
        )
    )


MODE_METRICS: Final = (
    Metric(
        name="mode_share",
        says="share of a task's paths that are the most frequent one",
        make=_mode_share,
    ),
)
