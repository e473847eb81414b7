"""A lane per reader, panels side by side: points with their intervals, guessers in grey below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from overread.benchmarks.exhibits.style import FAINT, Spec, figure_spec, label_room
from overread.case import Measure

__all__ = ["Look", "Panel", "axis_of", "lane_row", "lanes"]

_PANEL: Final = 200
_STEP: Final = 13
_SPACE: Final = 24
_BESIDE: Final = 62  # room for a number printed beside a panel


class Look(NamedTuple):
    """How one of the things told apart is drawn: colour and shape both say which."""

    colour: str
    shape: str


class Panel(NamedTuple):
    """A part of the rows with its title, and what is drawn below the points on an axis."""

    title: str
    below: Callable[[Spec], Sequence[Spec]]


def lane_row(name: str, panel: str, kind: str, record: Measure, top: float, **more: Any) -> Spec:
    """One point; what lies beyond the axis is drawn at its end and printed beside it.

    An interval that goes on beyond the axis is `cut`.

    `kind` is what is told apart, empty for a guesser.
    """
    value, low, high = record.value, record.low, record.high
    assert value is not None
    return {
        "shown": name,
        "panel": panel,
        "kind": kind,
        "value": value,
        "low": low,
        "high": high,
        "n": record.n,
        "drawn": min(value, top),
        "drawn_low": None if low is None else min(low, top),
        "drawn_high": None if high is None else min(high, top),
        "beyond": value > top,
        "cut": value <= top and high is not None and high > top,
        **more,
    }


def axis_of(title: str, top: float) -> Spec:
    """A linear axis from 0."""
    return {
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": {"title": title, "tickCount": 5, "labelFlush": False},
    }


def lanes(rows: list[Spec], panels: Sequence[Panel], looks: Mapping[str, Look], x: Spec) -> Spec:
    """The whole figure; the lanes are in the order of the rows, named beside the first panel."""
    readers, guessers = (
        list(dict.fromkeys(row["shown"] for row in rows if bool(row["kind"]) is told))
        for told in (True, False)
    )
    room = label_room([*readers, *guessers])
    beyond = any(row["beyond"] for row in rows)
    columns = []
    for number, panel in enumerate(panels):
        axes = [_lane_axis(names, 0 if number else room) for names in (readers, guessers)]
        blocks = [_readers(panel, axes[0], looks, x, last=not guessers)]
        if guessers:
            blocks.append(_guessers(panel, axes[1], x))
        columns.append({"vconcat": blocks, "spacing": 6})
    return figure_spec(rows, hconcat=columns, spacing=_BESIDE if beyond else _SPACE)


def _readers(panel: Panel, y: Spec, looks: Mapping[str, Look], x: Spec, *, last: bool) -> Spec:
    kinds = list(looks)
    colour = _told(kinds, [look.colour for look in looks.values()])
    shape = _told(kinds, [look.shape for look in looks.values()])
    place = {"y": y, "yOffset": {"field": "kind", "type": "nominal", "scale": {"domain": kinds}}}
    if not last:
        x = {**x, "axis": {**x["axis"], "labels": False, "title": None, "ticks": False}}
    return {
        "title": {"text": panel.title, "frame": "group"},
        "width": _PANEL,
        "height": {"step": _STEP},
        "layer": [
            *panel.below(x),
            *_marks(f"datum.panel === '{panel.title}' && datum.kind", place, x, color=colour),
            _layer(
                {"type": "point", "filled": True, "size": 55, "opacity": 1},
                f"datum.panel === '{panel.title}' && datum.kind && !datum.beyond",
                {**place, "x": {"field": "drawn", **x}},
                color=colour,
                shape=shape,
            ),
        ],
    }


def _guessers(panel: Panel, y: Spec, x: Spec) -> Spec:
    here = f"datum.panel === '{panel.title}' && !datum.kind"
    cross = {"type": "point", "shape": "cross", "filled": True, "size": 45, "opacity": 1}
    grey: Spec = {"value": FAINT}
    place = {"y": y}
    return {
        "width": _PANEL,
        "height": {"step": _STEP + 5},
        "layer": [
            *panel.below(x),
            *_marks(here, place, x, color=grey),
            _layer(
                cross,
                f"{here} && !datum.beyond",
                {**place, "x": {"field": "drawn", **x}},
                color=grey,
            ),
        ],
    }


def _marks(here: str, place: Spec, x: Spec, *, color: Spec) -> list[Spec]:
    """The intervals with heads where they are cut; what lies beyond the axis with its number."""
    point = {**place, "x": {"field": "drawn", **x}}
    bar = {**place, "x": {"field": "drawn_low", **x}, "x2": {"field": "drawn_high"}}
    end = {**place, "x": {"field": "drawn_high", **x}}
    arrow = {"type": "point", "shape": "triangle-right", "filled": True, "size": 50, "opacity": 1}
    head = {**arrow, "size": 30}
    text = {"type": "text", "align": "left", "dx": 8, "baseline": "middle"}
    beyond = f"{here} && datum.beyond"
    return [
        _layer({"type": "rule", "strokeWidth": 1.6}, here, bar, color=color),
        _layer(head, f"{here} && datum.cut", end, color=color),
        _layer(arrow, beyond, point, color=color),
        _layer(text, beyond, point, text={"field": "printed"}),
    ]


def _layer(mark: Spec, test: str, places: Spec, **more: Spec) -> Spec:
    return {"transform": [{"filter": test}], "mark": mark, "encoding": {**places, **more}}


def _told(kinds: list[str], values: list[str]) -> Spec:
    return {"field": "kind", "type": "nominal", "scale": {"domain": kinds, "range": values}}


def _lane_axis(names: list[str], room: int) -> Spec:
    """The lanes; they are named where there is room for names."""
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": bool(room)}
    if room:
        axis |= {"labelPadding": 8, "minExtent": room}
    return {
        "field": "shown",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": names, "paddingInner": 0.3, "paddingOuter": 0.2},
        "axis": axis,
    }
