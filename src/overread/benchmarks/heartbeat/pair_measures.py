"""Measures of telling two frames apart (T2): passes become a vote, votes an accuracy."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.authors.measures import right_votes
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.frame_measures import by_seed, read_leniently
from overread.benchmarks.heartbeat.guessers import TRIALS, Chance, coin_accuracy
from overread.benchmarks.heartbeat.marks import Marks, Phase
from overread.benchmarks.heartbeat.study import (
    HeartRun,
    Made,
    averaged,
    made_by_phase,
    phase_spec,
    share_right,
)
from overread.case import Measure, Method
from overread.measuring.estimates import Floats, Mask
from overread.measuring.notes import NOTHING, noted, with_method
from overread.measuring.specs import Counted

# The seed of the authors' coins; one generator for all groups, in the order of their names.
_COIN_SEED: Final = 2025


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


def right_by_majority(said: Floats, truth: Floats, heard: Mask) -> Floats:
    """1 right, 0 wrong, NaN not counted, per video and seed; a tie or none is wrong.

    `heard` are the videos and seeds that got any reply.
    """
    return np.where(heard, (majority(said) == truth).astype(float), np.nan)


def right_alone(
    marks: Marks, edition: Edition, said: Floats | None = None, *, stopping: bool = False
) -> Floats:
    """The same under an edition, each video by itself; `stopping` as the authors' code does."""
    phase = marks.phases[0]
    said, truth = marks.said[phase] if said is None else said, marks.truth[phase]
    if edition.unparsed_t2 == "dropped":
        return right_votes(said, truth, stopping=stopping)
    return right_by_majority(said, truth, marks.heard)


def right_of(marks: Marks, run: HeartRun, said: Floats | None = None) -> Floats:
    """The same as a run counts it."""
    return right_alone(marks, run.edition, said, stopping=True)


def _seeds_agree(run: HeartRun, marks: Marks, phase: Phase) -> Counted:
    """Of pairs of seeds, those in which a video is both times right or both times wrong."""
    right = right_of(marks, run)
    there = ~np.isnan(right)
    seeds, hits = there.sum(axis=1), np.where(there, right, 0).sum(axis=1)
    pairs = seeds * (seeds - 1) / 2
    same = (hits * (hits - 1) + (seeds - hits) * (seeds - hits - 1)) / 2
    each = np.divide(same, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    return Counted(each, run.everyone)


def _chance_accuracy(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    coins = run.once(("coins",), lambda: _coins_of_groups(run))
    found, videos = coins[marks.reader, marks.context, marks.format]
    record = msgspec.structs.replace(record, n=videos)
    if found is None:
        yield noted(record, NOTHING, "no pair of frames was shown")
        return
    value = 0.5 if run.edition.unparsed_t2 == "wrong" else found.mean
    record = msgspec.structs.replace(record, value=value, low=found.low, high=found.high)
    yield with_method(record, Method(kind="coins", boot=TRIALS, seed=_COIN_SEED))


def _coins_of_groups(run: HeartRun) -> dict[tuple[str, str, str], tuple[Chance | None, int]]:
    """The coins of every group.

    The authors' one generator goes on from group to group, in the order of their names; ours
    starts anew, over sorted truths, so that neither names nor order matter.
    """
    published = run.edition.unparsed_t2 == "dropped"
    found: dict[tuple[str, str, str], tuple[Chance | None, int]] = {}
    shown = [marks for marks in run.marks if marks.task == "t2"]
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
    return found


PAIR_SPECS: Final = (
    phase_spec(
        "accuracy", "share of pairs in which the asked frame was named",
        lambda run, marks, phase: Counted(right_of(marks, run), marks.asked, marks.outcomes(phase)),
        tasks=("t2",), estimate=share_right,
    ),
    made_by_phase(
        "accuracy_seed", "the same of one seed alone",
        lambda run, marks, phase, record: by_seed(marks, right_of(marks, run), record),
        better="higher", tasks=("t2",),
    ),
    phase_spec(
        "accuracy_lenient", "the same of the lenient reading, where it reads more",
        lambda run, marks, phase: Counted(right_of(marks, run, marks.lenient[phase]), marks.asked),
        tasks=("t2",), when=read_leniently, estimate=share_right,
    ),
    made_by_phase(
        "chance_accuracy", "accuracy of fair coins", _chance_accuracy, tasks=("t2",)
    ),
    phase_spec(
        "seed_agreement", "share of pairs of seeds that agree on right or wrong", _seeds_agree,
        better=None, tasks=("t2",),
        estimate=averaged("videos", nothing="one seed cannot agree with another"),
    ),
)  # fmt: skip
