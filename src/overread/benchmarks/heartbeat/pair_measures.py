"""Measures of telling two frames apart (T2): passes become a vote, votes an accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.authors.rules import binary, stops, truncated_vote
from overread.benchmarks.heartbeat.frame_measures import by_seed, missing
from overread.benchmarks.heartbeat.guessers import TRIALS, Chance, coin_accuracy
from overread.benchmarks.heartbeat.marks import Average, Floats, Marks, Mask, spread_of
from overread.benchmarks.heartbeat.study import Draft, Metric, Study, draft, joined, proportion
from overread.case import Measure

__all__ = [
    "METRICS",
    "decided",
    "majority",
    "right_of",
]

# ---------------------------------------------------------------- votes


def majority(said: Floats) -> Floats:
    """The position most parsed passes name, per video and seed; NaN for a tie or none.

    A number that is neither 0 nor 1 is a vote for nothing, and can outvote both.
    """
    ones, zeros = (said == 1).sum(axis=2), (said == 0).sum(axis=2)
    strange = (~np.isnan(said)).sum(axis=2) - ones - zeros
    found = np.full(ones.shape, np.nan)
    found[(ones > zeros) & (ones > strange)] = 1
    found[(zeros > ones) & (zeros > strange)] = 0
    return found


def decided(
    said: Floats, truth: Floats, asked: Mask, unparsed: Literal["dropped", "wrong"]
) -> Floats:
    """1 right, 0 wrong, NaN not counted, per video and seed.

    "dropped" is the authors' way throughout: the truncated vote, videos without one dropped, and
    seeds at which their code stops without a value. "wrong": majority, a tie or none is wrong;
    `asked` are the videos and seeds that got any reply.
    """
    if unparsed == "dropped":
        votes = truncated_vote(said)
        right = np.where(np.isnan(votes), np.nan, (votes == truth).astype(float))
        right[:, stops(votes)] = np.nan
        return right
    return np.where(asked, (majority(said) == truth).astype(float), np.nan)


# ---------------------------------------------------------------- the measures

# The seed of the authors' coins; one generator for all groups, in the order of their names.
_COIN_SEED: Final = 2025


def right_of(marks: Marks, study: Study, said: Floats | None = None) -> Floats:
    """1 right, 0 wrong, NaN not counted, per video and seed, under the edition."""
    phase = marks.phases[0]
    return decided(
        marks.said[phase] if said is None else said,
        marks.truth[phase],
        marks.heard,
        study.edition.unparsed_t2,
    )


def _accuracy(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    phase = marks.phases[0]
    note = missing(marks, phase)
    started = Measure(reader=marks.reader, measure="accuracy", by=marks.by(phase))
    if study.edition.unparsed_t2 == "dropped":
        stopped = stops(truncated_vote(marks.said[phase]))
        if stopped.any():
            note = joined(f"the published code stops at {int(stopped.sum())} seeds", note)
        yield _over_seeds(msgspec.structs.replace(started, note=note), right_of(marks, study))
        return
    votes, asked = majority(marks.said[phase]), marks.heard
    ties = int((asked & np.isnan(votes)).sum())
    if ties:
        note = joined(f"{ties} without a majority count as wrong", note)
    yield _share_right(msgspec.structs.replace(started, note=note), right_of(marks, study), marks)


def _accuracy_seed(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    yield from by_seed(marks, "accuracy_seed", marks.phases[0], right_of(marks, study))


def _over_seeds(record: Measure, right: Floats) -> Draft:
    """The mean of the seeds' accuracies, as the paper has it; n counts videos x seeds."""
    made = draft(record, Average(right, "seeds"), unit=1.0, limits=(0.0, 1.0))
    n = int((~np.isnan(right)).sum())
    return msgspec.structs.replace(made, record=msgspec.structs.replace(made.record, n=n))


def _share_right(record: Measure, right: Floats, marks: Marks) -> Measure:
    average = Average(right, "videos")
    found = proportion(record, right == 1, ~np.isnan(right), marks.facts)
    return msgspec.structs.replace(found, sd_seeds=average.sd_seeds, sd_videos=average.sd_videos)


def _accuracy_lenient(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    phase = marks.phases[0]
    said = marks.lenient[phase]
    more = int((np.isnan(marks.said[phase]) & ~np.isnan(said)).sum())
    if not more:
        return
    note = f"{more} more passes read than by the strict grammar"
    record = Measure(reader=marks.reader, measure="accuracy_lenient", by=marks.by(phase), note=note)
    right = right_of(marks, study, said)
    if study.edition.unparsed_t2 == "dropped":
        yield _over_seeds(record, right)
    else:
        yield _share_right(record, right, marks)


def _confusion(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The authors' precision, recall and F1 with position 1 as the positive class."""
    if study.edition.unparsed_t2 != "dropped":
        return
    phase = marks.phases[0]
    votes, truth = truncated_vote(marks.said[phase]), marks.truth[phase]
    seeds = np.flatnonzero(~stops(votes))
    rows = [binary(votes[:, seed], truth[:, seed]) for seed in seeds]
    for name in ("precision", "recall", "f1"):
        values = [getattr(row, name) for row in rows]
        held = np.array([np.nan if value is None else value for value in values], dtype=float)
        there = held[~np.isnan(held)]
        yield Measure(
            reader=marks.reader,
            measure=name,
            by=marks.by(phase),
            value=float(there.mean()) if there.size else None,
            n=int(there.size),
            sd_seeds=spread_of(held),
            note="mean over the seeds that have it; position 1 is the positive class",
        )


def _chance_accuracy(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    phase = marks.phases[0]
    found, videos = _coins_of_groups(study)[marks.reader, marks.context, marks.format]
    record = Measure(reader=marks.reader, measure="chance_accuracy", by=marks.by(phase), n=videos)
    if found is None:
        yield msgspec.structs.replace(record, note="no pair of frames was shown")
        return
    exact = study.edition.unparsed_t2 == "wrong"
    yield msgspec.structs.replace(
        record,
        value=0.5 if exact else found.mean,
        low=found.low,
        high=found.high,
        method=f"coins:{TRIALS}:{_COIN_SEED}",
    )


def _coins_of_groups(study: Study) -> dict[tuple[str, str, str], tuple[Chance | None, int]]:
    """The coins of every group.

    The authors' one generator goes on from group to group, in the order of their names; ours
    starts anew, over sorted truths, so that neither names nor order matter.
    """
    published = study.edition.unparsed_t2 == "dropped"
    if "coins" not in study.kept:
        found: dict[tuple[str, str, str], tuple[Chance | None, int]] = {}
        shown = [marks for marks in study.marks if marks.task == "t2"]
        for context in dict.fromkeys(marks.context for marks in shown):
            rng = np.random.default_rng(_COIN_SEED)
            group = (marks for marks in shown if marks.context == context)
            for marks in sorted(group, key=lambda m: f"{m.reader}_{m.format}_frame"):
                # One run is one seed: its n is what the paper's interval stands on.
                truth = marks.truth[marks.phases[0]][:, 0]
                truth = truth[~np.isnan(truth)]
                if not published:
                    truth, rng = np.sort(truth), np.random.default_rng(_COIN_SEED)
                key = (marks.reader, context, marks.format)
                found[key] = (coin_accuracy(truth, rng) if truth.size else None, truth.size)
        study.kept["coins"] = found
    kept: dict[tuple[str, str, str], tuple[Chance | None, int]] = study.kept["coins"]
    return kept


def _seed_agreement(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Of pairs of seeds, those in which a video is both times right or both times wrong."""
    right = right_of(marks, study)
    there = ~np.isnan(right)
    seeds, hits = there.sum(axis=1), np.where(there, right, 0).sum(axis=1)
    pairs = seeds * (seeds - 1) / 2
    same = (hits * (hits - 1) + (seeds - hits) * (seeds - hits - 1)) / 2
    each = np.divide(same, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    record = Measure(
        reader=marks.reader, measure="seed_agreement", by=marks.by(marks.phases[0]), n=0
    )
    if np.isnan(each).all():
        yield msgspec.structs.replace(record, note="one seed cannot agree with another")
        return
    average = Average(each[:, None], "videos")
    yield draft(record, average, unit=1.0, limits=(0.0, 1.0))


METRICS: Final = tuple(
    Metric(name=name, says=says, tasks=("t2",), make=make)
    for name, says, make in (
        ("accuracy", "share of pairs in which the asked frame was named", _accuracy),
        ("accuracy_seed", "the same of one seed alone", _accuracy_seed),
        ("accuracy_lenient", "the same of the lenient reading", _accuracy_lenient),
        ("precision", "precision, recall and f1 of position 1, authors' edition", _confusion),
        ("chance_accuracy", "accuracy of fair coins", _chance_accuracy),
        ("seed_agreement", "share of pairs of seeds that agree on right or wrong", _seed_agreement),
    )
)
