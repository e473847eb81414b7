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
from overread.benchmarks.heartbeat.exhibits.stated import seeds_of
from overread.benchmarks.heartbeat.marks import phases_of
from overread.case import Figure, Measure

__all__ = ["accuracy_figure"]

_LOOKS: Final = {
    "original": Look(INK, "circle"),
    "segmented": Look(VERMILLION, "square"),
    "non-medical": Look(BLUE, "diamond"),
}
_SEEDS: Final = (
    "The marks are means over seeds. Where all seeds say the same, such a mean strays as far as "
    "one set of coins does; the less they agree, the less it strays, and the band is too wide "
    "rather than too narrow."
)
_TIES: Final = (
    "With an even number of passes their votes tie, which counts as wrong: a coin thrown in every "
    "pass lies left of the line."
)


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
    spoken = "; ".join(
        f"{row['reader']} {row['kind']} {row['panel']} {row['value']:.3f}" for row in rows
    )
    return Figure(
        name="accuracy_two_frames",
        title="Which of two frames?",
        spec=lanes(rows, panels, {kind: _LOOKS[kind] for kind in kinds}, x),
        alt=f"Accuracy in telling two frames apart: {spoken}. A coin has 0.5.",
        signature=signature,
        notes=(
            "Bars: 95 % intervals by patient. The dashed line is a coin, thrown once per video.",
            *_band_notes(index, signature),
        ),
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


def _band_notes(index: Index, signature: str) -> tuple[str, ...]:
    """What the band is of: one seed. How seeds hang together is the reader's, not the coin's."""
    bands = [band for phase in PHASES if (band := _band(index, phase))]
    if not bands:
        return ()
    sizes = " or ".join(f"{n:,}" for n in dict.fromkeys(band.n for band in bands if band.n))
    said = f"Grey band: 95 % of sets of {sizes} coins, one per video, as one seed has them."
    asked = seeds_of(signature)
    told = [said] if asked is not None and asked[0] == 1 else [said, _SEEDS]
    if asked is not None and asked[1] % 2 == 0 and "|edition:corrected" in signature:
        told.append(_TIES)
    return (" ".join(told),)
