"""A run of two readers in every context, format and task: its tables, measures and exhibits."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import pytest

from overread.benchmarks.heartbeat.edition import AUTHORS, CONTEXTS, CORRECTED, FORMATS
from overread.benchmarks.heartbeat.exhibits import exhibits
from overread.benchmarks.heartbeat.marks import phases_of
from overread.benchmarks.heartbeat.measures import measure
from overread.case import Measure
from support.heart_answers import rows, tables_of, with_volumes

VIDEOS, SEEDS = 6, 2


def asked_run(readers=("looks", "guesses"), contexts=CONTEXTS, formats=FORMATS, tasks=("t1", "t2")):
    """`looks` is near the truth, `guesses` is not, `steady` always says 12."""
    rng = np.random.default_rng(3)
    truth = [(int(a), int(a) + 9) for a in rng.integers(1, 12, VIDEOS)]
    some = []
    for reader in readers:
        wide = 2 if reader == "looks" else 20
        for context in contexts:
            for wanted in formats if "t1" in tasks else ():
                off = rng.integers(-wide, wide + 1, (VIDEOS, SEEDS, 2, 2))
                said = [
                    [
                        [_said(reader, truth[v], off[v, s, p], wanted) for p in range(2)]
                        for s in range(SEEDS)
                    ]
                    for v in range(VIDEOS)
                ]
                kind = {"wanted": wanted, "context": context, "reader": reader, "count": 24}
                some += rows(said, [[t] * SEEDS for t in truth], **kind)
            for wanted in ("edv", "esv") if "t2" in tasks else ():
                bits = rng.integers(0, 2, (VIDEOS, SEEDS)).tolist()
                said = [[[b] if reader == "looks" else [0] for b in line] for line in bits]
                kind = {"wanted": wanted, "context": context, "reader": reader, "task": "t2"}
                some += rows(said, bits, **kind)
    ed, es = zip(*truth, strict=True)
    made = tables_of(some, ed=list(ed), es=list(es), ef=[60.0] * VIDEOS)
    return msgspec.structs.replace(made, asked_under="corrected")


def _said(reader, true, off, wanted):
    both = tuple(int(t + o) for t, o in zip(true, off, strict=True))
    both = (12, 12) if reader == "steady" else both
    return both if len(phases_of(wanted)) == 2 else both[wanted == "esv"]


def measured_run(edition="corrected", **asked):
    rules = msgspec.structs.replace(AUTHORS if edition == "authors" else CORRECTED, boot=200)
    volumes = {f"v{n:03d}": 50 + 20 * np.cos(np.arange(40) / 3 + n) for n in range(VIDEOS)}
    return measure(with_volumes(asked_run(**asked), volumes), rules)


SPECIALIST = Measure(
    reader="specialist:EchoCLIP",
    measure="ef_mae",
    by={"task": "t1"},
    value=8.54,
    n=6,
    low=5.0,
    high=12.0,
    sd_videos=10.07,
)


@pytest.fixture(scope="session")
def asked():
    return asked_run


@pytest.fixture(scope="session")
def measured():
    return cache(measured_run)


@pytest.fixture(scope="session")
def exhibited(measured):
    """The exhibits of a run by name, with a specialist beside the readers."""

    @cache
    def show(edition="corrected", **asked):
        found = [*measured(edition, **asked), SPECIALIST]
        return {one.name: one for one in exhibits(found, "heartbeat|test")}

    return show
