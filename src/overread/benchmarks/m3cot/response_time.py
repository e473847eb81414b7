"""Seconds of a reply by mode, as the paper's Table A2 has them (M3COT 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.marks import Marks
from overread.benchmarks.m3cot.speed import NOT_TIMED, seconds_of
from overread.benchmarks.m3cot.study import (
    Draft,
    Metric,
    Study,
    columns_of,
    counted_in,
    drafted,
    panel,
)
from overread.case import Measure

__all__ = ["METRICS"]


def _seconds(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    searched = study.edition.error_text == "searched"
    for mode in MODES:
        started = Measure(reader=marks.reader, measure="seconds", by={"mode": mode})
        said = marks.timed.get(mode, {})
        found = seconds_of(said, marks.facts.n, searched=searched)[:, None]
        if np.isnan(found).all():
            yield msgspec.structs.replace(started, n=0, note=NOT_TIMED)
            continue
        record = msgspec.structs.replace(started, note="not comparable across backends")
        yield drafted(
            record,
            columns_of(found),
            panel,
            counted_in(found),
            limits=(0.0, np.inf),
            unit=None,
        )


METRICS: Final = (
    Metric(
        name="seconds",
        says="mean seconds of a reply that was asked alone, by mode",
        make=_seconds,
    ),
)
