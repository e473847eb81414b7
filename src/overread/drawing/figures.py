"""Figures of Vega-Lite's language, as far as ours use it, drawn as SVG.

A renderer of the whole language takes a third of a second and 100 MB to start, and 40 ms a figure;
this draws one in two. It knows layers, panels side by side, below each other and by a field; marks
that are points, rules, lines, bars, boxes, texts and pictures; linear, logarithmic and banded
scales; axes, legends and titles. Whatever else a specification asks for is an error (`NotDrawn`),
and drawn by that renderer (`case.Figure`). Tests hold every mark of ours against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any, Final, Literal, NamedTuple

from overread.drawing import guides, marks
from overread.drawing.expressions import NotDrawn, Row, expression, is_valid
from overread.drawing.guides import Axis, Piece
from overread.drawing.marks import Box, Ground, Unit
from overread.drawing.scales import Channel, Number, Place, Steps, bands, number_ends, steps
from overread.drawing.text import lines_of, rounded, tag

Spec = Mapping[str, Any]
_NAMESPACES: Final = (
    ("xmlns", "http://www.w3.org/2000/svg"),
    ("xmlns:xlink", "http://www.w3.org/1999/xlink"),
)
_STEP: Final = 20.0
_SIDE: Final = 200.0
_SPACE: Final = 20.0
_VIEWS: Final = ("layer", "mark", "hconcat", "vconcat", "concat", "facet")
# What the configuration must say of axes and legends.
_LOOKS: Final = {
    "axis": {
        "labelColor",
        "titleColor",
        "labelFontSize",
        "titleFontSize",
        "domainColor",
        "tickColor",
        "gridColor",
        "gridOpacity",
    },
    "legend": {"labelColor", "labelFontSize", "symbolSize"},
    "header": {"labelColor", "labelFontSize"},
}
_KNOWN: Final = frozenset({
    *_VIEWS, "spec", "columns", "encoding", "transform", "data", "width", "height", "title",
    "spacing", "resolve", "config", "padding", "background", "$schema", "name", "description",
})  # fmt: skip


def drawn(spec: Spec) -> str:
    """A specification as an SVG document. Raises NotDrawn for what is not drawn here."""
    try:
        return _document(spec)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Somebody else's may have any form: what is wrong with it, Vega says.
        raise NotDrawn(f"a specification of another form ({error})") from error


def _document(spec: Spec) -> str:
    config = spec.get("config", {})
    for part, wanted in _LOOKS.items():
        given = config.get(part, {})
        if not wanted <= given.keys() and not given.get("disable"):
            raise NotDrawn(f"a {part} whose looks are not all given")
    figure = _Figure(config)
    block = figure.block(spec, _Rows((), ()))
    block = block.beside(guides.legend_of(block.pieces, config.get("legend", {}), block.frame))
    if "title" in spec:
        title = guides.title_of(spec["title"], config.get("title", {}), block.box, block.width)
        block = block.beside(title)
    box, pad = block.box, float(spec.get("padding", 5))
    left, top = ceil(-box.x1) + pad, ceil(-box.y1) + pad
    wide, high = left + ceil(box.x2) + pad, top + ceil(box.y2) + pad
    parts = [tag("defs", [], "".join(figure.clips))] if figure.clips else []
    if (ground := spec.get("background", "white")) != "transparent":
        parts.append(tag("rect", [("width", wide), ("height", high), ("fill", ground)]))
    place = ("transform", f"translate({rounded(left)},{rounded(top)})")
    looks = [("fill", "none"), ("stroke-miterlimit", 10), place]
    parts.append(tag("g", looks, "".join(block.elements)))
    size = [("width", wide), ("height", high), ("viewBox", f"0 0 {rounded(wide)} {rounded(high)}")]
    return tag("svg", [*_NAMESPACES, ("class", "marks"), *size], "".join(parts))


class _Block(NamedTuple):
    """A view that was drawn: its plot from 0,0, how far all of it reaches, legends still to be."""

    elements: list[str]
    box: Box
    frame: Box  # without marks: what legends stand above
    width: float
    pieces: list[Piece]

    def beside(self, guide: guides.Guide | None) -> _Block:
        """With a legend or a title around it."""
        if guide is None:
            return self
        elements, box = [*self.elements, *guide.elements], self.box.with_(guide.box)
        return self._replace(elements=elements, box=box, frame=self.frame.with_(guide.box))


class _Figure:
    """One figure being drawn. A class, for every view needs its configuration and names clips."""

    def __init__(self, config: Spec) -> None:
        self.config = config
        self.aria = bool(config.get("aria", True))
        self.clips: list[str] = []

    def block(
        self,
        spec: Spec,
        rows: _Rows,
        *,
        axes: tuple[bool, bool] = (True, True),
    ) -> _Block:
        unknown = spec.keys() - _KNOWN
        if unknown:
            raise NotDrawn(f"{sorted(unknown)[0]} of a view")
        rows = _transformed(spec, rows)
        channels = spec.get("encoding", {})
        kinds = [one for one in _VIEWS if one in spec]
        if len(kinds) != 1:
            raise NotDrawn(f"a view that is {' and '.join(kinds) or 'nothing'}")
        (kind,) = kinds
        if kind in ("layer", "mark"):
            made = self._plot(spec, rows, channels, axes)
        elif kind == "facet":
            made = self._facets(spec, rows)
        else:
            made = self._beside(spec, kind, rows)
        return made

    # ------------------------------------------------------------ panels

    def _beside(self, spec: Spec, kind: str, rows: _Rows) -> _Block:
        parts = [self.block(one, rows) for one in spec[kind]]
        alone = {
            name
            for name, how in spec.get("resolve", {}).get("scale", {}).items()
            if how == "independent"
        }
        parts = [
            self._framed(part, one, alone) for part, one in zip(parts, spec[kind], strict=True)
        ]
        across = (
            len(parts)
            if kind == "hconcat"
            else 1
            if kind == "vconcat"
            else int(spec.get("columns", len(parts)))
        )
        space = spec.get("spacing", _SPACE)
        return _grid(parts, across, float(space), float(space))

    def _framed(self, part: _Block, spec: Spec, alone: set[str]) -> _Block:
        """A panel with the legends that are its alone, and its title."""
        own = [piece for piece in part.pieces if piece.channel in alone]
        part = part.beside(guides.legend_of(own, self.config.get("legend", {}), part.frame))
        if "title" in spec:
            looks = self.config.get("title", {})
            part = part.beside(guides.title_of(spec["title"], looks, part.frame, part.width))
        return part._replace(pieces=[piece for piece in part.pieces if piece.channel not in alone])

    def _facets(self, spec: Spec, whole: _Rows) -> _Block:
        """A panel for each value of a field; axes below the lowest and left of the first."""
        by = spec["facet"]
        field, order, rows = by["field"], by.get("sort"), whole.own
        values = list(dict.fromkeys(row.get(field) for row in rows))
        if isinstance(order, Mapping):
            if order.get("op") != "min":
                raise NotDrawn("panels in that order")
            least = {
                value: min(row[order["field"]] for row in rows if row.get(field) == value)
                for value in values
            }
            values.sort(key=lambda value: least[value])
        elif order is not None:
            values.sort(key=order.index)
        across = min(int(spec.get("columns", len(values))), len(values)) or 1
        header, space = by.get("header", {}), spec.get("spacing", _SPACE)
        between = space if isinstance(space, Mapping) else {"row": space, "column": space}
        looks = self.config.get("header", {})
        parts = []
        for number, value in enumerate(values):
            own = [row for row in rows if row.get(field) == value]
            lowest = number + across >= len(values)
            part = self.block(
                spec["spec"], _Rows(own, whole.whole), axes=(lowest, number % across == 0)
            )
            said = header.get("labelExpr")
            lines = lines_of(expression(said)({"label": value}) if said else value)
            size = float(looks["labelFontSize"])
            start = header.get("labelAnchor") == "start"
            step = float(header.get("labelLineHeight", size + 2))
            down = part.box.y1 - 10 - step * (len(lines) - 1)
            place = (0.0, "left") if start else (part.width / 2, "center")
            head = guides.text(
                lines, place[0], down, size, place[1], looks["labelColor"], line=step
            )
            parts.append(part.beside(head))
        return _grid(
            parts, across, float(between.get("column", _SPACE)), float(between.get("row", _SPACE))
        )

    # ------------------------------------------------------------ one plot

    def _units(self, spec: Spec, rows: _Rows, channels: Spec) -> list[Unit]:
        if "layer" not in spec:
            mark = spec["mark"]
            unknown = channels.keys() - marks.KNOWN
            if unknown:
                raise NotDrawn(f"the channel {sorted(unknown)[0]}")
            if any(
                {"aggregate", "bin", "timeUnit", "stack"} & one.keys() for one in channels.values()
            ):
                raise NotDrawn("channels that reckon")
            return [Unit({"type": mark} if isinstance(mark, str) else mark, channels, *rows)]
        found = []
        for one in spec["layer"]:
            if one.keys() - _KNOWN or not ("mark" in one or "layer" in one):
                raise NotDrawn("such a layer")
            found += self._units(
                one, _transformed(one, rows), {**channels, **one.get("encoding", {})}
            )
        return found

    def _plot(self, spec: Spec, rows: _Rows, channels: Spec, axes: tuple[bool, bool]) -> _Block:
        units = self._units(spec, rows, channels)
        x_names, x_offset, width = _across(units, "x", spec.get("width"))
        y_names, y_offset, height = _across(units, "y", spec.get("height"))
        x = x_names if x_names is not None else _numbers(units, "x", width, 0.0)
        y = y_names if y_names is not None else _numbers(units, "y", 0.0, height)
        ground = Ground(x, y, x_offset, y_offset, width, height)
        frame = Box(0, 0, width, height)
        behind: list[str] = []
        around: list[str] = []
        config = self.config.get("axis", {})
        for name, scale, there in (("x", x, axes[0]), ("y", y, axes[1])):
            axis = _axis(units, name, scale)
            if axis is None:
                continue
            behind += guides.grid(axis, config, width, height)
            if there:
                made = guides.axis_of(axis, config, width, height)
                around += made.elements
                frame = frame.with_(made.box)
        inside: list[str] = []
        box = frame
        for unit in units:
            layer = marks.drawn(unit, ground, self.config, aria=self.aria)
            if layer.elements:
                inside.append(tag("g", self._clip(unit, width, height), "".join(layer.elements)))
            if layer.box is not None:
                box = box.with_(layer.box)
        elements = [tag("g", [("pointer-events", "none")], "".join([*behind, *around])), *inside]
        return _Block(
            elements, box, frame, width, [piece for unit in units for piece in guides.pieces(unit)]
        )

    def _clip(self, unit: Unit, width: float, height: float) -> list[tuple[str, object]]:
        if not unit.mark.get("clip"):
            return []
        name = f"clip{len(self.clips)}"
        shape = tag("rect", [("x", 0.0), ("y", 0.0), ("width", width), ("height", height)])
        self.clips.append(tag("clipPath", [("id", name)], shape))
        return [("clip-path", f"url(#{name})")]


def _grid(parts: Sequence[_Block], across: int, column: float, row: float) -> _Block:
    """Panels in rows: plots of a column begin at one place, and nothing lies upon anything."""
    rows = [parts[at : at + across] for at in range(0, len(parts), across)]
    columns = [parts[at::across] for at in range(min(across, len(parts)))]
    lefts, tops = [0.0], [0.0]
    for before, after in pairwise(columns):
        reach = max(ceil(part.box.x2) for part in before)
        lefts.append(lefts[-1] + reach + column + max(ceil(-part.box.x1) for part in after))
    for above, below in pairwise(rows):
        reach = max(ceil(part.box.y2) for part in above)
        tops.append(tops[-1] + reach + row + max(ceil(-part.box.y1) for part in below))
    elements, boxes, pieces = [], [], []
    for number, part in enumerate(parts):
        x, y = lefts[number % across], tops[number // across]
        place = ("transform", f"translate({rounded(x)},{rounded(y)})")
        elements.append(tag("g", [place], "".join(part.elements)))
        boxes.append(part.box.moved(x, y))
        pieces += part.pieces
    width = (
        max(left + part.width for left, part in zip(lefts, rows[0], strict=False)) if parts else 0.0
    )
    box = boxes[0].with_(*boxes[1:])
    return _Block(elements, box, box, width, pieces)


# ---------------------------------------------------------------- rows


class _Rows(NamedTuple):
    """The rows of a view; and those of all panels by a field that are like it."""

    own: Sequence[Row]
    whole: Sequence[Row]


def _transformed(spec: Spec, rows: _Rows) -> _Rows:
    """The rows of a view: its own, or those it is given, after its transforms."""
    if "data" in spec:
        data = spec["data"]
        if data.keys() != {"values"}:
            raise NotDrawn("data that are not inside")
        rows = _Rows(data["values"], data["values"])
    if "transform" not in spec:
        return rows
    own = _after(spec["transform"], rows.own)
    return _Rows(own, own if rows.own is rows.whole else _after(spec["transform"], rows.whole))


def _after(transforms: Sequence[Spec], rows: Sequence[Row]) -> Sequence[Row]:
    for step in transforms:
        if step.keys() == {"filter"}:
            rows = _filtered(step["filter"], rows)
        elif step.keys() == {"calculate", "as"}:
            reckoned = expression(step["calculate"])
            rows = [{**row, step["as"]: reckoned(row)} for row in rows]
        else:
            raise NotDrawn(f"the transform {', '.join(step)}")
    return rows


def _filtered(test: Any, rows: Sequence[Row]) -> Sequence[Row]:
    if isinstance(test, str):
        holds = expression(test)
        return [row for row in rows if (found := holds(row)) and is_valid(found)]
    if isinstance(test, Mapping) and test.keys() == {"field", "equal"}:
        return [row for row in rows if row.get(test["field"]) == test["equal"]]
    raise NotDrawn("such a filter")


# ---------------------------------------------------------------- scales of a plot


def _channels(units: Sequence[Unit], *names: str) -> list[tuple[Unit, Channel]]:
    """The channels of a plot's layers that place marks by a field or a number."""
    found = [
        (unit, unit.channels[name]) for unit in units for name in names if name in unit.channels
    ]
    return [(unit, one) for unit, one in found if "field" in one or "datum" in one]


def _is_named(channel: Channel) -> bool:
    kind = channel.get("type", "quantitative" if "datum" in channel else "nominal")
    if kind not in ("quantitative", "nominal", "ordinal"):
        raise NotDrawn(f"values of type {kind}")
    return bool(kind != "quantitative")


def _across(
    units: Sequence[Unit], axis: str, size: Any
) -> tuple[Steps | None, Steps | None, float]:
    """The bands along an axis, if it has names, those within a band, and how long it is."""
    placed = _channels(units, axis)
    named = [(unit, one) for unit, one in placed if _is_named(one)]
    if not named:
        if isinstance(size, Mapping):
            raise NotDrawn("steps without names")
        return None, None, float(_SIDE if size is None else size)
    if len(named) < len(placed):
        raise NotDrawn("an axis of names and numbers")
    names = _names(named)
    inside = _channels(units, f"{axis}Offset")
    within = _names(inside)
    inner, outer = _paddings(named, offset=bool(inside))
    if size is None:
        size = {"step": _STEP}
    if isinstance(size, Mapping):
        step = float(size["step"])
        if inside:
            between = next((one.get("scale", {}).get("paddingInner", 0) for _, one in inside), 0)
            step = step * bands(len(within), between, 0) / (1 - inner)
        length = step * bands(len(names), inner, outer)
    else:
        length = float(size)
    scale = steps(names, length, inner, outer)
    return scale, steps(within, scale.width, 0.0, 0.0) if inside else None, length


def _names(placed: Sequence[tuple[Unit, Channel]]) -> list[Any]:
    """The names along an axis: those that are given, else those that occur."""
    found: dict[Any, None] = {}
    for unit, channel in placed:
        domain = (channel.get("scale") or {}).get("domain")
        if domain is None:
            domain = [
                row[channel["field"]] for row in unit.rows if is_valid(row.get(channel["field"]))
            ]
            if isinstance(channel.get("sort"), Sequence):
                domain = [one for one in channel["sort"] if one in domain]
            elif "sort" not in channel or channel.get("type") == "ordinal":
                domain = sorted(set(domain))
        found |= dict.fromkeys(domain)
    return list(found)


def _paddings(named: Sequence[tuple[Unit, Channel]], *, offset: bool) -> tuple[float, float]:
    """Shares of a step between and outside bands: given, else as their marks have them."""
    given = {key: value for _, one in named for key, value in (one.get("scale") or {}).items()}
    inner, outer = (0.2, 0.2) if offset else (0.0, 0.0)
    if not offset and named[0][0].kind == "bar":
        inner, outer = 0.1, 0.05
    inner = given.get("paddingInner", inner)
    return float(inner), float(given.get("paddingOuter", outer if offset else inner / 2))


def _numbers(units: Sequence[Unit], axis: str, right: float, bottom: float) -> Number | None:
    """The scale of numbers along an axis; upright ones rise."""
    placed = _channels(units, axis, f"{axis}2")
    if not placed:
        return None
    said: list[Any] = []
    for unit, one in placed:
        said += [one["datum"]] if "datum" in one else [row.get(one["field"]) for row in unit.rows]
    values = [float(value) for value in said if is_valid(value) and not isinstance(value, str)]
    scaled = [one for _, one in placed if one.get("scale")]
    channel: Channel = scaled[0] if scaled else placed[0][1]
    zero = all(unit.kind in ("bar", "rect") for unit, _ in placed)
    low, high, log = number_ends(channel, values, zero)
    start, end = (0.0, right) if axis == "x" else (bottom, 0.0)
    if (channel.get("scale") or {}).get("reverse"):
        start, end = end, start
    return Number(low, high, start, end, log)


def _axis(units: Sequence[Unit], name: str, scale: Place | None) -> Axis | None:
    """The axis that a plot's layers ask for together; None where they want none."""
    placed = _channels(units, name)
    if scale is None or not placed:
        return None
    wanted = [
        one["axis"] for _, one in placed if one.get("axis", ...) is not None and "axis" in one
    ]
    silent = [one for _, one in placed if "axis" in one and one["axis"] is None]
    if silent and not wanted:
        return None
    options: dict[str, Any] = {}
    for given in reversed(wanted):
        options |= given
    first = next((one for _, one in placed if "field" in one), placed[0][1])
    title = options["title"] if "title" in options else first.get("title", first.get("field"))
    top = name == "x" and options.get("orient") == "top"
    side: Literal["left", "bottom", "top"] = "left" if name == "y" else "top" if top else "bottom"
    return Axis(scale, options, lines_of(title) if title else [], side)
