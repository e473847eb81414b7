"""Box plots over seeds, as the paper's repository draws them: how far one asking strays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import FAINT, Spec, figure_spec, label_room
from overread.benchmarks.heartbeat.exhibits.numbers import number
from overread.benchmarks.heartbeat.exhibits.settings import (
    NAMES,
    PHASES,
    asked,
    contexts_of,
    readers_of,
    reference,
    short_names,
)
from overread.case import Figure

__all__ = ["seed_boxes"]

_PANEL: Final = 200
_STEP: Final = 22
_FARTHEST: Final = 8  # times the best constant's error is drawn, where anything lies beyond


class _Boxes(NamedTuple):
    """One figure: of which task and measure, and what is to be beaten."""

    task: str
    measure: str
    title: str
    axis: str
    line: str


_FIGURES: Final = (
    _Boxes("t1", "mae_seed", "How far do seeds lie apart in finding the frames?",
           "MAE of a seed, frames", "constant_mae"),
    _Boxes("t2", "accuracy_seed", "How far do seeds lie apart in telling two frames apart?",
           "accuracy of a seed", "chance_accuracy"),
)  # fmt: skip


def seed_boxes(index: Index, signature: str) -> Iterator[Figure | None]:
    """A box for each reader, phase and format of the first context asked, and a dot for each seed.

    Only where some reader has several seeds.
    """
    records = {boxes.measure: index.every(boxes.measure) for boxes in _FIGURES}
    for boxes in _FIGURES:
        contexts = contexts_of(index, boxes.task)
        if not contexts:
            continue
        context = contexts[0]
        names = short_names(readers_of(index))
        order = asked(index, boxes.task, context)
        found = [
            {
                "shown": f"{names[record.reader]} {record.by['format']}",
                "panel": PHASES["ed" if record.by["phase"] == "ed" else "es"],
                "seed": record.by["seed"],
                "value": record.value,
                "n": record.n,
                "reader": record.reader,
            }
            for record in records[boxes.measure]
            if record.by["context"] == context
        ]
        lanes = [
            f"{names[reader]} {wanted}"
            for reader, wanted in order
            if any(row["shown"] == f"{names[reader]} {wanted}" for row in found)
        ]
        if lanes:
            yield _figure(index, boxes, context, found, lanes, signature)


def _figure(
    index: Index, boxes: _Boxes, context: str, rows: list[Spec], lanes: list[str], signature: str
) -> Figure:
    panels = [words for words in PHASES.values() if any(row["panel"] == words for row in rows)]
    lines = {
        words: record.value or 0.0
        for phase, words in PHASES.items()
        if (record := reference(index, boxes.line, boxes.task, context, phase))
    }
    spoken = "; ".join(
        f"{lane}, {panel}: {number(min(values))} to {number(max(values))}"
        for lane in lanes
        for panel in panels
        if (values := [r["value"] for r in rows if (r["shown"], r["panel"]) == (lane, panel)])
    )
    # One absurd answer must not make a point of all the others.
    most = None if boxes.task == "t2" or not lines else _FARTHEST * max(lines.values())
    beyond = [row for row in rows if most is not None and row["value"] > most]
    gone = f" {len(beyond)} seeds lie beyond the axis." if beyond else ""
    beaten = "the best constant" if boxes.task == "t1" else "a coin"
    return Figure(
        name=f"seeds_{boxes.task}",
        title=boxes.title,
        spec=figure_spec(
            rows,
            hconcat=[
                _panel(
                    boxes, panel, lanes, lines.get(panel), most if beyond else None, named=not place
                )
                for place, panel in enumerate(panels)
            ],
            spacing=24,
        ),
        alt=f"Values of the seeds, from the least to the greatest: {spoken}.",
        signature=signature,
        notes=(
            f"Context {NAMES[context]}. A dot is a seed; boxes hold the middle half of them, the "
            f"line in a box is their median, whiskers reach to the ends. The dashed line is "
            f"{beaten}. Seeds are not videos: how far they lie apart is no interval.{gone}",
        ),
    )


def _panel(
    boxes: _Boxes,
    panel: str,
    lanes: list[str],
    line: float | None,
    most: float | None,
    *,
    named: bool,
) -> Spec:
    here = {"filter": f"datum.panel === '{panel}'"}
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": named}
    if named:
        axis |= {"labelPadding": 8, "minExtent": label_room(lanes)}
    y = {"field": "shown", "type": "nominal", "sort": None, "scale": {"domain": lanes},
         "axis": axis}  # fmt: skip
    scale: Spec = {"zero": False} if most is None else {"domain": [0, most], "nice": False}
    x: Spec = {"type": "quantitative", "scale": scale, "axis": {"title": boxes.axis}}
    places = {"x": {"field": "value", **x}, "y": y}
    below: list[Spec] = []
    if line is not None:
        below.append(
            {
                "data": {"values": [{"value": line}]},
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1.5},
                "encoding": {"x": {"field": "value", **x}},
            }
        )
    return {
        "title": {"text": panel, "frame": "group"},
        "width": _PANEL,
        "height": {"step": _STEP},
        "layer": [
            *below,
            {
                "transform": [here],
                "mark": {
                    "type": "boxplot",
                    "extent": "min-max",
                    "size": 11,
                    "color": FAINT,
                    "clip": True,
                },
                "encoding": places,
            },
            {
                "transform": [here],
                "mark": {"type": "point", "filled": True, "size": 16, "opacity": 0.8, "clip": True},
                "encoding": places,
            },
        ],
    }
