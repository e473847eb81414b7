"""Uniform guesses in the windows that were shown, and whom the windows leave out (T1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.heartbeat.chance import (
    TRIALS,
    Chance,
    published_lengths,
    published_uniform,
    uniform_error,
)
from overread.benchmarks.heartbeat.frames import started
from overread.benchmarks.heartbeat.marks import Floats, Marks, Mask
from overread.benchmarks.heartbeat.study import Draft, Metric, Study, proportion
from overread.case import Measure

__all__ = ["GROUPS", "METRICS", "left_out"]

GROUPS: Final = {"ef": (40, 50), "fps": (40, 60)}
"""Where groups of clips part: per cent of EF, frames per second."""


def _chance_mae(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """Printed because the paper has it: even the best constant leaves it far behind."""
    for phase in marks.phases:
        record = started(marks, "chance_mae", phase)
        # The first seed's windows; the same in all seeds but for a run that draws them anew.
        lengths, truths = _first(marks.count), _first(marks.truth[phase])
        there = ~(np.isnan(lengths) | np.isnan(truths)) & (lengths > 0)
        if not there.any():
            yield msgspec.structs.replace(record, note="the number of frames is not known")
            continue
        found = _uniform(study, lengths[there], truths[there])
        yield msgspec.structs.replace(
            record,
            value=found.mean,
            low=found.low,
            high=found.high,
            n=int(there.sum()),
            method=f"uniform guesses: exact mean, Monte Carlo bounds:{TRIALS}:{study.edition.seed}",
        )


def _first(values: Floats) -> Floats:
    """Each video's first known value over the seeds."""
    there = ~np.isnan(values)
    found: Floats = np.take_along_axis(values, there.argmax(axis=1)[:, None], axis=1)[:, 0]
    return found


def _uniform(study: Study, lengths: Floats, truths: Floats) -> Chance:
    key = ("uniform", lengths.tobytes(), truths.tobytes())
    if key not in study.kept:
        study.kept[key] = uniform_error(lengths, truths, seed=study.edition.seed)
    found: Chance = study.kept[key]
    return found


def _chance_shipped(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    """The notebook as it was shipped: absolute truths against guesses in a window."""
    if study.edition.aggregation != "truncated":
        return
    facts = marks.facts
    there = ~np.isnan(marks.count).all(axis=1) & ~np.isnan(facts.ed) & ~np.isnan(facts.es)
    if not there.any():
        return
    key = ("shipped", there.tobytes())
    if key not in study.kept:
        ed, es = facts.ed[there], facts.es[there]
        lengths = published_lengths(ed, es)
        study.kept[key] = published_uniform(lengths, ed, es, seed=study.edition.seed)
    both = dict(zip(("ed", "es"), study.kept[key], strict=True))
    for phase in marks.phases:
        found = both[phase]
        yield Measure(
            reader=marks.reader,
            measure="chance_mae_shipped",
            by=marks.by(phase),
            value=found.mean,
            low=found.low,
            high=found.high,
            n=int(there.sum()),
            method=f"Monte Carlo:{TRIALS}:{study.edition.seed}",
            note="the notebook's absolute truths and its own lengths; not the printed values",
        )


def left_out(study: Study) -> Iterator[Measure]:
    """Of all clips, those that no window of T1 fits, by EF and by frame rate; of no one reader."""
    shown = [marks for marks in study.marks if marks.task == "t1"]
    if not study.placed or not shown:
        return
    facts = study.facts
    out = np.all([np.isnan(marks.count).all(axis=1) for marks in shown], axis=0)
    everyone = np.ones(facts.n, dtype=np.bool_)
    groups = [({}, everyone), *_groups("ef", facts.ef), *_groups("fps", facts.fps)]
    for by, some in groups:
        record = Measure(reader="", measure="left_out", by={"task": "t1", **by})
        yield proportion(record, out, some, facts)


def _groups(name: str, values: Floats) -> Iterator[tuple[dict[str, str], Mask]]:
    """Clips below, between and above two values; none where nothing is known of any."""
    low, high = GROUPS[name]
    words = (f"below {low}", f"{low} to {high}", f"{high} or more", "unknown")
    parts = (values < low, (values >= low) & (values < high), values >= high, np.isnan(values))
    if not parts[-1].all():
        yield from (({name: word}, some) for word, some in zip(words, parts, strict=True)
                    if some.any())  # fmt: skip


METRICS: Final = tuple(
    Metric(name=name, says=says, tasks=("t1",), make=make)
    for name, says, make in (
        ("chance_mae", "error of uniform guesses in the window", _chance_mae),
        ("chance_mae_shipped", "the same as the notebook was shipped", _chance_shipped),
    )
)
