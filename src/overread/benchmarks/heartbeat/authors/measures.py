"""Measures of the authors' notebooks that nothing sound is made of, and how they vote."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.benchmarks.heartbeat.guessers import TRIALS, Chance, drawn_means
from overread.benchmarks.heartbeat.marks import Marks, Phase, aggregate, spread_of
from overread.benchmarks.heartbeat.study import HeartRun, Made, made_by_phase
from overread.case import Measure, Method
from overread.measuring.estimates import Floats, Mask
from overread.measuring.notes import remarked, with_method
from overread.measuring.units import FRAMES

# ---------------------------------------------------------------- votes of T2


def truncated_vote(said: Floats) -> Floats:
    """The authors' vote: the mean cut to a whole number, so 1 needs every parsed pass."""
    return aggregate(said, "truncated") + 0.0


def stops(votes: Floats) -> Mask:
    """The seeds at which the authors' code stops: a vote outside {0, 1}, or no vote at all."""
    there = ~np.isnan(votes)
    return np.asarray((there & (votes != 0) & (votes != 1)).any(axis=0) | ~there.any(axis=0))


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


def right_votes(said: Floats, truth: Floats, *, stopping: bool = True) -> Floats:
    """1 right, 0 wrong, NaN without a vote: such videos are dropped.

    With `stopping` so are the seeds at which the code stops.
    """
    votes = truncated_vote(said)
    right = np.where(np.isnan(votes), np.nan, (votes == truth).astype(float))
    if stopping:
        right[:, stops(votes)] = np.nan
    return right


def _confusion(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    """The authors' precision, recall or F1 with position 1 as the positive class."""
    if run.edition.unparsed_t2 != "dropped":
        return
    votes, truth = truncated_vote(marks.said[phase]), marks.truth[phase]
    rows = [binary(votes[:, seed], truth[:, seed]) for seed in np.flatnonzero(~stops(votes))]
    held = np.array([getattr(row, record.measure) for row in rows], dtype=float)
    there = held[~np.isnan(held)]
    record = msgspec.structs.replace(
        record,
        value=float(there.mean()) if there.size else None,
        n=int(there.size),
        sd_seeds=spread_of(held),
    )
    yield remarked(record, "mean over the seeds that have it; position 1 is the positive class")


# ---------------------------------------------------------------- guesses in a window


def published_uniform(
    lengths: ArrayLike, ed: ArrayLike, es: ArrayLike, trials: int = TRIALS, seed: int = 0
) -> tuple[Chance, Chance]:
    """The authors' Monte Carlo, draw for draw: per trial and video an ED guess, then an ES guess.

    Legacy generator; their notebook does not seed it. Mean and percentiles are those of the trials.
    """
    n: NDArray[Any] = np.asarray(lengths, dtype=np.int64)
    truths: NDArray[Any] = np.stack([np.asarray(ed, np.int64), np.asarray(es, np.int64)], axis=1)
    state = np.random.RandomState(seed)
    bounds = np.repeat(n, 2)

    def draw(rows: int) -> Floats:
        guesses = state.randint(0, np.broadcast_to(bounds, (rows, bounds.size)))
        return np.asarray(np.abs(guesses.reshape(rows, -1, 2) - truths).mean(axis=1))

    found = drawn_means(trials, bounds.size, draw)
    of_ed, of_es = found.mean(axis=0).tolist()
    return Chance.of(found[:, 0], of_ed), Chance.of(found[:, 1], of_es)


def published_lengths(ed: ArrayLike, es: ArrayLike) -> NDArray[np.int64]:
    """The notebook's own window length, (l + 1) * 7 // 3, which no window has (HEARTBEAT 8)."""
    between: NDArray[Any] = np.abs(np.asarray(ed, np.int64) - np.asarray(es, np.int64))
    return np.asarray((between + 1) * 7 // 3)


def _chance_shipped(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    """The notebook as it was shipped: absolute truths against guesses in a window."""
    facts, seed = marks.facts, run.edition.seed
    there = ~np.isnan(marks.count).all(axis=1) & ~np.isnan(facts.ed) & ~np.isnan(facts.es)
    if run.edition.aggregation != "truncated" or not there.any():
        return
    ed, es = facts.ed[there], facts.es[there]
    drawn = partial(published_uniform, published_lengths(ed, es), ed, es, seed=seed)
    found = run.once(("shipped", there.tobytes()), drawn)[phase == "es"]
    words = "the notebook's absolute truths and its own lengths; not the printed values"
    record = remarked(found.measured(record, int(there.sum())), words)
    yield with_method(record, Method(kind="Monte Carlo", boot=TRIALS, seed=seed))


AUTHORS_SPECS: Final = (
    made_by_phase(
        "chance_mae_shipped", "error of uniform guesses as the notebook was shipped",
        _chance_shipped, FRAMES,
    ),
    *(
        made_by_phase(name, f"{name} of position 1, authors' edition", _confusion, tasks=("t2",))
        for name in ("precision", "recall", "f1")
    ),
)  # fmt: skip
