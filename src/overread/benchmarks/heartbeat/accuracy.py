"""Which of two frames: passes become one vote, votes become an accuracy (T2)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from overread.benchmarks.heartbeat.errors import aggregate
from overread.benchmarks.heartbeat.marks import Floats, Mask

__all__ = ["Binary", "binary", "decided", "majority", "stops", "truncated_vote"]


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


def truncated_vote(said: Floats) -> Floats:
    """The authors' vote: the mean cut to a whole number, so 1 needs every parsed pass."""
    return aggregate(said, "truncated") + 0.0


def stops(votes: Floats) -> Mask:
    """The seeds at which the authors' code stops: a vote outside {0, 1}, or no vote at all."""
    there = ~np.isnan(votes)
    found: Mask = (there & (votes != 0) & (votes != 1)).any(axis=0) | ~there.any(axis=0)
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


class Binary(NamedTuple):
    """A seed's confusion with position 1 as the positive class; None where undefined."""

    n: int
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    tn: int
    fp: int
    fn: int
    tp: int


def binary(votes: Floats, truth: Floats) -> Binary:
    """The authors' binary metrics over the videos of one seed that have a vote."""
    there = ~np.isnan(votes)
    v, t = votes[there], truth[there]
    tp, fp = int(((v == 1) & (t == 1)).sum()), int(((v == 1) & (t == 0)).sum())
    fn, tn = int(((v == 0) & (t == 1)).sum()), int(((v == 0) & (t == 0)).sum())
    precision = tp / (tp + fp) if tp + fp else None
    recall = tp / (tp + fn) if tp + fn else None
    f1 = None
    if precision is not None and recall is not None and precision + recall > 0:
        f1 = 2 * precision * recall / (precision + recall)
    n = int(there.sum())
    return Binary(n, (tp + tn) / n if n else None, precision, recall, f1, tn, fp, fn, tp)
