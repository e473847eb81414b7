"""Habits that pass for seeing: the order of the question, the middle, one answer for all clips."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.marks import (
    REFUSED,
    UNANSWERED,
    Average,
    Floats,
    Marks,
    aggregate,
    mean_over,
    spread_over,
)
from overread.benchmarks.heartbeat.study import Draft, Metric, Study, draft, joined, proportion
from overread.case import Measure

__all__ = ["METRICS", "order_excess"]


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
    found: Floats = mean_over(earlier, axis=2) - truth
    return found


def _order_bias(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    if len(marks.phases) < 2:
        return
    average = Average(order_excess(marks), "videos")
    record = Measure(reader=marks.reader, measure="order_bias", by=marks.by(), n=0)
    if average.point is None:
        note = "no pass names two different frames"
        yield msgspec.structs.replace(record, note=note)
    else:
        record = msgspec.structs.replace(record, note=_tied_passes(marks))
        yield draft(record, average, unit=1.0, limits=(-1.0, 1.0))
    if marks.format == "edv_esv":
        yield from _both_orders(marks, study)


def _both_orders(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The mean of the two orders, in which the truth cancels: 0 without bias, 1/2 at most."""
    other = next(
        (
            m
            for m in study.marks
            if (m.reader, m.task, m.context) == (marks.reader, marks.task, marks.context)
            and m.format == "esv_edv"
        ),
        None,
    )
    if other is None:
        return
    one, two = (mean_over(order_excess(m), axis=1) for m in (marks, other))
    # A video counts where it answered both, so that the truth does cancel.
    average = Average(((one + two) / 2)[:, None], "videos")
    record = Measure(
        reader=marks.reader,
        measure="order_bias",
        by={"task": marks.task, "context": marks.context},
        n=0,
        note=None if average.n else "no video names two frames in both orders",
    )
    made = draft(record, average, unit=1.0, limits=(-1.0, 1.0))
    yield msgspec.structs.replace(made, record=msgspec.structs.replace(made.record, sd_seeds=None))


def _tied_passes(marks: Marks) -> str | None:
    first, second = (marks.said[phase] for phase in marks.phases)
    ties = int((first == second).sum())
    return f"{ties} passes name one frame for both" if ties else None


def _middle_bias(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """How much nearer to the middle the answers lie than the truths.

    (|truth - middle| - |answer - middle|) over the mean distance of a uniform guess; 0 for whoever
    is right, positive for whoever keeps to the middle. Answers are moved into the frames shown.
    """
    if marks.task != "t1":
        return
    for phase in marks.phases:
        middle = (marks.count - 1) / 2
        # Mean |k - (N-1)/2| over k = 0 .. N-1 is floor(N²/2) / 2N.
        guess = np.floor(marks.count**2 / 2) / (2 * marks.count)
        away = mean_over(np.abs(marks.clipped(phase) - middle[:, :, None]), axis=2)
        guess = np.where(guess > 0, guess, np.nan)
        average = Average((np.abs(marks.truth[phase] - middle) - away) / guess, "videos")
        record = Measure(
            reader=marks.reader,
            measure="middle_bias",
            by=marks.by(phase),
            note=None if average.n else "nothing was parsed, or the frames shown are not known",
        )
        yield draft(record, average, unit=1.0, limits=(-np.inf, np.inf))


def _distinct(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    for phase in marks.phases:
        said = marks.said[phase]
        values, counts = np.unique(said[~np.isnan(said)], return_counts=True)
        note = "nothing was parsed"
        if values.size:
            most = int(counts.argmax())
            share = 100 * counts[most] / counts.sum()
            note = f"{values[most]:.0f} is the answer of {share:.1f} % of the passes"
        yield Measure(
            reader=marks.reader,
            measure="distinct",
            by=marks.by(phase),
            value=float(values.size) if values.size else None,
            n=int(counts.sum()),
            note=note,
        )


def _seed_sd(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """How far the seeds' answers to one video lie apart: their SD, averaged over videos."""
    if marks.task != "t1":
        return
    for phase in marks.phases:
        off = aggregate(marks.clipped(phase), study.edition.aggregation) - marks.truth[phase]
        average = Average(spread_over(off, axis=1)[:, None], "videos")
        note = None if average.n else "one seed has no spread"
        record = Measure(reader=marks.reader, measure="seed_sd", by=marks.by(phase), note=note)
        yield draft(record, average, unit=1.0, limits=(0.0, np.inf))


def _parsed(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the replies, those that hold the asked index in the asked form."""
    failed = int((marks.codes == UNANSWERED).sum())
    refused = int((marks.codes == REFUSED).sum())
    note = joined(
        f"{refused} refused" if refused else None,
        f"{failed} unanswered left out" if failed else None,
    )
    for phase in marks.phases:
        record = Measure(reader=marks.reader, measure="parsed", by=marks.by(phase), note=note)
        yield proportion(record, ~np.isnan(marks.said[phase]), marks.replied, marks.facts)
        more = np.isnan(marks.said[phase]) & ~np.isnan(marks.lenient[phase])
        if more.any():
            lenient = msgspec.structs.replace(record, measure="parsed_lenient")
            read = ~(np.isnan(marks.said[phase]) & np.isnan(marks.lenient[phase]))
            yield proportion(lenient, read, marks.replied, marks.facts)


def _out_of_range(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of the parsed passes, those whose index no frame shown bears; they are kept elsewhere."""
    for phase in marks.phases:
        record = Measure(reader=marks.reader, measure="out_of_range", by=marks.by(phase))
        known = ~np.isnan(marks.said[phase]) & ~np.isnan(marks.count)[:, :, None]
        yield proportion(record, ~marks.inside(phase), known, marks.facts)


METRICS: Final = tuple(
    Metric(name=name, says=says, tasks=tasks, make=make)
    for name, says, tasks, make in (
        ("parsed", "share of the replies that hold the asked index", ("t1", "t2"), _parsed),
        ("out_of_range", "share of parsed indices no frame bears", ("t1", "t2"), _out_of_range),
        ("order_bias", "how much the first-named phase is put earlier", ("t1",), _order_bias),
        ("middle_bias", "how much nearer to the middle than the truth", ("t1",), _middle_bias),
        ("distinct", "how many different answers there are", ("t1", "t2"), _distinct),
        ("seed_sd", "spread of the seeds' answers to one video, frames", ("t1",), _seed_sd),
    )
)
