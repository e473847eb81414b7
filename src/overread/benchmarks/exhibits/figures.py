"""Figures that several benchmarks draw: dot plots, radars and planes.

Dot plots are lanes of points with their intervals, one per reader in every lane, panels abreast.
Radars are numbers from 0 to 100 around a circle, as papers draw them; one web, or several side by
side. They have no intervals: each figure made of them names another that has. Planes are one number
against another, a mark per reader with intervals on both axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

from overread.benchmarks.exhibits import style
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.style import Cast, Spec
from overread.case import Figure, Measure

# ---------------------------------------------------------------- dot plots

_PANEL: Final = 210
_STEP: Final = 12
# Seen on any mark, and never the open mark of a judge that is unfit: that has a reader's colour.
_WHITE_DOT: Final = {"filled": False, "fill": style.PAPER, "stroke": style.INK}


class Panel(NamedTuple):
    """One of the panels: its name, its axis, and a value that a dashed line stands for.

    `column` is what it shows, where that is not what a lane does.
    """

    name: str
    axis: str = "percent"
    low: float = 0
    high: float = 100
    line: float | None = None
    column: Column | None = None


class Lane(NamedTuple):
    """One of the lanes: its name, the group it is about, and what it shows where no panel says it.

    `facts` stand in every row of the figure's data.
    """

    name: str
    by: Mapping[str, str] = {}
    column: Column | None = None
    facts: Mapping[str, str] = {}


def lane_rows(
    index: Index,
    lanes: Sequence[Lane],
    panels: Sequence[Panel],
    cast: Cast,
    *,
    by_panel: bool = False,
) -> list[Spec]:
    """A row for every number there is, lane by lane or panel by panel."""
    places = [(lane, panel) for lane in lanes for panel in panels]
    if by_panel:
        places = [(lane, panel) for panel in panels for lane in lanes]
    rows = []
    for lane, panel in places:
        column = panel.column or lane.column
        assert column is not None
        for reader, name in cast.names.items():
            record = column.known(index, reader, **lane.by)
            if record is not None:
                where = {"lane": lane.name, "panel": panel.name, **lane.facts}
                row = style.point_row(reader, name, column.heading, record, **where)
                rows.append(row | style.pooled_row(record))
    return rows


def dot_figure(
    index: Index,
    name: str,
    rows: Sequence[Spec],
    panels: Sequence[Panel],
    cast: Cast,
    *,
    keys: Sequence[str],
    before: Iterable[str] = (),
    after: Iterable[str] = (),
    **facts: Any,
) -> Figure | None:
    """Lanes of points, of the rows that `lane_rows` made; None where there are none.

    `keys` say of what each number is, for those who do not see the figure. Between the notes
    `before` and `after` stands what open marks are and which readers are not drawn.
    """
    if not rows:
        return None
    lanes = list(dict.fromkeys(str(row["lane"]) for row in rows))
    drawn = [panel for panel in panels if any(row["panel"] == panel.name for row in rows)]
    spec, said = dots(rows, lanes, drawn, cast), style.spoken(rows, *keys)
    pooled = [index.note("pooled_marks")] if any("pooled" in row for row in rows) else []
    notes = (*before, *style.unfit_note(rows), *pooled, *cast.notes, *after)
    return index.figure(name, spec, said, *notes, **facts)


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
    alone, pooled = len(panels) == 1, any("pooled" in row for row in rows)
    drawn = [
        _panel(panel, lanes, cast, first=number % across == 0, alone=alone, pooled=pooled)
        for number, panel in enumerate(panels)
    ]
    if len(drawn) <= across:
        return style.figure_spec(rows, hconcat=drawn, spacing=20)
    beside = [
        {"hconcat": drawn[at : at + across], "spacing": 20} for at in range(0, len(drawn), across)
    ]
    return style.figure_spec(rows, vconcat=beside, spacing=20)


def _panel(
    panel: Panel, lanes: Sequence[str], cast: Cast, *, first: bool, alone: bool, pooled: bool
) -> Spec:
    axis: Spec = {"title": None, "ticks": False, "domain": False, "labels": first, "grid": False}
    if first:
        axis |= {"labelPadding": 8, "minExtent": style.label_room(lanes)}
    y = {
        "field": "lane",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(lanes), "paddingInner": 0.25, "paddingOuter": 0.2},
        "axis": axis,
    }
    names = list(cast.names.values())
    offset = {"field": "shown", "type": "nominal", "scale": {"domain": names}}
    place: Spec = {"y": y, "yOffset": offset}
    here = f"datum.panel === '{panel.name}'"
    x = style.number_axis("value", panel.axis, panel.low, panel.high)
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": style.told(cast)[0]}
    bar = {
        "transform": [{"filter": f"{here} && isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {**place, **ends},
    }
    dot = {
        "transform": [{"filter": f"{here} && isValid(datum.pooled)"}],
        "mark": {"type": "point", "size": 14, "opacity": 1, "strokeWidth": 1, **_WHITE_DOT},
        "encoding": {**place, "x": {**x, "field": "pooled"}},
    }
    line = []
    if panel.line is not None:
        mark = {"type": "rule", "color": style.FAINT, "strokeDash": [4, 3]}
        at = {"field": "value", "type": "quantitative"}
        line = [style.ground([{"value": panel.line}], mark, x=at)]
    return {
        **({} if alone else {"title": {"text": panel.name, "frame": "group"}}),
        "width": 2 * _PANEL if alone else _PANEL,
        "height": {"step": _STEP},
        "layer": [
            *line,
            bar,
            *style.point_layers(cast, here, 55, **place, x=x),
            *([dot] if pooled else []),
        ],
    }


# ---------------------------------------------------------------- radars

_WEB_SIDE: Final = 330
_RINGS: Final = (25, 50, 75, 100)
# How far a drawing reaches beyond its centre, in percent; at the sides there is room for names.
_REACH: Final = 118
_LABELS: Final = 110
_IN_TURN: Final[Spec] = {"field": "turn", "type": "quantitative"}
_SAID: Final[Spec] = {"field": "said"}


class Web(NamedTuple):
    """One circle: its title (none where it stands alone) and the names of its axes."""

    title: str
    headings: Sequence[str]


def radar_figure(
    index: Index,
    sides: Mapping[str, Sequence[Column]],
    *,
    after: Callable[[Sequence[Web]], Iterable[str]] = lambda webs: (),
    **facts: Any,
) -> Figure | None:
    """The readers that have every number of a side, around one circle for each of the sides.

    A side is a title and its axes, three at least; one that stands alone has no title. `after` are
    notes below those on open marks and on readers that are not drawn.
    """
    some = [(Web(name, [c.heading for c in axes]), axes) for name, axes in sides.items()]
    some = [(web, axes) for web, axes in some if len(axes) > 2]
    everyone = style.cast_of(index, [column for _, axes in some for column in axes])
    rows: list[Spec] = []
    for web, axes in some:
        for reader, name in everyone.names.items():
            found = [one for column in axes if (one := column.known(index, reader)) is not None]
            if len(found) == len(axes):
                rows += vertices(reader, name, web, found)
    if not rows:
        return None
    drawn = {row["reader"] for row in rows}
    webs = [web for web, _ in some if any(row["web"] == web.title for row in rows)]
    # Not the vertices that close the lines.
    once = [
        r for web in webs for r in rows if r["web"] == web.title and r["turn"] < len(web.headings)
    ]
    missing = len(everyone.names) - len(drawn)
    short = [f"{missing} models lack one of these and are in the tables only."] * bool(missing)
    # Distinct names of the drawn alone, so that the legend has no others.
    cast = Cast({r: name for r, name in everyone.names.items() if r in drawn}, 0)
    spec, said = radar(rows, webs, cast), style.spoken(once, "measure")
    notes = (*style.unfit_note(rows), *everyone.notes, *short, *after(webs))
    return index.figure("radar", spec, said, *notes, **facts)


def vertices(
    reader: str, name: str, web: Web, records: Sequence[Measure], **more: object
) -> Iterator[Spec]:
    """A reader's points on a web; the first comes again at the end and closes the line."""
    axes = len(web.headings)
    for turn in range(axes + 1):
        record = records[turn % axes]
        row = style.point_row(reader, name, web.headings[turn % axes], record, turn=turn, **more)
        x, y = _at(turn, axes, row["value"])
        yield row | {"web": web.title, "x": x, "y": y}


def radar(rows: Sequence[Spec], webs: Sequence[Web], cast: Cast) -> Spec:
    """The whole figure of rows that `vertices` made."""
    if len(webs) == 1:
        return style.figure_spec(rows, **_drawn(webs[0], cast))
    parts = [
        {"title": {"text": web.title, "frame": "group", "anchor": "middle"}, **_drawn(web, cast)}
        for web in webs
    ]
    return style.figure_spec(rows, hconcat=parts, spacing=30)


def _at(turn: float, axes: int, value: float) -> tuple[float, float]:
    """Where a value stands on an axis; the first points up, the others follow clockwise."""
    angle = math.pi / 2 - 2 * math.pi * (turn % axes) / axes
    return round(value * math.cos(angle), 6), round(value * math.sin(angle), 6)


def _drawn(web: Web, cast: Cast) -> Spec:
    room = style.label_room(web.headings) * 2 * _REACH / _WEB_SIDE
    wide = max(_REACH, _LABELS + room)
    place: Spec = {
        name: {
            "field": name,
            "type": "quantitative",
            "scale": {"domain": [-reach, reach], "nice": False, "zero": False},
            "axis": None,
        }
        for name, reach in (("x", wide), ("y", _REACH))
    }
    here = f"datum.web === '{web.title}'"
    line = {
        "transform": [{"filter": here}],
        "mark": {"type": "line", "strokeWidth": 2, "opacity": 0.85},
        "encoding": {**place, "color": style.told(cast)[0], "order": _IN_TURN},
    }
    behind = *_web(len(web.headings), place), *_names(web.headings, place)
    layers = [*behind, line, *style.point_layers(cast, here, 60, **place)]
    return {"width": round(_WEB_SIDE * wide / _REACH), "height": _WEB_SIDE, "layer": layers}


def _web(axes: int, place: Spec) -> Iterator[Spec]:
    """Rings and spokes, and the numbers of the rings, half-way between two spokes."""
    thin = {"color": style.FAINT, "strokeWidth": 0.8, "opacity": 0.5}
    rings = [
        {"ring": ring, "turn": turn, "x": at[0], "y": at[1]}
        for ring in _RINGS
        for turn in range(axes + 1)
        if (at := _at(turn, axes, ring))
    ]
    by_ring = {"field": "ring", "type": "nominal"}
    yield style.ground(rings, {"type": "line", **thin}, **place, detail=by_ring, order=_IN_TURN)
    rim = (_at(turn, axes, 100) for turn in range(axes))
    spokes = [{"x": 0, "y": 0, "x2": x, "y2": y} for x, y in rim]
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    yield style.ground(spokes, {"type": "rule", **thin}, **place, **ends)
    between = (_at(-0.5, axes, ring * math.cos(math.pi / axes)) for ring in _RINGS)
    numbers = [
        {"x": x, "y": y, "said": str(ring)} for ring, (x, y) in zip(_RINGS, between, strict=True)
    ]
    mark = {"type": "text", "fontSize": 10, "color": style.FAINT}
    yield style.ground(numbers, mark, **place, text=_SAID)


def _names(headings: Sequence[str], place: Spec) -> Iterator[Spec]:
    """The axes' names at the rim, each on its own side of it."""
    sides: dict[str, list[dict[str, Any]]] = {"center": [], "left": [], "right": []}
    for turn, heading in enumerate(headings):
        x, y = _at(turn, len(headings), _LABELS)
        side = "center" if abs(x) < 1 else "left" if x > 0 else "right"
        sides[side].append({"x": x, "y": y, "said": heading})
    for align, values in sides.items():
        if values:
            mark = {"type": "text", "align": align, "baseline": "middle", "fontSize": 12}
            yield style.ground(values, mark, **place, text=_SAID)


# ---------------------------------------------------------------- planes

_PLANE_SIDE: Final = 360
_LINE: Final = 15
_GAP: Final = 26
_MARK: Final = 12
_SAME: Final = 6
_PLACE: Final[Spec] = {name: {"field": name, "type": "quantitative"} for name in ("x", "y")}


class Marks(NamedTuple):
    """How a reader is drawn: its mark, the channels that tell it from others, and its colour."""

    mark: Spec
    channels: Spec
    stroke: Spec


def plane_row(facts: Spec, x: Measure, y: Measure) -> Spec:
    """One reader's place, in percent: `facts` say who it is, with its `shown` name."""
    row = dict(facts)
    for axis, record in (("x", x), ("y", y)):
        ends = {"": record.value, "_low": record.low, "_high": record.high}
        for end, value in ends.items():
            row[axis + end] = None if value is None else round(100 * value, 3)
        row[f"{axis}_n"] = record.n
    return row


def plane(
    rows: list[Spec],
    titles: tuple[str, str],
    x_bounds: tuple[float, float],
    y_bounds: tuple[float, float],
    marks: Marks,
    behind: Sequence[Spec] = (),
) -> Spec:
    """Marks with intervals; the names stand at the right, a thin line to each mark."""
    height = max(_PLANE_SIDE, _LINE * len(rows))
    _place_marks(rows, height, x_bounds, y_bounds)
    x = style.number_axis("x", titles[0], *x_bounds)
    y = style.number_axis("y", titles[1], *y_bounds)
    at = {**x, "field": "mark_x"}
    line = {"type": "rule", "strokeWidth": 1.6, "opacity": 0.75}

    def drawn(mark: Spec, **channels: Any) -> Spec:
        return {"mark": mark, "encoding": {"x": x, "y": y, **channels}}

    thin = {"type": "rule", "strokeWidth": 0.8, "color": style.FAINT, "opacity": 0.8}
    layers = [
        *behind,
        drawn(thin, x=at, x2={"field": "name_x"}, y2={"field": "name_y"}),
        drawn(line, x={**x, "field": "x_low"}, x2={"field": "x_high"}, stroke=marks.stroke),
        drawn(line, y={**y, "field": "y_low"}, y2={"field": "y_high"}, stroke=marks.stroke),
        drawn(marks.mark, x=at, **marks.channels),
        drawn(
            {"type": "text", "align": "left", "baseline": "middle", "dx": 4, "fontSize": 12},
            x={**x, "field": "name_x"},
            y={**y, "field": "name_y"},
            text={"field": "shown"},
        ),
    ]
    return style.figure_spec(rows, width=_PLANE_SIDE, height=height, layer=layers)


def _place_marks(
    rows: list[Spec], height: int, x_bounds: tuple[float, float], y_bounds: tuple[float, float]
) -> None:
    """Where each mark and each name stands, in the units of the axes.

    Marks that would hide each other stand side by side.
    """
    x_pixel = (x_bounds[1] - x_bounds[0]) / _PLANE_SIDE
    y_pixel = (y_bounds[1] - y_bounds[0]) / height
    together: dict[tuple[int, int], list[Spec]] = {}
    for row in rows:
        spot = round(row["x"] / x_pixel / _SAME), round(row["y"] / y_pixel / _SAME)
        together.setdefault(spot, []).append(row)
    for spot_rows in together.values():
        for number, row in enumerate(spot_rows):
            step = min(_MARK, 2.5 * _MARK / max(1, len(spot_rows) - 1))
            aside = (number - (len(spot_rows) - 1) / 2) * step * x_pixel
            row["mark_x"] = round(row["x"] + aside, 3)
    # Of marks at one height the one further left gets the higher name: the lines do not cross.
    rows.sort(key=lambda row: (row["y"], -row["mark_x"]))
    places = apart([row["y"] for row in rows], _LINE * y_pixel, y_bounds[0], y_bounds[1])
    beside = x_bounds[1] + _GAP * x_pixel
    for row, place in zip(rows, places, strict=True):
        row["name_x"], row["name_y"] = round(beside, 3), round(place, 3)


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as can be to those wanted, which rise, at least `gap` from each other.

    They stay between `low` and `high` where there is room for all.
    """
    # Less the gaps before it, every place may be where any other is: a monotone fit, by pooling.
    pools: list[list[float]] = []
    for rank, place in enumerate(wanted):
        pools.append([place - gap * rank])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    fitted = [fmean(pool) for pool in pools for _ in pool]
    top = high - gap * (len(wanted) - 1)
    return [max(low, min(place, top)) + gap * rank for rank, place in enumerate(fitted)]


def in_words(rows: Sequence[Spec], x: str, y: str) -> str:
    """The rows of a plane in words, for those who do not see it."""

    def number(row: Spec, axis: str) -> str:
        low, high = row[f"{axis}_low"], row[f"{axis}_high"]
        span = "" if low is None or high is None else f" [{low:.1f}, {high:.1f}]"
        return f"{row[axis]:.1f}{span}"

    return "; ".join(
        f"{row['reader']}{' (' + row['category'] + ')' if row['category'] else ''} "
        f"{y} {number(row, 'y')}, {x} {number(row, 'x')}"
        for row in rows
    )


def dashed_line(start: tuple[float, float], end: tuple[float, float]) -> Spec:
    """A dashed line between two places."""
    mark = {"type": "line", "strokeDash": [4, 3], "color": style.FAINT, "strokeWidth": 1}
    return style.ground([{"x": x, "y": y} for x, y in (start, end)], mark, **_PLACE)


def ground_word(said: str, x: float, y: float, **mark: Any) -> Spec:
    """A word on the ground of a plane."""
    looks = {"type": "text", "baseline": "top", "fontStyle": "italic", "opacity": 0.8, **mark}
    return style.ground([{"x": x, "y": y, "said": said}], looks, **_PLACE, text={"field": "said"})
