"""What can be had without looking: uniform guesses, coins, the middle, the window's length.

Uniform guesses and coins are measured beside each reader, in the windows that were shown; so is
whom the windows leave out. Guessers that name a frame stand beside the readers as rows of their
own, `baseline:NAME`. They answer the windows that were shown, whoever read them: the first frame,
the middle, what the window's length gives away, and between which frames the masks' area, or the
volume, falls most (or, held to the annotated beat alone, where it is largest and smallest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.benchmarks.heartbeat.authors.rules import length_guess
from overread.benchmarks.heartbeat.ejection import frame_table
from overread.benchmarks.heartbeat.frame_measures import constant_errors, skill_of
from overread.benchmarks.heartbeat.marks import Average, Marks, Phase, others_median
from overread.benchmarks.heartbeat.study import (
    HeartRun,
    Made,
    made_by_phase,
    made_spec,
    mean_estimate,
)
from overread.benchmarks.heartbeat.volumes import ejected
from overread.case import Measure, Method
from overread.measuring.estimates import Estimate, Floats
from overread.measuring.notes import NOTHING, noted, with_method
from overread.measuring.units import FRAMES

# ---------------------------------------------------------------- the chances themselves

TRIALS: Final = 10_000
# Guesses drawn at a time: a few tens of megabytes, however many videos.
_CHUNK: Final = 1 << 21


class Chance(NamedTuple):
    """A guesser's mean, and the 2.5th and 97.5th percentiles over runs of the whole set."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Floats, mean: float | None = None) -> Chance:
        """Of the means of all trials; `mean` where it is known exactly."""
        low, high = np.percentile(found, [2.5, 97.5])
        return cls(float(found.mean()) if mean is None else mean, float(low), float(high))

    def measured(self, record: Measure, n: int) -> Measure:
        """The record of it, over n videos."""
        return msgspec.structs.replace(record, value=self.mean, low=self.low, high=self.high, n=n)


def drawn_means(trials: int, size: int, draw: Callable[[int], Floats]) -> Floats:
    """The means of trials of `size` guesses each; `draw` makes some of them at a time."""
    step = max(1, _CHUNK // size)
    return np.concatenate([draw(min(step, trials - at)) for at in range(0, trials, step)])


def expected_error(lengths: ArrayLike, truths: ArrayLike) -> Floats:
    """Mean |k - g| of a guess uniform on {0 .. N-1}: Σ_k |k - g| / N, for any whole g.

    Closed form, also for a truth outside the window: g(g+1)/2 below and (N-1-g)(N-g)/2 above.
    """
    n: Floats = np.asarray(lengths, dtype=float)
    g: Floats = np.asarray(truths, dtype=float)
    inside = (g * (g + 1) + (n - 1 - g) * (n - g)) / (2 * n)
    outside = np.abs(g - (n - 1) / 2)
    return np.asarray(np.where((g >= 0) & (g <= n - 1), inside, outside))


def uniform_error(
    lengths: ArrayLike, truths: ArrayLike, trials: int = TRIALS, seed: int = 0
) -> Chance:
    """The MAE of uniform guesses over these videos: exact mean, percentiles by Monte Carlo.

    Videos are taken in the order of (length, truth), so theirs does not matter.
    """
    n: NDArray[Any] = np.asarray(lengths, dtype=np.int64)
    g: NDArray[Any] = np.asarray(truths, dtype=np.int64)
    order = np.lexsort((g, n))
    rng = np.random.default_rng(seed)

    def draw(rows: int) -> Floats:
        guesses = rng.integers(0, n[order], size=(rows, n.size))
        return np.asarray(np.abs(guesses - g[order]).mean(axis=1))

    return Chance.of(drawn_means(trials, n.size, draw), float(expected_error(n, g).mean()))


def coin_accuracy(truth: ArrayLike, rng: np.random.Generator, trials: int = TRIALS) -> Chance:
    """The accuracy of fair coins over these videos; the generator goes on from group to group."""
    y: NDArray[Any] = np.asarray(truth, dtype=np.int64)

    def draw(rows: int) -> Floats:
        return np.asarray((rng.integers(0, 2, size=(rows, y.size)) == y).mean(axis=1))

    return Chance.of(drawn_means(trials, y.size, draw))


# -------------------- uniform guesses in the windows that were shown, and whom these leave out (T1)


def _chance_mae(run: HeartRun, marks: Marks, phase: Phase, record: Measure) -> Made:
    """Printed because the paper has it: even the best constant leaves it far behind."""
    seed = run.edition.seed
    # The first seed's windows; the same in all seeds but for a run that draws them anew.
    lengths, truths = (
        np.take_along_axis(each, (~np.isnan(each)).argmax(axis=1)[:, None], axis=1)[:, 0]
        for each in (marks.count, marks.truth[phase])
    )
    there = ~(np.isnan(lengths) | np.isnan(truths)) & (lengths > 0)
    if not there.any():
        yield noted(record, NOTHING, "the number of frames is not known")
        return
    lengths, truths = lengths[there], truths[there]
    key = ("uniform", lengths.tobytes(), truths.tobytes())
    found = run.once(key, partial(uniform_error, lengths, truths, seed=seed))
    how = Method(kind="uniform guesses: exact mean, Monte Carlo bounds", boot=TRIALS, seed=seed)
    yield with_method(found.measured(record, int(there.sum())), how)


def left_out(run: HeartRun) -> Iterator[Measure]:
    """Of all clips, those that no window of T1 fits, by EF and by frame rate; of no one reader."""
    shown = [marks for marks in run.marks if marks.task == "t1"]
    if not run.placed or not shown:
        return
    out = np.all([np.isnan(marks.count).all(axis=1) for marks in shown], axis=0)
    for group in run.groups(*run.columns):
        record = Measure(reader="", measure="left_out", by={"task": "t1", **group.by})
        yield run.share(record, out, group.members)


GUESSER_SPECS: Final = (
    made_by_phase("chance_mae", "error of uniform guesses in the window", _chance_mae, FRAMES),
)
LEFT_OUT: Final = made_spec("left_out", "share of clips that no window fits")


# ---------------------------------------------------------------- rows of their own

BASELINES: Final = ("first", "middle", "length", "area", "volume")
_BOTH_PHASES: Final[tuple[Phase, ...]] = ("ed", "es")


def baselines(run: HeartRun) -> Iterator[Estimate]:
    """`mae` and `skill` of every guesser, by task and phase, over the run's windows."""
    # The fullest setting: windows are the same in all contexts and formats.
    found = [marks for marks in run.marks if marks.task == "t1"]
    shown = max(found, key=lambda m: int((~np.isnan(m.count)).sum()), default=None)
    if shown is None:
        return
    for name in BASELINES:
        guesses = _guesses_of(name, shown, run)
        if guesses is None:
            continue
        for phase in _BOTH_PHASES:
            bare = Measure(
                reader=f"baseline:{name}", measure="mae", by={"task": "t1", "phase": phase}
            )
            held = shown.held(guesses[phase], phase, run.edition.beat)
            error = Average(np.abs(held - shown.truth[phase]), run.over)
            if error.point is None:
                continue
            yield mean_estimate(bare, error, FRAMES.limits)
            constant = Average(constant_errors(shown, run, phase), run.over)
            bare = msgspec.structs.replace(bare, measure="skill")
            places = shown.places(phase, run.edition.beat)
            yield skill_of(bare, error, constant, places, run.edition.observers)


def _guesses_of(name: str, shown: Marks, run: HeartRun) -> dict[Phase, Floats] | None:
    if name == "first":
        return dict.fromkeys(_BOTH_PHASES, np.where(np.isnan(shown.count), np.nan, 0.0))
    if name == "middle":
        return dict.fromkeys(_BOTH_PHASES, np.floor(shown.count / 2))
    if name == "length":
        return _length_guesses(shown, run)
    if not (run.areas if name == "area" else run.volumes):
        return None
    curves = _curves_shown(shown, *frame_table(run, "areas" if name == "area" else "volumes"))
    if run.edition.beat == "nearest":
        return _ejection_frames(curves)
    # Where the window has its largest and its smallest value.
    none = np.isnan(curves)
    ends = np.where(none, -np.inf, curves).argmax(axis=2), np.where(none, np.inf, curves).argmin(2)
    ed, es = (np.where(none.all(axis=2), np.nan, end) for end in ends)
    return {"ed": ed, "es": es}


def _length_guesses(shown: Marks, run: HeartRun) -> dict[Phase, Floats]:
    """What N says: both targets in the authors' window; no more than a constant if N never varies.

    Which windows were shown the data say, not the edition: imported ones are the authors' own.
    """
    if np.unique(shown.count[~np.isnan(shown.count)]).size < 2:
        patients = shown.facts.patients
        return {phase: others_median(shown.truth[phase], patients) for phase in _BOTH_PHASES}
    both = {n: length_guess(int(n)) for n in np.unique(shown.count[~np.isnan(shown.count)])}
    early, late = (
        np.array([[both[n][which] if n in both else np.nan for n in row] for row in shown.count])
        for which in (0, 1)
    )
    # Which phase comes first N does not say: what most videos have.
    ed_first = np.nanmean(np.where(np.isnan(shown.truth["ed"]), np.nan,
                                   shown.truth["ed"] < shown.truth["es"])) >= 0.5  # fmt: skip
    return {"ed": early, "es": late} if ed_first else {"ed": late, "es": early}


def _curves_shown(shown: Marks, table: Floats, lengths: NDArray[np.int64]) -> Floats:
    """The values of the frames shown (videos, seeds, frames), NaN where none is known."""
    known = ~np.isnan(shown.start) & ~np.isnan(shown.count)
    begin = np.where(known, shown.start, 0).astype(np.int64)[:, :, None]
    frames = np.where(known, shown.count, 0).astype(np.int64)[:, :, None]
    local = np.arange(int(frames.max(initial=1)))
    place = begin + local
    held = (local < frames) & (place >= 0) & (place < lengths[:, None, None])
    video = np.arange(table.shape[0])[:, None, None]
    return np.where(held, table[video, np.where(held, place, 0)], np.nan)


def _ejection_frames(curves: Floats) -> dict[Phase, Floats]:
    """Where the window's values begin and end to fall most.

    Of the masks' area, this is about the most that an overlay can give.
    """
    found = np.full((*curves.shape[:2], 2), np.nan)
    seen: dict[bytes, tuple[int, int]] = {}  # all seeds of a video show one window
    for at in np.argwhere(~np.isnan(curves).all(axis=2)):
        curve = curves[tuple(at)]
        key = curve.tobytes()
        if key not in seen:
            seen[key] = ejected(curve)
        found[tuple(at)] = seen[key]
    return {"ed": found[:, :, 0], "es": found[:, :, 1]}
