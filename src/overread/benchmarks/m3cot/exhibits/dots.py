"""Lanes of points with their intervals, one point per reader in every lane, panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from overread.benchmarks.exhibits.style import PAPER, Spec, figure_spec, label_room, number_axis
from overread.benchmarks.m3cot.exhibits.looks import Cast, told

__all__ = ["dots"]

_PANEL: Final = 210
_STEP: Final = 12


def dots(rows: Sequence[Spec], lanes: Sequence[str], panels: Sequence[str], cast: Cast) -> Spec:
    """The whole figure: `lane` and `panel` of a row say where its point stands."""
    alone = len(panels) == 1
    columns = [
        _panel(panel, lanes, cast, first=number == 0, alone=alone)
        for number, panel in enumerate(panels)
    ]
    return figure_spec(rows, hconcat=columns, spacing=20)


def _panel(panel: str, lanes: Sequence[str], cast: Cast, *, first: bool, alone: bool) -> Spec:
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
    here = f"datum.panel === '{panel}'"
    x = number_axis("value", "percent", 0, 100)

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
        **({} if alone else {"title": {"text": panel, "frame": "group"}}),
        "width": 2 * _PANEL if alone else _PANEL,
        "height": {"step": _STEP},
        "layer": [
            bar,
            layer({**point, "filled": True}, "!datum.unfit", shape=shape),
            layer({**point, "filled": False, "fill": PAPER}, "datum.unfit", shape=shape),
        ],
    }
