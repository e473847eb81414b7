"""Measures of finding the frame (T1): errors, and the constant they must beat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.edition import OBSERVERS
from overread.benchmarks.heartbeat.errors import (
    Average,
    aggregate,
    mean_over,
    median_bounds,
    others_median,
    spread_of,
)
from overread.benchmarks.heartbeat.marks import UNANSWERED, Floats, Marks, Mask, Phase
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

CANNOT_TELL: Final = "cannot tell"
"""The label of a skill that stands on a constant better than observers."""
_FRAMES: Final = (0.0, np.inf)


def answers_of(marks: Marks, study: Study, phase: Phase) -> Floats:
    """The reader's answer per video and seed under the edition, NaN without one.

    A seed of one answered video has none in the authors' edition: their correlation raises an
    error there, and with it goes the error of that seed (HEARTBEAT 7).
    """
    return _answers(marks, study, marks.said[phase])


def _answers(marks: Marks, study: Study, said: Floats) -> Floats:
    found = aggregate(said, study.edition.aggregation)
    if study.edition.aggregation == "truncated":
        found[:, (~np.isnan(found)).sum(axis=0) == 1] = np.nan
    return found


def error_of(marks: Marks, study: Study, phase: Phase) -> Average:
    """|truth - answer| per video and seed; the truth of the beat that the edition holds it to."""
    key = ("error", marks.reader, *marks.by(phase).values())
    if key not in study.kept:
        held = marks.held(marks.said[phase], phase, study.edition.beat)
        off = np.abs(marks.truth[phase] - _answers(marks, study, held))
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


def _undefined(marks: Marks, study: Study, phase: Phase) -> str:
    if np.isnan(marks.said[phase]).all():
        return "nothing was parsed"
    return "the published code stops at a single video"


def _mae(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        average = error_of(marks, study, phase)
        note = missing(marks, phase)
        if average.point is None:
            note = joined(_undefined(marks, study, phase), note)
        yield draft(started(marks, "mae", phase, note), average, unit=1.0, limits=_FRAMES)


def _mae_videos(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Tables 5-7: the mean of the videos' own means, beside the authors' mean of the seeds'."""
    if study.over == "videos":
        return
    for phase in marks.phases:
        average = Average(error_of(marks, study, phase).values, "videos")
        record = started(marks, "mae_videos", phase, missing(marks, phase))
        yield draft(record, average, unit=1.0, limits=_FRAMES)


def _mae_clipped(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        said = marks.held(marks.clipped(phase), phase, study.edition.beat)
        held = aggregate(said, study.edition.aggregation)
        average = Average(np.abs(marks.truth[phase] - held), study.over)
        yield draft(started(marks, "mae_clipped", phase), average, unit=1.0, limits=_FRAMES)


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
        yield draft(record, average, unit=1.0, limits=_FRAMES)


def _mae_median(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The median of the videos' errors: what one absurd answer cannot move."""
    from overread.stats import design_effect

    for phase in marks.phases:
        each = error_of(marks, study, phase).per_video
        there = ~np.isnan(each)
        record = started(marks, "mae_median", phase)
        if not there.any():
            note = _undefined(marks, study, phase)
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
                draft(record, same, unit=1.0, limits=_FRAMES), record=record
            )


def constant_errors(marks: Marks, study: Study, phase: Phase) -> Floats:
    """|truth - the best constant| per video and seed, by the same rule as any answer."""
    truth = marks.truth[phase]
    constant = others_median(truth, marks.facts.patients)
    return np.abs(truth - marks.held(constant, phase, study.edition.beat))


def _constant(marks: Marks, study: Study, phase: Phase) -> Average:
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
        average = _constant(marks, study, phase)
        note = None if average.n else "one video has no other to take a constant from"
        record = started(marks, "constant_mae", phase, note)
        made = draft(record, average, unit=1.0, limits=_FRAMES)
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

    away, targets = _targets(places, there)

    def strictly(totals: Floats) -> Floats:
        found: Floats = 1 - Average.again(totals[:, :width]) / _least(totals[:, beyond:], away)
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


def _targets(places: Floats, there: Mask) -> tuple[Floats, Floats]:
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


def _least(counts: Floats, away: Floats) -> Floats:
    """The mean error of each resample's own best constant, from `_targets`' totals."""
    found: Floats = (counts @ away).min(axis=1) / counts.sum(axis=1)
    return found


def _skill(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        record = started(marks, "skill", phase)
        error, constant = error_of(marks, study, phase), _constant(marks, study, phase)
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


def _metric(name: str, says: str, make: Making) -> Metric:
    return Metric(name=name, says=says, tasks=("t1",), make=make)


METRICS: Final = (
    _metric("mae", "mean absolute error in frames", _mae),
    _metric("mae_videos", "the same as a mean of the videos' own means (Tables 5-7)", _mae_videos),
    _metric("mae_seed", "the same of one seed alone", _mae_seed),
    _metric("mae_clipped", "the same with answers moved into the frames shown", _mae_clipped),
    _metric("mae_median", "the median of the videos' errors", _mae_median),
    _metric("mae_lenient", "mean absolute error of the lenient reading", _mae_lenient),
    _metric("constant_mae", "error of the best constant, leave-one-out median", _constant_mae),
    _metric("skill", "1 - mae / constant_mae: 0 is no better than a constant", _skill),
)
