"""Do the answers follow the truths? r and r² of the frame task, and the drawing behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.errors import Average, mean_over, pearson, spread_of
from overread.benchmarks.heartbeat.frames import answers_of, started
from overread.benchmarks.heartbeat.marks import Floats, Marks, Phase
from overread.benchmarks.heartbeat.study import Draft, Metric, Study
from overread.case import Measure

__all__ = ["METRICS"]


class _Correlation(msgspec.Struct, frozen=True):
    """The correlation of each seed, and how to take their mean again in a resample."""

    each: Floats
    columns: Floats
    n: int

    def again(self, totals: Floats) -> Floats:
        """r of every resample and seed; NaN where it is not defined."""
        n, x, y, xx, yy, xy = np.split(totals, 6, axis=1)
        spread_x, spread_y = xx - x * x / n, yy - y * y / n
        # What is left of a constant's squares is rounding.
        bad = (spread_x <= 1e-9 * xx) | (spread_y <= 1e-9 * yy)
        r = (xy - x * y / n) / np.sqrt(np.where(bad, np.nan, spread_x * spread_y))
        found: Floats = np.clip(r, -1, 1)
        return found


def _correlation(marks: Marks, study: Study, phase: Phase) -> _Correlation:
    key = ("r", marks.reader, *marks.by(phase).values())
    kept: _Correlation | None = study.kept.get(key)
    if kept is not None:
        return kept
    said, truth = answers_of(marks, study, phase), marks.truth[phase]
    # The authors take two videos, which always give 1; we do not.
    least = 2 if study.edition.aggregation == "truncated" else 3
    each = [pearson(said[:, s], truth[:, s], least=least) for s in range(said.shape[1])]
    there = ~(np.isnan(said) | np.isnan(truth))
    # Centred and scaled, for sums of squares of absurd answers would lose the rest.
    x, y = (
        np.where(there, a - np.nanmean(np.where(there, a, np.nan)), 0.0)
        if there.any()
        else np.zeros(a.shape)
        for a in (said, truth)
    )
    x = x / max(float(np.abs(x).max(initial=0.0)), 1.0)
    columns = np.hstack([there.astype(float), x, y, x * x, y * y, x * y])
    made = _Correlation(
        np.array([np.nan if r is None else r for r in each]),
        columns,
        int(there.any(axis=1).sum()),
    )
    study.kept[key] = made
    return made


def _r(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    yield from _correlated(marks, study, "r", squared=False)


def _r2(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    yield from _correlated(marks, study, "r2", squared=True)


def _correlated(marks: Marks, study: Study, name: str, squared: bool) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        found = _correlation(marks, study, phase)
        each = found.each**2 if squared else found.each
        defined = each[~np.isnan(each)]
        record = msgspec.structs.replace(started(marks, name, phase), n=found.n)
        if not defined.size:
            note = "not defined: constant answers or truths, or too few videos"
            yield msgspec.structs.replace(record, note=note)
            continue
        lost = int(np.isnan(each).sum())
        record = msgspec.structs.replace(
            record,
            value=float(defined.mean()),
            sd_seeds=spread_of(each),
            note=f"not defined at {lost} of {each.size} seeds" if lost else None,
        )

        def again(totals: Floats, found: _Correlation = found) -> Floats:
            r = found.again(totals)
            return mean_over(r * r if squared else r, axis=1)

        yield Draft(
            record=record,
            columns=found.columns,
            again=again,
            limits=(0.0 if squared else -1.0, 1.0),
        )


def _predicted(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """What a reader answers where the truth is this frame: the drawing of said against true."""
    for phase in marks.phases:
        said = Average(answers_of(marks, study, phase), "videos").per_video
        truth = np.rint(mean_over(marks.truth[phase], axis=1))
        there = ~(np.isnan(said) | np.isnan(truth))
        for value in np.unique(truth[there]):
            here = said[there & (truth == value)]
            yield Measure(
                reader=marks.reader,
                measure="predicted",
                by=marks.by(phase) | {"truth": str(int(value))},
                value=float(here.mean()),
                n=int(here.size),
                sd_videos=spread_of(here),
            )


METRICS: Final = tuple(
    Metric(name=name, says=says, tasks=("t1",), make=make)
    for name, says, make in (
        ("r2", "squared correlation of answers and truths, mean over seeds", _r2),
        ("r", "correlation of answers and truths with its sign, mean over seeds", _r),
        ("predicted", "mean answer where the truth is this frame", _predicted),
    )
)
