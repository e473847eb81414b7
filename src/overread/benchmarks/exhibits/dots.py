"""Lanes of points with their intervals, one point per reader in every lane, panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.looks import Cast, told
from overread.benchmarks.exhibits.style import (
    FAINT,
    PAPER,
    Spec,
    figure_spec,
    label_room,
    number_axis,
)

__all__ = ["Panel", "dots"]

_PANEL: Final = 210
_STEP: Final = 12


class Panel(NamedTuple):
    """One of the panels: its name, its axis, and a value that a dashed line stands for."""

    name: str
    axis: str = "percent"
    low: float = 0
    high: float = 100
    line: float | None = None


def dots(
    rows: Sequence[Spec],
    lanes: Sequence[str],
    panels: Sequence[Panel],
    cast: Cast,
    *,
    across: int = 4,
) -> Spec:
    """The whole figure: `lane` and `panel` of a row say where its point stands.

    At most `across` panels stand beside each other.
    """
    alone = len(panels) == 1
    drawn = [
        _panel(panel, lanes, cast, first=number % across == 0, alone=alone)
        for number, panel in enumerate(panels)
    ]
    if len(drawn) <= across:
        return figure_spec(rows, hconcat=drawn, spacing=20)
    beside = [
        {"hconcat": drawn[at : at + across], "spacing": 20} for at in range(0, len(drawn), across)
    ]
    return figure_spec(rows, vconcat=beside, spacing=20)


def _panel(panel: Panel, lanes: Sequence[str], cast: Cast, *, first: bool, alone: bool) -> Spec:
    colour, shape = told(cast)
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": first, "grid": False}
    if first:
        axis |= {"labelPadding": 8, "minExtent": label_room(lanes)}
    y = {
        "field": "lane",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(lanes), "paddingInner": 0.25, "paddingOuter": 0.2},
        "axis": axis,
    }
    names = list(cast.names.values())
    offset = {"field": "shown", "type": "nominal", "scale": {"domain": names}}
    place = {"y": y, "yOffset": offset}
    here = f"datum.panel === '{panel.name}'"
    x = number_axis("value", panel.axis, panel.low, panel.high)

    def layer(mark: Spec, test: str, **more: Spec) -> Spec:
        return {
            "transform": [{"filter": f"{here} && {test}"}],
            "mark": mark,
            "encoding": {**place, "x": x, "color": colour, **more},
        }

    point: Spec = {"type": "point", "size": 55, "opacity": 1, "strokeWidth": 1.5}
    bar = layer({"type": "rule", "strokeWidth": 1.5}, "isValid(datum.low)", x2={"field": "high"})
    bar["encoding"]["x"] = {**x, "field": "low"}
    return {
        **({} if alone else {"title": {"text": panel.name, "frame": "group"}}),
        "width": 2 * _PANEL if alone else _PANEL,
        "height": {"step": _STEP},
        "layer": [
            *_line(panel),
            bar,
            layer({**point, "filled": True}, "!datum.unfit", shape=shape),
            layer({**point, "filled": False, "fill": PAPER}, "datum.unfit", shape=shape),
        ],
    }


def _line(panel: Panel) -> list[Spec]:
    if panel.line is None:
        return []
    mark = {"type": "rule", "color": FAINT, "strokeDash": [4, 3]}
    return [
        {
            "data": {"values": [{"value": panel.line}]},
            "mark": mark,
            "encoding": {"x": {"field": "value", "type": "quantitative"}},
        }
    ]
