"""Measures of finding the frame (T1): errors, the constant they must beat, and r."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.edition import OBSERVERS
from overread.benchmarks.heartbeat.marks import (
    UNANSWERED,
    Average,
    Floats,
    Marks,
    Mask,
    Phase,
    aggregate,
    mean_over,
    median_bounds,
    others_median,
    pearson,
    spread_of,
)
from overread.benchmarks.heartbeat.study import Draft, Making, Metric, Study, draft, joined
from overread.case import Measure

__all__ = [
    "CANNOT_TELL",
    "METRICS",
    "answers_of",
    "by_seed",
    "constant_errors",
    "error_of",
    "missing",
    "skill_of",
    "started",
]

# ---------------------------------------------------------- errors, and the constant they must beat

CANNOT_TELL: Final = "cannot tell"
"""The label of a skill that stands on a constant better than observers."""
_FRAME_LIMITS: Final = (0.0, np.inf)


def answers_of(marks: Marks, study: Study, phase: Phase) -> Floats:
    """The reader's answer per video and seed under the edition, NaN without one.

    A seed of one answered video has none in the authors' edition: their correlation raises an
    error there, and with it goes the error of that seed (HEARTBEAT 7).
    """
    return _aggregated_answers(marks, study, marks.said[phase])


def _aggregated_answers(marks: Marks, study: Study, said: Floats) -> Floats:
    found = aggregate(said, study.edition.aggregation)
    if study.edition.aggregation == "truncated":
        found[:, (~np.isnan(found)).sum(axis=0) == 1] = np.nan
    return found


def error_of(marks: Marks, study: Study, phase: Phase) -> Average:
    """|truth - answer| per video and seed; the truth of the beat that the edition holds it to."""
    key = ("error", marks.reader, *marks.by(phase).values())
    if key not in study.kept:
        held = marks.held(marks.said[phase], phase, study.edition.beat)
        off = np.abs(marks.truth[phase] - _aggregated_answers(marks, study, held))
        study.kept[key] = Average(off, study.over)
    found: Average = study.kept[key]
    return found


def missing(marks: Marks, phase: Phase) -> str | None:
    """How many replies gave no index, in words."""
    lost = int((marks.replied & np.isnan(marks.said[phase])).sum())
    failed = int((marks.codes == UNANSWERED).sum())
    return joined(
        f"{lost} of {int(marks.replied.sum())} replies without an index" if lost else None,
        f"{failed} passes unanswered" if failed else None,
    )


def started(marks: Marks, name: str, phase: Phase, note: str | None = None) -> Measure:
    return Measure(reader=marks.reader, measure=name, by=marks.by(phase), n=0, note=note)


def _why_undefined(marks: Marks, study: Study, phase: Phase) -> str:
    if np.isnan(marks.said[phase]).all():
        return "nothing was parsed"
    return "the published code stops at a single video"


def _mae(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        average = error_of(marks, study, phase)
        note = missing(marks, phase)
        if average.point is None:
            note = joined(_why_undefined(marks, study, phase), note)
        yield draft(started(marks, "mae", phase, note), average, unit=1.0, limits=_FRAME_LIMITS)


def _mae_videos(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Tables 5-7: the mean of the videos' own means, beside the authors' mean of the seeds'."""
    if study.over == "videos":
        return
    for phase in marks.phases:
        average = Average(error_of(marks, study, phase).values, "videos")
        record = started(marks, "mae_videos", phase, missing(marks, phase))
        yield draft(record, average, unit=1.0, limits=_FRAME_LIMITS)


def _mae_clipped(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        said = marks.held(marks.clipped(phase), phase, study.edition.beat)
        held = aggregate(said, study.edition.aggregation)
        average = Average(np.abs(marks.truth[phase] - held), study.over)
        yield draft(started(marks, "mae_clipped", phase), average, unit=1.0, limits=_FRAME_LIMITS)


def _mae_lenient(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        said = marks.lenient[phase]
        more = int((np.isnan(marks.said[phase]) & ~np.isnan(said)).sum())
        if not more:
            continue
        held = aggregate(marks.held(said, phase, study.edition.beat), study.edition.aggregation)
        average = Average(np.abs(marks.truth[phase] - held), study.over)
        note = f"{more} more passes read than by the strict grammar"
        record = started(marks, "mae_lenient", phase, note)
        yield draft(record, average, unit=1.0, limits=_FRAME_LIMITS)


def _mae_median(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The median of the videos' errors: what one absurd answer cannot move."""
    from overread.stats import design_effect

    for phase in marks.phases:
        each = error_of(marks, study, phase).per_video
        there = ~np.isnan(each)
        record = started(marks, "mae_median", phase)
        if not there.any():
            note = _why_undefined(marks, study, phase)
            yield msgspec.structs.replace(record, note=note)
            continue
        values, patients = each[there], marks.facts.patients[there]
        effect = design_effect(values <= np.median(values), patients)
        low, middle, high = median_bounds(values, effect)
        record = msgspec.structs.replace(record, value=middle, n=int(values.size))
        if np.unique(patients).size < 2:
            note = "one video has no interval"
            yield msgspec.structs.replace(record, note=note)
        elif low < high:
            method = f"quantiles at wilson:deff={effect:.3f}"
            yield msgspec.structs.replace(record, low=low, high=high, method=method)
        else:
            # Constant columns resample to the same value, which brings the rule for agreement in.
            same = Average(np.where(there, middle, np.nan)[:, None], "videos")
            yield msgspec.structs.replace(
                draft(record, same, unit=1.0, limits=_FRAME_LIMITS), record=record
            )


def constant_errors(marks: Marks, study: Study, phase: Phase) -> Floats:
    """|truth - the best constant| per video and seed, by the same rule as any answer."""
    truth = marks.truth[phase]
    constant = others_median(truth, marks.facts.patients)
    return np.abs(truth - marks.held(constant, phase, study.edition.beat))


def _constant_error(marks: Marks, study: Study, phase: Phase) -> Average:
    """The best constant's errors on the videos and seeds the reader is judged on.

    On all of them where it is judged on none.
    """
    truth = marks.truth[phase]
    counted = ~np.isnan(error_of(marks, study, phase).values)
    key = ("constant", phase, truth.shape, truth.tobytes(), counted.tobytes())
    if key not in study.kept:
        errors = constant_errors(marks, study, phase)
        judged = np.where(counted, errors, np.nan) if counted.any() else errors
        study.kept[key] = Average(judged, study.over)
    found: Average = study.kept[key]
    return found


def _constant_mae(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        average = _constant_error(marks, study, phase)
        note = None if average.n else "one video has no other to take a constant from"
        record = started(marks, "constant_mae", phase, note)
        made = draft(record, average, unit=1.0, limits=_FRAME_LIMITS)
        yield msgspec.structs.replace(
            made, record=msgspec.structs.replace(made.record, sd_seeds=None)
        )


def skill_of(
    record: Measure, error: Average, constant: Average, places: Floats, observers: float
) -> Draft:
    """1 - mae / constant_mae, resampled as one: both sums see the same videos.

    A median of the others errs a little more than the best constant there is, so that a lucky
    constant would seem to have some skill. The lower bound is therefore the lower of two: beside
    the same ratio, that to the best constant of each resample itself, above which none can be.
    `places` are the frames that are right. Where the constant errs by less than `observers`, who
    reads as people do would have no skill: the record is kept, and says that it cannot tell.
    """
    there = ~(np.isnan(error.values) | np.isnan(constant.values))
    mae = Average(np.where(there, error.values, np.nan), error.over)
    base = Average(np.where(there, constant.values, np.nan), error.over)
    if mae.point is None or base.point is None:
        return Draft(record=msgspec.structs.replace(record, note="no video to judge on"))
    if base.point == 0:
        note = "the best constant makes no error: there is nothing to beat"
        return Draft(record=msgspec.structs.replace(record, n=mae.n, note=note))
    if base.point < observers:
        least, most = OBSERVERS
        note = (
            f"the best constant errs by {base.point:.1f} frames; two observers differ by {least} to"
            f" {most}"
        )
        record = msgspec.structs.replace(record, label=CANNOT_TELL, note=note)
    width = mae.columns.shape[1]
    beyond = 2 * width

    def again(totals: Floats) -> Floats:
        of_base = Average.again(totals[:, width:beyond])
        found: Floats = 1 - Average.again(totals[:, :width]) / of_base
        return found

    away, targets = _right_frames(places, there)

    def strictly(totals: Floats) -> Floats:
        found: Floats = 1 - Average.again(totals[:, :width]) / _best_constant_error(
            totals[:, beyond:], away
        )
        return found

    seeds = 1 - mae.per_seed / np.where(base.per_seed == 0, np.nan, base.per_seed)
    return Draft(
        record=msgspec.structs.replace(
            record, value=1 - mae.point / base.point, n=mae.n, sd_seeds=spread_of(seeds)
        ),
        columns=np.hstack([mae.columns, base.columns, targets]),
        again=again,
        strictly=strictly,
        counted=mae.counted,
        unit=1 / base.point,
        limits=(-np.inf, 1.0),
    )


def _right_frames(places: Floats, there: Mask) -> tuple[Floats, Floats]:
    """How far every frame that is right somewhere lies from each set of right frames there is.

    Then which of these sets each video has, a column for each. All seeds show one window, so a
    video has one set; none where it is not judged.
    """
    own = np.sort(mean_over(np.where(there[:, :, None], places, np.nan), axis=1), axis=1)
    judged = ~np.isnan(own[:, 0])
    # NaN, which fills a shorter set, is no number to compare by.
    filled = np.where(np.isnan(own), np.inf, own)
    sets = np.unique(filled[judged], axis=0)
    constants = np.unique(sets[np.isfinite(sets)])
    away = np.abs(sets[:, :, None] - constants).min(axis=1)
    return away, (filled[:, None, :] == sets).all(axis=2).astype(float)


def _best_constant_error(counts: Floats, away: Floats) -> Floats:
    """The mean error of each resample's own best constant, from `_right_frames`' totals."""
    found: Floats = (counts @ away).min(axis=1) / counts.sum(axis=1)
    return found


def _skill(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        record = started(marks, "skill", phase)
        error, constant = error_of(marks, study, phase), _constant_error(marks, study, phase)
        places = marks.places(phase, study.edition.beat)
        yield skill_of(record, error, constant, places, study.edition.observers)


def by_seed(marks: Marks, name: str, phase: Phase, values: Floats) -> Iterator[Measure]:
    """What each seed alone has, where there are several: the points of a box plot."""
    average = Average(values, "seeds")
    if len(marks.seeds) < 2:
        return
    counts = (~np.isnan(values)).sum(axis=0)
    for seed, value, n in zip(marks.seeds, average.per_seed.tolist(), counts, strict=True):
        if n:
            by = marks.by(phase) | {"seed": str(seed)}
            yield Measure(reader=marks.reader, measure=name, by=by, value=value, n=int(n))


def _mae_seed(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        yield from by_seed(marks, "mae_seed", phase, error_of(marks, study, phase).values)


# -------------------------- do the answers follow the truths? r and r², and the drawing behind them


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


def _r_signed(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    yield from _correlated(marks, study, "r", squared=False)


def _r_squared(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
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


def _t1_metric(name: str, says: str, make: Making) -> Metric:
    return Metric(name=name, says=says, tasks=("t1",), make=make)


METRICS: Final = (
    _t1_metric("mae", "mean absolute error in frames", _mae),
    _t1_metric(
        "mae_videos", "the same as a mean of the videos' own means (Tables 5-7)", _mae_videos
    ),
    _t1_metric("mae_seed", "the same of one seed alone", _mae_seed),
    _t1_metric("mae_clipped", "the same with answers moved into the frames shown", _mae_clipped),
    _t1_metric("mae_median", "the median of the videos' errors", _mae_median),
    _t1_metric("mae_lenient", "mean absolute error of the lenient reading", _mae_lenient),
    _t1_metric("constant_mae", "error of the best constant, leave-one-out median", _constant_mae),
    _t1_metric("skill", "1 - mae / constant_mae: 0 is no better than a constant", _skill),
    _t1_metric("r2", "squared correlation of answers and truths, mean over seeds", _r_squared),
    _t1_metric("r", "correlation of answers and truths with its sign, mean over seeds", _r_signed),
    _t1_metric("predicted", "mean answer where the truth is this frame", _predicted),
)
