"""Measures of finding the frame (T1): errors, the constant they must beat, and r."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.edition import OBSERVERS
from overread.benchmarks.heartbeat.marks import (
    Average,
    Marks,
    Phase,
    aggregate,
    mean_over,
    median_bounds,
    others_median,
    pearson,
    spread_of,
)
from overread.benchmarks.heartbeat.study import (
    HeartRun,
    Made,
    averaged,
    made_by_phase,
    mean_estimate,
    phase_spec,
)
from overread.case import Measure, Method
from overread.measuring.estimates import Estimate, Floats, Mask, flagged_few
from overread.measuring.notes import NOTHING, ONE_CLUSTER, noted, with_method
from overread.measuring.specs import Counted
from overread.measuring.units import ANY, FRAMES, INDEX, SHARE, SKILL

CANNOT_TELL: Final = "cannot_tell"
"""The flag of a skill that stands on a constant better than observers."""


def answers_of(marks: Marks, run: HeartRun, said: Floats) -> Floats:
    """The reader's answer per video and seed under the edition, NaN without one.

    A seed of one answered video has none in the authors' edition: their correlation raises an
    error there, and with it goes the error of that seed (HEARTBEAT 7).
    """
    found = aggregate(said, run.edition.aggregation)
    if run.edition.aggregation == "truncated":
        found[:, (~np.isnan(found)).sum(axis=0) == 1] = np.nan
    return found


# ---------------------------------------------------------------- errors


def error_of(marks: Marks, run: HeartRun, phase: Phase) -> Average:
    """|truth - answer| per video and seed; the truth of the beat that the edition holds it to."""

    def made() -> Average:
        held = marks.held(marks.said[phase], phase, run.edition.beat)
        return Average(np.abs(marks.truth[phase] - answers_of(marks, run, held)), run.over)

    return run.once(("error", marks.reader, *marks.by(phase).values()), made)


def _error(run: HeartRun, marks: Marks, phase: Phase) -> Counted:
    return Counted(error_of(marks, run, phase).values, marks.asked, marks.outcomes(phase))


def _error_of_any(run: HeartRun, marks: Marks, phase: Phase, said: Floats) -> Counted:
    """Errors of other answers than those read strictly; no seed is lost to another's answers."""
    held = aggregate(marks.held(said, phase, run.edition.beat), run.edition.aggregation)
    return Counted(np.abs(marks.truth[phase] - held), marks.asked)


def _mae_median(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    """The median of the videos' errors: what one absurd answer cannot move."""
    from overread.stats import design_effect

    each = error_of(marks, run, phase).per_video
    there = ~np.isnan(each)
    if not there.any():
        yield noted(record, NOTHING)
        return
    values, patients = each[there], marks.facts.patients[there]
    effect = design_effect(values <= np.median(values), patients)
    low, middle, high = median_bounds(values, effect)
    record = msgspec.structs.replace(record, value=middle, n=int(values.size))
    if np.unique(patients).size < 2:
        yield noted(record, ONE_CLUSTER)
    elif low < high:
        bounded = msgspec.structs.replace(record, low=low, high=high)
        made = with_method(bounded, Method(kind="quantiles at wilson", effect=effect))
        yield flagged_few(made, patients) if run.robust else made
    else:
        # Constant columns resample to the same value, which brings the rule for agreement in.
        same = Average(np.where(there, middle, np.nan)[:, None], "videos")
        alike = mean_estimate(record, same, FRAMES.limits)
        yield msgspec.structs.replace(alike, record=record)


def by_seed(marks: Marks, values: Floats, record: Measure) -> Made:
    """What each seed alone has, where there are several: the points of a box plot."""
    if len(marks.seeds) < 2:
        return
    counts = (~np.isnan(values)).sum(axis=0)
    for seed, value, n in zip(marks.seeds, mean_over(values, axis=0).tolist(), counts, strict=True):
        if n:
            by = {**record.by, "seed": str(seed)}
            yield msgspec.structs.replace(record, by=by, value=value, n=int(n))


# ---------------------------------------------------------------- the constant they must beat


def constant_errors(marks: Marks, run: HeartRun, phase: Phase) -> Floats:
    """|truth - the best constant| per video and seed, by the same rule as any answer."""
    truth = marks.truth[phase]
    constant = others_median(truth, marks.facts.patients)
    return np.abs(truth - marks.held(constant, phase, run.edition.beat))


def _constant_error(marks: Marks, run: HeartRun, phase: Phase) -> Average:
    """The best constant's errors on the videos and seeds the reader is judged on.

    On all of them where it is judged on none.
    """
    truth = marks.truth[phase]
    counted = ~np.isnan(error_of(marks, run, phase).values)

    def made() -> Average:
        errors = constant_errors(marks, run, phase)
        judged = np.where(counted, errors, np.nan) if counted.any() else errors
        return Average(judged, run.over)

    key = ("constant", phase, truth.shape, truth.tobytes(), counted.tobytes())
    return run.once(key, made)


def _constant_mae(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    """Settings judged on the same videos share it, and its columns."""
    constant = _constant_error(marks, run, phase)
    nothing = "one video has no other to take a constant from"
    yield mean_estimate(record, constant, FRAMES.limits, seeds=False, nothing=nothing)


def _skill(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    error, constant = error_of(marks, run, phase), _constant_error(marks, run, phase)
    places = marks.places(phase, run.edition.beat)
    yield skill_of(record, error, constant, places, run.edition.observers)


def skill_of(
    record: Measure, error: Average, constant: Average, places: Floats, observers: float
) -> Estimate:
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
        return Estimate(record=noted(record, NOTHING, "no video to judge on"))
    if base.point == 0:
        none = msgspec.structs.replace(record, n=mae.n)
        words = "the best constant makes no error: there is nothing to beat"
        return Estimate(record=noted(none, NOTHING, words))
    if base.point < observers:
        least, most = OBSERVERS
        words = (
            f"the best constant errs by {base.point:.1f} frames; two observers differ by {least} to"
            f" {most}"
        )
        record = noted(msgspec.structs.replace(record, label="cannot tell"), CANNOT_TELL, words)
    width = mae.columns.shape[1]
    beyond = 2 * width

    def again(totals: Floats) -> Floats:
        of_base = Average.again(totals[:, width:beyond])
        return np.asarray(1 - Average.again(totals[:, :width]) / of_base)

    away, targets = _right_frames(places, there)

    def strictly(totals: Floats) -> Floats:
        """Against the mean error of each resample's own best constant."""
        counts = totals[:, beyond:]
        best = (counts @ away).min(axis=1) / counts.sum(axis=1)
        return np.asarray(1 - Average.again(totals[:, :width]) / best)

    seeds = 1 - mae.per_seed / np.where(base.per_seed == 0, np.nan, base.per_seed)
    columns = np.hstack([mae.columns, base.columns, targets])
    return Estimate(
        record=msgspec.structs.replace(
            record, value=1 - mae.point / base.point, n=mae.n, sd_seeds=spread_of(seeds)
        ),
        columns=columns,
        again=again,
        strictly=strictly,
        counted=mae.counted,
        step=1 / base.point,
        limits=SKILL.limits,
        coarse=columns.shape[1] > 8,
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


# ------------------------ do the answers follow the truths? r and r², and the drawing behind them


def _correlations(marks: Marks, run: HeartRun, phase: Phase) -> tuple[Floats, Floats]:
    """The correlation of each seed, NaN where it is not defined; and what a resample adds up."""
    said, truth = answers_of(marks, run, marks.said[phase]), marks.truth[phase]
    # The authors take two videos, which always give 1; we do not.
    least = 2 if run.edition.aggregation == "truncated" else 3
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
    return np.array([np.nan if r is None else r for r in each]), columns


def _correlations_again(totals: Floats) -> Floats:
    """r of every resample and seed; NaN where it is not defined."""
    n, x, y, xx, yy, xy = np.split(totals, 6, axis=1)
    spread_x, spread_y = xx - x * x / n, yy - y * y / n
    # What is left of a constant's squares is rounding.
    bad = (spread_x <= 1e-9 * xx) | (spread_y <= 1e-9 * yy)
    r = (xy - x * y / n) / np.sqrt(np.where(bad, np.nan, spread_x * spread_y))
    return np.asarray(np.clip(r, -1, 1))


def _r(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    squared = record.measure == "r2"
    key = ("r", marks.reader, *marks.by(phase).values())
    each, columns = run.once(key, partial(_correlations, marks, run, phase))
    each = each**2 if squared else each
    defined = each[~np.isnan(each)]
    n = int(columns[:, : each.size].any(axis=1).sum())
    record = msgspec.structs.replace(record, n=n)
    if not defined.size:
        words = "not defined: constant answers or truths, or too few videos"
        yield noted(record, NOTHING, words)
        return
    lost = int(np.isnan(each).sum())

    def again(totals: Floats) -> Floats:
        r = _correlations_again(totals)
        return mean_over(r * r if squared else r, axis=1)

    yield Estimate(
        record=msgspec.structs.replace(
            record,
            value=float(defined.mean()),
            sd_seeds=spread_of(each),
            note=f"not defined at {lost} of {each.size} seeds" if lost else None,
        ),
        columns=columns,
        again=again,
        counted=run.everyone,
        limits=(SHARE if squared else INDEX).limits,
        step=None,
        jumps=True,
        coarse=columns.shape[1] > 8,
    )


def _predicted(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    """What a reader answers where the truth is this frame: the drawing of said against true."""
    said = mean_over(answers_of(marks, run, marks.said[phase]), axis=1)
    truth = np.rint(mean_over(marks.truth[phase], axis=1))
    there = ~(np.isnan(said) | np.isnan(truth))
    for value in np.unique(truth[there]):
        here = said[there & (truth == value)]
        yield msgspec.structs.replace(
            record,
            by={**record.by, "truth": str(int(value))},
            value=float(here.mean()),
            n=int(here.size),
            sd_videos=spread_of(here),
        )


def read_leniently(run: HeartRun, marks: Marks, phase: Phase) -> bool:
    return marks.read_leniently(phase) > 0


_MEAN: Final = averaged()

FRAME_SPECS: Final = (
    phase_spec("mae", "mean absolute error in frames", _error, FRAMES, "lower", estimate=_MEAN),
    phase_spec(
        "mae_videos", "the same as a mean of the videos' own means (Tables 5-7), beside theirs",
        _error, FRAMES, "lower", when=lambda run, marks, phase: run.over == "seeds",
        estimate=averaged("videos"),
    ),
    made_by_phase(
        "mae_seed", "the same of one seed alone",
        lambda run, m, phase, record: by_seed(m, error_of(m, run, phase).values, record),
        FRAMES, "lower",
    ),
    phase_spec(
        "mae_clipped", "the same with answers moved into the frames shown",
        lambda run, marks, phase: _error_of_any(run, marks, phase, marks.clipped(phase)),
        FRAMES, "lower", estimate=_MEAN,
    ),
    made_by_phase("mae_median", "the median of the videos' errors", _mae_median, FRAMES, "lower"),
    phase_spec(
        "mae_lenient", "mean absolute error of the lenient reading, where it reads more",
        lambda run, marks, phase: _error_of_any(run, marks, phase, marks.lenient[phase]),
        FRAMES, "lower", when=read_leniently, estimate=_MEAN,
    ),
    made_by_phase(
        "constant_mae", "error of the best constant, leave-one-out median", _constant_mae, FRAMES
    ),
    made_by_phase(
        "skill", "1 - mae / constant_mae: 0 is no better than a constant", _skill, SKILL, "higher"
    ),
    made_by_phase(
        "r2", "squared correlation of answers and truths, mean over seeds", _r, better="higher"
    ),
    made_by_phase(
        "r", "correlation of answers and truths with its sign, mean over seeds", _r, INDEX, "higher"
    ),
    made_by_phase("predicted", "mean answer where the truth is this frame", _predicted, ANY),
)  # fmt: skip
