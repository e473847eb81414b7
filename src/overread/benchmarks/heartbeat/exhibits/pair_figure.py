"""Figure 5 of the paper: which of two frames."""

from __future__ import annotations

from functools import partial
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import BLUE, FAINT, INK, VERMILLION, Spec
from overread.benchmarks.heartbeat.exhibits.lanes import Look, Panel, axis_of, lane_row, lanes
from overread.benchmarks.heartbeat.exhibits.settings import (
    NAMES,
    PHASES,
    asked,
    contexts_of,
    readers_of,
    reference,
    short_names,
)
from overread.benchmarks.heartbeat.marks import phases_of
from overread.case import Figure, Measure

__all__ = ["accuracy_figure"]

_LOOKS: Final = {
    "original": Look(INK, "circle"),
    "segmented": Look(VERMILLION, "square"),
    "non-medical": Look(BLUE, "diamond"),
}
_BAND: Final = ("95 % of sets of coins, one per video, fall in the grey band.",)


def accuracy_figure(index: Index, signature: str) -> Figure | None:
    """Accuracy by context, with the coin's line and the range of sets of coins."""
    names = short_names(readers_of(index))
    rows = []
    for context in contexts_of(index, "t2"):
        for reader, wanted in asked(index, "t2", context):
            (phase,) = phases_of(wanted)
            by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
            record = index.known(reader, "accuracy", **by)
            if record is not None:
                where = (names[reader], PHASES[phase], NAMES[context])
                rows.append(lane_row(*where, record, 1.0, reader=reader))
    if not rows:
        return None
    rows.sort(key=lambda row: readers_of(index).index(row["reader"]))
    x = axis_of("accuracy", 1.0)
    kinds = [kind for kind in _LOOKS if any(row["kind"] == kind for row in rows)]
    panels = [
        Panel(words, partial(_coins, index, phase))
        for phase, words in PHASES.items()
        if any(row["panel"] == words for row in rows)
    ]
    banded = any(_band(index, phase) for phase in PHASES)
    spoken = "; ".join(
        f"{row['reader']} {row['kind']} {row['panel']} {row['value']:.3f}" for row in rows
    )
    return Figure(
        name="accuracy_two_frames",
        title="Which of two frames?",
        spec=lanes(rows, panels, {kind: _LOOKS[kind] for kind in kinds}, x),
        alt=f"Accuracy in telling two frames apart: {spoken}. A coin has 0.5.",
        signature=signature,
        notes=("Bars: 95 % intervals by patient. The dashed line is a coin.", *_BAND[:banded]),
    )


def _coins(index: Index, phase: str, x: Spec) -> list[Spec]:
    line: Spec = {
        "data": {"values": [{"value": 0.5}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1.5},
        "encoding": {"x": {"field": "value", **x}},
    }
    record = _band(index, phase)
    if record is None:
        return [line]
    band = {
        "data": {"values": [{"low": record.low, "high": record.high}]},
        "mark": {"type": "rect", "color": FAINT, "opacity": 0.18},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
    }
    return [band, line]


def _band(index: Index, phase: str) -> Measure | None:
    """The bounds of coins over the most videos anybody was shown."""
    found = [
        record
        for context in contexts_of(index, "t2")
        if (record := reference(index, "chance_accuracy", "t2", context, phase))
        and record.low is not None
    ]
    return max(found, key=lambda record: record.n or 0, default=None)
