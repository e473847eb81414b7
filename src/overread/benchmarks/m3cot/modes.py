"""The path that most items of a task take, and how alike those of two readers are (M3COT 7).

As the authors' `lcs_analyzer.py` has them beside the score: `mode_path` with `mode_ratio`, and the
similarity of the modes of two models. A mode is a reader's by one judge, so that judges stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.m3cot.consistency import (
    chosen_of,
    drawn_paths,
    kept_paths,
    owners_of,
    rows_of,
)
from overread.benchmarks.m3cot.marks import Floats, Marks, Mask
from overread.benchmarks.m3cot.paths import Path, mode_path, similarity
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
    left_open,
    noted,
    panel,
    settled,
)
from overread.case import Measure

__all__ = ["METRICS", "NO_PATH", "likenesses", "spoken"]

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


def _modes(marks: Marks, study: Study, judge: str) -> list[_Modes | None]:
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
            pairs = zip(_modes(one, study, judge), _modes(two, study, judge), strict=True)
            for column, (mine, theirs) in enumerate(pairs):
                if mine is None or theirs is None:
                    continue
                drawn = _alike(mine, theirs)
                if np.isnan(drawn[0]):
                    continue
                n = min(mine.n, theirs.n)
                by = {"task": study.tasks[column], "versus": two.reader, "judge": judge}
                yield _finished(study, one.reader, by, drawn, n)
                alike.append((drawn, n))
                by_task.setdefault(column, []).append((drawn, n))
            if alike:
                by = {"versus": two.reader, "judge": judge}
                yield _finished(study, one.reader, by, *_mean(alike, sum(n for _, n in alike)))
        for column, every in sorted(by_task.items()):
            by = {"task": study.tasks[column], "judge": judge}
            yield _finished(study, "", by, *_mean(every, min(n for _, n in every)))


def _alike(mine: _Modes, theirs: _Modes) -> Floats:
    """sim of the two modes in the data and in each resample; NaN where a reader has none."""
    table = np.array([[similarity(a, b) for b in theirs.paths] for a in mine.paths])
    return np.where(mine.there & theirs.there, table[mine.chosen, theirs.chosen], np.nan)


def _mean(drawn: list[tuple[Floats, int]], n: int) -> tuple[Floats, int]:
    return defined_mean(np.array([one for one, _ in drawn]).T), n


def _finished(study: Study, reader: str, by: dict[str, str], drawn: Floats, n: int) -> Measure:
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


METRICS: Final = (
    Metric(
        name="mode_share",
        says="share of a task's paths that are the most frequent one",
        make=_mode_share,
    ),
)
