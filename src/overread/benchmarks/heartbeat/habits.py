"""Habits that pass for seeing: the order of the question, the middle, one answer for all clips."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.frame_measures import read_leniently
from overread.benchmarks.heartbeat.marks import (
    NOT_ASKED,
    Average,
    Marks,
    Phase,
    aggregate,
    mean_over,
    spread_over,
)
from overread.benchmarks.heartbeat.study import (
    HeartRun,
    Made,
    averaged,
    made_by_phase,
    made_spec,
    mean_estimate,
    phase_spec,
)
from overread.case import Measure
from overread.measuring.estimates import Floats, Mask
from overread.measuring.notes import NOTHING, noted, remarked
from overread.measuring.specs import Counted, Spec, coverage_specs
from overread.measuring.units import AMOUNT, ANY, FRAMES, INDEX


def order_excess(marks: Marks) -> Floats:
    """Per video and seed: how much more often the first-named phase gets the earlier frame.

    Share of passes in which it does, less 1 or 0 as the truth has it. 0 for whoever is right, and,
    over both orders of the question, for whoever does not mind the order. Passes that name one
    frame for both phases say nothing of an order.
    """
    first, second = marks.phases
    said = marks.said[first], marks.said[second]
    told = ~(np.isnan(said[0]) | np.isnan(said[1])) & (said[0] != said[1])
    earlier = np.where(told, (said[0] < said[1]).astype(float), np.nan)
    truth: Floats = (marks.truth[first] < marks.truth[second]).astype(float)
    return np.asarray(mean_over(earlier, axis=2) - truth)


def _order_bias(run: HeartRun, marks: Marks) -> Made:
    """By order of the question; then the mean of both orders.

    In that the truth cancels: 0 without bias, 1/2 at most. A video counts there where it answered
    both, so that the truth does cancel.
    """
    if marks.task != "t1" or len(marks.phases) < 2:
        return
    record = Measure(reader=marks.reader, measure="order_bias", by=marks.by(), n=0)
    average = Average(order_excess(marks), "videos")
    if average.n:
        ties = int((marks.said["ed"] == marks.said["es"]).sum())
        record = remarked(record, f"{ties} passes name one frame for both" if ties else None)
        yield mean_estimate(record, average, INDEX.limits)
    else:
        yield noted(record, NOTHING, "no pass names two different frames")
    other = run.like(marks, format="esv_edv") if marks.format == "edv_esv" else None
    if other is not None:
        one, two = (mean_over(order_excess(m), axis=1) for m in (marks, other))
        by = {"task": marks.task, "context": marks.context}
        yield mean_estimate(
            Measure(reader=marks.reader, measure="order_bias", by=by),
            Average(((one + two) / 2)[:, None], "videos"),
            INDEX.limits,
            seeds=False,
            nothing="no video names two frames in both orders",
        )


def _middle_bias(run: HeartRun, marks: Marks, phase: Phase) -> Counted:
    """How much nearer to the middle the answers lie than the truths.

    (|truth - middle| - |answer - middle|) over the mean distance of a uniform guess; 0 for whoever
    is right, positive for whoever keeps to the middle. Answers are moved into the frames shown.
    """
    middle = (marks.count - 1) / 2
    # Mean |k - (N-1)/2| over k = 0 .. N-1 is floor(N²/2) / 2N.
    guess = np.floor(marks.count**2 / 2) / (2 * marks.count)
    away = mean_over(np.abs(marks.clipped(phase) - middle[:, :, None]), axis=2)
    guess = np.where(guess > 0, guess, np.nan)
    return Counted((np.abs(marks.truth[phase] - middle) - away) / guess, run.everyone)


def _distinct(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    said = marks.said[phase]
    values, counts = np.unique(said[~np.isnan(said)], return_counts=True)
    if not values.size:
        yield noted(record, NOTHING, "nothing was parsed")
        return
    n, most = int(counts.sum()), int(counts.argmax())
    words = f"{values[most]:.0f} is the answer of {100 * counts[most] / n:.1f} % of the passes"
    yield remarked(msgspec.structs.replace(record, value=float(values.size), n=n), words)


def _seed_spread(run: HeartRun, marks: Marks, phase: Phase) -> Counted:
    """How far the seeds' answers to one video lie apart: their SD, averaged over videos."""
    off = aggregate(marks.clipped(phase), run.edition.aggregation) - marks.truth[phase]
    return Counted(spread_over(off, axis=1), run.everyone)


# ---------------------------------------------------------------- what could be read of replies


def _of_passes(run: HeartRun, hits: Mask, among: Mask) -> Counted:
    """A share of passes, of which every video has several."""
    each = np.where(among, hits.astype(float), np.nan)
    return Counted(each.reshape(len(each), -1), run.everyone)


def _parsed(run: HeartRun, marks: Marks, phase: Phase) -> Counted:
    """Of the replies, those that hold the asked index in the asked form."""
    found = _of_passes(run, ~np.isnan(marks.said[phase]), marks.replied)
    return found._replace(population=marks.asked, why=marks.codes.reshape(run.n, -1))


def _parsed_leniently(run: HeartRun, marks: Marks, phase: Phase) -> Counted:
    unread = np.isnan(marks.said[phase]) & np.isnan(marks.lenient[phase])
    return _of_passes(run, ~unread, marks.replied)


def _out_of_range(run: HeartRun, marks: Marks, phase: Phase) -> Counted:
    """Of the parsed passes, those whose index no frame shown bears; they are kept elsewhere."""
    known = ~np.isnan(marks.said[phase]) & ~np.isnan(marks.count)[:, :, None]
    return _of_passes(run, ~marks.inside(phase), known)


COVERAGE_SPECS: Final = (
    *coverage_specs(
        lambda run, marks: (marks.by(),),
        lambda run, marks, condition: (marks.asked, marks.codes.reshape(len(marks.codes), -1)),
    ),
    Spec(
        name="cut_off",
        says="share of what was asked whose reply the token limit cut off, where that is known",
        better="lower",
        of=lambda run, marks, by: _of_passes(run, marks.cut_off == 1, marks.codes != NOT_ASKED),
        conditions=lambda run, marks: () if np.isnan(marks.cut_off).all() else (marks.by(),),
    ),
)
_BOTH: Final = ("t1", "t2")
_UNKNOWN: Final = "nothing was parsed, or the frames shown are not known"

HABIT_SPECS: Final = (
    phase_spec(
        "parsed", "share of the replies that hold the asked index", _parsed, tasks=_BOTH
    ),
    phase_spec(
        "parsed_lenient", "the same of the lenient reading, where it reads more",
        _parsed_leniently, tasks=_BOTH, when=read_leniently,
    ),
    phase_spec(
        "out_of_range", "share of parsed indices no frame bears", _out_of_range, better="lower",
        tasks=_BOTH,
    ),
    made_spec("order_bias", "how much the first-named phase is put earlier", _order_bias, INDEX),
    phase_spec(
        "middle_bias", "how much nearer to the middle than the truth", _middle_bias, ANY, None,
        estimate=averaged("videos", nothing=_UNKNOWN),
    ),
    made_by_phase(
        "distinct", "how many different answers there are", _distinct, AMOUNT, tasks=_BOTH
    ),
    phase_spec(
        "seed_sd", "spread of the seeds' answers to one video, frames", _seed_spread,
        FRAMES, "lower", estimate=averaged("videos", nothing="one seed has no spread"),
    ),
)  # fmt: skip
