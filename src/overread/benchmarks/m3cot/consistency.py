"""Path consistency: do the items of a task take one path, and two readers the same? (M3COT 7)

Items are resampled within their task and the reference path is chosen anew in every resample: a
reference fitted to the very paths it is compared with flatters them. Beside the score, as in the
authors' `lcs_analyzer.py`: the path that most items of a task take (`mode_path` with `mode_ratio`)
and how alike those of two models are. A mode is a reader's by one judge, so that judges stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.m3cot import authors
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.study import COT, Asking, Marks, Study
from overread.benchmarks.m3cot.verdicts import Path, Reference, mode_path, path_of, similarity
from overread.case import Measure, Method
from overread.measuring import estimates as est
from overread.measuring.arrays import ordered_pairs
from overread.measuring.estimates import Estimate, Floats, Mask, Resampling, defined_mean, quotients
from overread.measuring.notes import (
    NOT_JUDGED,
    NOTHING,
    ONE_CLUSTER,
    leaving_out,
    noted,
    remarked,
    with_method,
)
from overread.measuring.specs import Spec

# Tasks draw from seeds of their own: one stream for all would tie their resamples together.
_STRIDE: Final = 1009
NO_PATH: Final = "none"

# ---------------------------------------------------------------- the paths of a reader


def kept_paths(marks: Marks, study: Study, judge: str) -> list[Path | None]:
    """The path of each item as a judge gave it, worked out once; None is left out.

    As published, every row of the authors' table is in, those that failed with the empty path; and
    orders go through a CSV file. Ours leaves out what the judge failed on and keeps a reply without
    any category, or no reply, as the empty path (M3COT 10).
    """
    make = authors.table_paths if study.edition.empty_paths == "kept" else _sound_paths
    return study.once(("paths", marks.reader, judge), lambda: make(marks, judge, COT))


def compared_paths(
    one: Marks, two: Marks, study: Study, judge: str
) -> tuple[list[Path | None], list[Path | None]]:
    """Two readers' paths by a judge; but as published, of the items only of which both have one."""
    mine, theirs = (kept_paths(marks, study, judge) for marks in (one, two))
    if not study.robust:
        return mine, theirs
    both = [a is not None and b is not None for a, b in zip(mine, theirs, strict=True)]
    first, second = (
        [path if there else None for path, there in zip(paths, both, strict=True)]
        for paths in (mine, theirs)
    )
    return first, second


def _sound_paths(marks: Marks, judge: str, asking: Asking) -> list[Path | None]:
    facts, given = marks.facts, dict(marks.given("order", asking, judge))
    if not marks.readable("order", asking, judge):
        return [None] * facts.n
    missed, asked = marks.missed("order", asking, judge), marks.asked(asking)
    return [
        None
        if missed[place] or not asked[place] or not facts.tasks[place]
        else path_of(given.get(place, {}) if not marks.silent_at(asking, place) else {})
        for place in range(facts.n)
    ]


def _rows_in_order(marks: Marks, study: Study, judge: str) -> Sequence[int]:
    """The items that may have a path, in the order in which they decide a tie."""
    if study.edition.empty_paths == "kept":
        return authors.table_rows(marks, judge, COT)
    return range(marks.facts.n)


def counted_paths(marks: Marks, study: Study, judges: Sequence[str]) -> Mask:
    """The items of which any of these judges gave a path."""
    paths = [kept_paths(marks, study, judge) for judge in judges]
    return np.array([any(one is not None for one in own) for own in zip(*paths, strict=True)], bool)


# ---------------------------------------------------------------- their likeness to a reference


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


def scores_of(counts: Floats, seen: Seen, reference: Reference, *, apart: bool) -> Floats:
    """Mean similarity to the reference, for each row of counts of paths.

    Columns are distinct paths in the order of first sight, so the first wins a tie. `apart`: the
    empty path is no reference where there are others, and where there are none the score is 0.
    """
    n = counts.sum(axis=1)
    means = quotients(counts @ seen.likeness, np.repeat(n[:, None], counts.shape[1], axis=1))
    weight = counts if reference == "mode" else means
    chosen, any_open = _chosen(counts, weight, seen, apart=apart)
    score = np.where(any_open, means[np.arange(len(counts)), chosen], 0.0)
    return np.where(n > 0, score, np.nan)


def pairs_of(counts: Floats, seen: Seen) -> Floats:
    """Mean similarity of two different items, for each row of counts of paths; NaN of fewer than 2.

    With counts c of n paths and their similarities s, 0 where one names nothing::

        (Σ_ab c_a c_b s_ab - Σ_a c_a s_aa) / (n (n - 1))

    No item is held against itself, so it is the same on average however few items a task has; that
    to a reference fitted to the same items is higher the fewer there are.

    References
    ----------
    W. Hoeffding (1948), Annals of Mathematical Statistics 19, 293-325.

    Examples
    --------
    >>> seen = seen_in(("modality", "feature"), ("modality",))
    >>> pairs_of(np.array([[2.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), seen).tolist()
    [1.0, 0.5, nan]
    """
    n, likeness = counts.sum(axis=1), seen.likeness * seen.named
    alike = ((counts @ likeness.T) * counts).sum(axis=1) - counts @ np.diag(likeness)
    return quotients(alike, n * (n - 1))


def _chosen(
    counts: Floats, weight: Floats, seen: Seen, *, apart: bool
) -> tuple[NDArray[np.intp], Mask]:
    """The heaviest path that may be the reference, for each row of counts; and whether any may."""
    open_to = (counts > 0) & (seen.named[None, :] | (not apart))
    any_open: Mask = np.any(open_to, axis=1)
    return np.where(open_to, weight, -1.0).argmax(axis=1), any_open


class Scores(NamedTuple):
    """Scores of a reader by one judge: rows are resamples (the first is the data), columns tasks.

    NaN where a task has no path. `n` counts the paths.
    """

    mode: Floats
    medoid: Floats
    pairs: Floats
    n: Floats

    def of(self, name: str, edition: Edition) -> Floats:
        """By task, what a measure goes by; `consistency` itself by what the edition says."""
        if name == "consistency" and edition.consistency == "pairs":
            return self.pairs
        return self.medoid if name == "consistency_medoid" else self.mode


def kept_scores(marks: Marks, study: Study, judge: str) -> Scores:
    """The scores of a reader by a judge; all its judges' are worked out once, together."""
    judges = study.judges(marks, "order")

    def make() -> dict[str, Scores]:
        paths = [kept_paths(marks, study, one) for one in judges]
        return _scores(marks, study, judges, paths)

    return study.once(("scores", marks.reader), make)[judge]


def compared_scores(one: Marks, two: Marks, study: Study, judge: str) -> tuple[Scores, Scores]:
    """The same of two readers, over the paths that are compared."""
    found = []
    for marks, paths in zip((one, two), compared_paths(one, two, study, judge), strict=True):
        if paths == kept_paths(marks, study, judge):
            found.append(kept_scores(marks, study, judge))
        else:
            found.append(_scores(marks, study, [judge], [paths])[judge])
    return found[0], found[1]


def _scores(
    marks: Marks, study: Study, judges: Sequence[str], paths: Sequence[Sequence[Path | None]]
) -> dict[str, Scores]:
    held = study.edition.empty_paths == "apart"
    shape = (study.edition.boot + 1, len(study.tasks))
    found = {one: Scores(*(np.full(shape, np.nan) for _ in range(4))) for one in judges}
    for column, drawn in enumerate(_drawn_paths(marks, study, judges, paths)):
        for scores, (seen, counts) in zip(found.values(), drawn, strict=True):
            if seen.paths:
                scores.n[:, column] = counts.sum(axis=1)
                scores.mode[:, column] = scores_of(counts, seen, "mode", apart=held)
                scores.medoid[:, column] = scores_of(counts, seen, "medoid", apart=held)
                scores.pairs[:, column] = pairs_of(counts, seen)
    return found


def _drawn_paths(
    marks: Marks,
    study: Study,
    judges: Sequence[str],
    by_judge: Sequence[Sequence[Path | None]],
) -> Iterator[list[tuple[Seen, Floats]]]:
    """Task by task and judge by judge: the paths seen, and their counts in the data and in
    resamples of the task's items. `by_judge` has the items' paths."""
    from overread.stats import PatientWeights

    edition, facts = study.edition, study.facts
    rows = [_rows_in_order(marks, study, judge) for judge in judges]
    for column, task in enumerate(study.tasks):
        members: list[int] = np.flatnonzero(facts.tasks == task).tolist()
        own = set(members)
        seen = [
            seen_in(*(paths[place] for place in order if place in own))
            for paths, order in zip(by_judge, rows, strict=True)
        ]
        table = np.hstack(
            [
                hot([paths[place] for place in members], one)
                for paths, one in zip(by_judge, seen, strict=True)
            ]
        )
        seed = edition.seed * _STRIDE + column
        weights = PatientWeights(facts.patients[members], n_boot=edition.boot, seed=seed)
        every = np.vstack([table.sum(axis=0)[None, :], weights.totals(table)])
        ends = np.cumsum([len(one.paths) for one in seen])
        yield list(zip(seen, np.split(every, ends[:-1], axis=1), strict=True))


def overall(name: str, scores: Scores, edition: Edition) -> Floats:
    """One of the measures in the data and in every resample."""
    if name != "consistency_items":
        return defined_mean(scores.of(name, edition))
    # The mean over items: each task by its number of paths.
    there = ~np.isnan(scores.mode)
    weighted = np.where(there, scores.mode * scores.n, 0.0).sum(axis=1)
    return quotients(weighted, np.where(there, scores.n, 0.0).sum(axis=1))


def pairs_record(
    record: Measure,
    study: Study,
    value: float,
    counted: Mask,
    by_judge: Sequence[Sequence[Path | None]],
    tasks: Sequence[str],
) -> Measure:
    """The record of a likeness of pairs, with the interval of its variance by patient.

    Pairs are a smooth function of their items: what each item adds is (k-1) times what leaving it
    out changes of its task of k items, over k and the number of tasks, the mean over judges. By
    sqrt(k/(k-1)) more, for each task has a mean of its own. B. Efron and C. Stein (1981), Annals of
    Statistics 9, 586-596.
    """
    from overread.stats import clustered_mean

    if np.isnan(value):
        return noted(record, NOTHING, "no paths to compare")
    record = msgspec.structs.replace(record, value=value)
    owners = study.clusters[counted]
    if np.unique(owners).size < 2:
        return noted(record, ONE_CLUSTER)
    added = [one for paths in by_judge if (one := _added_by_items(study, paths, tasks)) is not None]
    influence = value + counted.sum() * np.mean(added, axis=0)[counted]
    found = est.bounded(record, *clustered_mean(value, influence, owners, (0.0, 1.0)))
    return est.flagged_few(est.settled(found), owners, influence)


def _added_by_items(
    study: Study, paths: Sequence[Path | None], tasks: Sequence[str]
) -> Floats | None:
    """What each item adds to the mean over tasks of their pairs; None where no task has a pair."""
    added, count = np.zeros(study.n), 0
    for task in tasks:
        members = np.flatnonzero(study.facts.tasks == task)
        own = [paths[place] for place in members.tolist()]
        seen = seen_in(*own)
        if not seen.paths:
            continue
        table = hot(own, seen)
        there = table.any(axis=1)
        whole, k = pairs_of(table.sum(axis=0)[None, :], seen)[0], int(there.sum())
        if np.isnan(whole):
            continue
        count += 1
        left = whole - pairs_of(table.sum(axis=0) - table, seen)
        # Of two items neither can be left out: their one pair says nothing of how it varies.
        left = np.where(there & np.isfinite(left), left, 0.0)
        added[members] = (k - 1) * left * (k / (k - 1)) ** 0.5 / k
    return added / count if count else None


def drawn_record(
    record: Measure,
    study: Study,
    estimates: Floats,
    counted: Mask,
    of: str,
    *,
    step: float | None = 1.0,
    limits: tuple[float, float] = (0.0, 1.0),
    refitted: bool = False,
) -> Measure:
    """The record whose value is the first of these estimates, the others giving its interval.

    A path that comes up twice in a resample agrees with itself: a reference refitted to such fits
    better than it does the data, so the estimates are moved back to the value. Tasks of few items
    are often of one mind by chance, and resampling then shows no spread, or hardly any: the
    interval is at least what so many items leave open, all of one mind or not.
    """
    value = float(estimates[0])
    if np.isnan(value):
        return noted(record, NOTHING, "no paths to compare")
    rules = study.edition
    drawn = Resampling(study.clusters, boot=rules.boot, seed=rules.seed, of=of, robust=rules.robust)
    room = est.left_open(max(drawn.owners(counted), 1)) if refitted else 0.0
    made = Estimate(
        record=msgspec.structs.replace(record, value=value),
        again=lambda totals: totals[:, 0],
        counted=counted,
        limits=limits,
        step=step,
        centred=refitted,
        within=(max(value - room, 0.0), min(value + room, 1.0)) if refitted else None,
    )
    found = drawn.finished(made, estimates[1:, None])
    if found.how is not None and found.how.kind == "alike":
        found = with_method(found, Method(kind="alike", of="items"))
    return est.flagged_few(found, drawn.clusters[counted]) if study.robust else found


# ---------------------------------------------------------------- records


def _consistency_records(name: str, study: Study, marks: Marks) -> Iterator[Measure]:
    judges, edition = study.judges(marks, "order"), study.edition
    if name == "consistency_mode" and edition.consistency == "mode":
        return  # that is `consistency` itself
    pairs = name == "consistency" and edition.consistency == "pairs"
    if not judges:
        yield noted(Measure(reader=marks.reader, measure=name, n=0), NOT_JUDGED)
        return
    scores = [kept_scores(marks, study, judge) for judge in judges]

    def made(
        by: dict[str, str], some: Sequence[str], columns: Sequence[Floats], tasks: Mask
    ) -> Measure:
        """The mean over these judges of their estimates."""
        sizes = [np.nan_to_num(kept_scores(marks, study, one).n[0])[tasks] for one in some]
        record = Measure(
            reader=marks.reader,
            measure=name,
            by=by,
            label=study.label(some, "order"),
            n=int(np.max(sizes, axis=0).sum()),
        )
        if "task" not in by:
            record = _with_outcomes(record, study, marks, some)
        own = np.isin(study.facts.tasks, np.array(study.tasks, dtype=np.str_)[tasks])
        counted = counted_paths(marks, study, some) & own
        estimates = defined_mean(np.array(columns).T)
        if pairs:
            held = [task for task, here in zip(study.tasks, tasks, strict=True) if here]
            paths = [kept_paths(marks, study, one) for one in some]
            return pairs_record(record, study, float(estimates[0]), counted, paths, held)
        of = "items within tasks, reference refitted"
        return drawn_record(record, study, estimates, counted, of, refitted=True)

    everywhere = np.ones(len(study.tasks), dtype=bool)
    yield made({}, judges, [overall(name, one, edition) for one in scores], everywhere)
    for column, task in enumerate(study.tasks) if name != "consistency_items" else ():
        own = [one.of(name, edition)[:, column] for one in scores]
        if pairs and all(np.isnan(one[0]) for one in own):
            continue  # a task of one item has no pair
        yield made({"task": task}, judges, own, np.arange(len(study.tasks)) == column)
    for judge, one in zip(judges, scores, strict=True):
        yield made({"judge": judge}, [judge], [overall(name, one, edition)], everywhere)


def _with_outcomes(record: Measure, study: Study, marks: Marks, judges: Sequence[str]) -> Measure:
    """The record that says who has no path, and whose path is empty for want of a reply."""
    published = study.edition.empty_paths == "kept"
    missed = np.any([marks.missed("order", COT, judge) for judge in judges], axis=0).sum()
    asked = counted_paths(marks, study, judges) if published else marks.asked(COT)
    silent = int((asked & marks.silent(COT)).sum())
    empty = f"{silent} without an answer: empty path" if silent else None
    if published:
        lost = f"{missed} not judged: empty path" if missed else None
        return remarked(remarked(record, empty), lost)
    gone = int((marks.items(COT) & ~asked).sum())
    return remarked(leaving_out(record, {"unanswered": gone, "not judged": int(missed)}), empty)


SPECS: Final = tuple(
    Spec(name=name, says=says, make=partial(_consistency_records, name), groups=("task",))
    for name, says in {
        "consistency": "mean similarity of two different paths of a task, tasks alike; in "
        "`authors` that of `consistency_mode`",
        "consistency_mode": "mean similarity of a task's paths to their most frequent one",
        "consistency_medoid": "the same to the path most like all others (Eq. 3)",
        "consistency_items": "similarity to the most frequent path, every item alike",
    }.items()
)

# ---------------------------------------------------------------- the modes of tasks


def spoken(path: Path) -> str:
    """`modality > feature > conclusion`."""
    return " > ".join(path) or NO_PATH


def _mode_share(study: Study, marks: Marks) -> Iterator[Estimate]:
    """The share of a task's paths that are the most frequent one, which `by` names."""
    held = study.edition.empty_paths == "apart"
    for judge in study.judges(marks, "order"):
        paths = kept_paths(marks, study, judge)
        rows = _rows_in_order(marks, study, judge)
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
            columns, counted = est.columns_of(values), est.counted_in(values)
            yield est.estimated(record, columns, est.mean_of_columns, counted)


_MODE_SAYS: Final = "share of a task's paths that are the most frequent one"
MODE_SHARE: Final = Spec(name="mode_share", says=_MODE_SAYS, better=None, make=_mode_share)


class _Modes(NamedTuple):
    """Of one task: the paths seen, and which is the mode in the data and in each resample."""

    paths: tuple[Path, ...]
    chosen: NDArray[np.intp]
    # Where there is any mode.
    there: Mask
    counted: Mask
    n: int


def _modes_by_task(marks: Marks, study: Study, judge: str) -> list[_Modes | None]:
    def make() -> list[_Modes | None]:
        held = study.edition.empty_paths == "apart"
        paths = kept_paths(marks, study, judge)
        counted = counted_paths(marks, study, [judge])
        found: list[_Modes | None] = []
        for task, ((seen, counts),) in zip(
            study.tasks, _drawn_paths(marks, study, [judge], [paths]), strict=True
        ):
            if not seen.paths:
                found.append(None)
                continue
            chosen, there = _chosen(counts, counts, seen, apart=held)
            own = counted & (study.facts.tasks == task)
            found.append(_Modes(seen.paths, chosen, there, own, int(counts[0].sum())))
        return found

    return study.once(("modes", marks.reader, judge), make)


class _Likeness(NamedTuple):
    """sim of two modes in the data and in each resample, over these items; n paths at least."""

    drawn: Floats
    counted: Mask
    n: int


def likenesses(study: Study) -> Iterator[Measure]:
    """sim of the modes of every two readers by one judge: in each task, the mean over tasks; and
    the mean over pairs in each task, of nobody in particular."""
    judges = sorted({judge for marks in study.marks for judge in study.judges(marks, "order")})
    for judge in judges:
        readers = [marks for marks in study.marks if judge in study.judges(marks, "order")]
        by_task: dict[str, list[_Likeness]] = {}
        for one, two in ordered_pairs(readers):
            found: list[_Likeness] = []
            pairs = (_modes_by_task(marks, study, judge) for marks in (one, two))
            for task, mine, theirs in zip(study.tasks, *pairs, strict=True):
                if mine is None or theirs is None:
                    continue
                table = np.array([[similarity(a, b) for b in theirs.paths] for a in mine.paths])
                modes = mine.there & theirs.there
                drawn = np.where(modes, table[mine.chosen, theirs.chosen], np.nan)
                if np.isnan(drawn[0]):  # a reader has no mode
                    continue
                alike = _Likeness(drawn, mine.counted & theirs.counted, min(mine.n, theirs.n))
                by = {"task": task, "versus": two.reader, "judge": judge}
                yield _likeness_record(study, one.reader, by, alike)
                found.append(alike)
                by_task.setdefault(task, []).append(alike)
            if found:
                by = {"versus": two.reader, "judge": judge}
                counted = np.any([alike.counted for alike in found], axis=0)
                n = sum(alike.n for alike in found)
                whole = _Likeness(_mean_drawn(found), counted, n)
                yield _likeness_record(study, one.reader, by, whole)
        for task in study.tasks:
            every = by_task.get(task)
            if every:
                least = min(every, key=lambda alike: alike.n)
                mean = least._replace(drawn=_mean_drawn(every))
                yield _likeness_record(study, "", {"task": task, "judge": judge}, mean)


def _mean_drawn(every: Sequence[_Likeness]) -> Floats:
    return defined_mean(np.array([alike.drawn for alike in every]).T)


def _likeness_record(study: Study, reader: str, by: dict[str, str], alike: _Likeness) -> Measure:
    """Modes are chosen anew in each resample; where none differs, so many items leave that open."""
    record = Measure(
        reader=reader,
        measure="path_likeness",
        by=by,
        n=alike.n,
        label=study.label([by["judge"]], "order"),
    )
    of = "items within tasks, modes chosen anew"
    return drawn_record(record, study, alike.drawn, alike.counted, of)
