"""What stands around marks: axes, legends and titles. Each knows how far it reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import Any, Final, NamedTuple

from overread.drawing import text as words
from overread.drawing.expressions import expression
from overread.drawing.marks import Box, Unit, baseline, symbol, text_attributes, text_box
from overread.drawing.scales import Looks, Number, Place, look_scale, tick_words, ticks
from overread.drawing.text import rounded, tag

Config = Mapping[str, Any]
_TICK, _PADDING, _TITLE_PADDING = 5, 2, 4


class Guide(NamedTuple):
    """Elements, and how far they reach."""

    elements: list[str]
    box: Box


def text(
    lines: Sequence[str], x: float, y: float, size: float, align: str, colour: str, *,
    bold: bool = False, line: float = 0.0, weight: str | None = None,
) -> Guide:  # fmt: skip
    """Lines below each other; the first stands at this height."""
    step = line or size + words.LINE
    boxes = [
        text_box(said, x, y + number * step, size, align, bold=bold)
        for number, said in enumerate(lines)
    ]
    inside = words.escaped(lines[0])
    if len(lines) > 1:
        below = (tag("tspan", [("x", 0), ("dy", step)], words.escaped(one)) for one in lines[1:])
        inside = "".join([tag("tspan", [], inside), *below])
    looks = [("font-weight", weight or ("bold" if bold else None)), ("fill", colour)]
    made = tag("text", [*text_attributes(x, y, size, align), *looks], inside)
    return Guide([made], boxes[0].with_(*boxes[1:]))


def turned_attributes(x: float, y: float, size: float, anchor: str) -> list[tuple[str, object]]:
    """Of a line that is read from below."""
    return [
        ("text-anchor", anchor),
        ("transform", f"translate({rounded(x)},{rounded(y)}) rotate(-90)"),
        ("font-family", words.FONT),
        ("font-size", f"{rounded(size)}px"),
    ]


def line(x: float, y: float, x2: float, y2: float, **looks: object) -> str:
    """A line from a place, so far right and down."""
    return tag("line", [
        ("transform", f"translate({rounded(x)},{rounded(y)})"), ("x2", x2), ("y2", y2),
        *((name.replace("_", "-"), value) for name, value in looks.items()),
    ])  # fmt: skip


# ---------------------------------------------------------------- axes


class Axis(NamedTuple):
    """One axis as it was asked for: its scale and options, across or upright."""

    scale: Place
    options: Mapping[str, Any]
    title: Sequence[str]
    upright: bool
    kind: str  # of its values: quantitative, nominal, ordinal

    @property
    def values(self) -> list[Any]:
        scale = self.scale
        if not isinstance(scale, Number):
            return list(self.options.get("values") or scale.names)
        given = self.options.get("values")
        if given is not None:
            low, high = sorted((scale.low, scale.high))
            return [one for one in given if low <= one <= high]
        low, high = sorted((scale.low, scale.high))
        return ticks(low, high, self._count)

    @property
    def _count(self) -> float:
        assert isinstance(self.scale, Number)
        return float(self.options.get("tickCount") or ceil(self.scale.length / 40))

    def labels(self) -> list[list[str]]:
        """What stands at each value, line by line."""
        scale, values = self.scale, self.values
        if not isinstance(scale, Number):
            told = [words.written(value) for value in values]
        elif self.options.get("format") == "~g" or scale.log:
            told = [f"{value:g}" for value in values]
        else:
            told = tick_words(values, scale.low, scale.high, self._count)
        said = self.options.get("labelExpr")
        if said is None:
            return [[one] for one in told]
        worded = expression(said)
        return [words.lines_of(worded({"label": one})) for one in told]


def grid(axis: Axis, config: Config, width: float, height: float) -> list[str]:
    """Lines across the plot at every value."""
    if not axis.options.get("grid", axis.kind == "quantitative"):
        return []
    looks = {
        "stroke": config["gridColor"],
        "stroke_opacity": config["gridOpacity"],
        "stroke_width": 1,
    }
    found = []
    for value in axis.values:
        at = axis.scale.at(value)
        if at is not None:
            place = round(at) + 0.5
            found.append(
                line(0.5, place, width, 0.0, **looks)
                if axis.upright
                else line(place, 0.5, 0.0, height, **looks)
            )
    return found


def axis_of(axis: Axis, config: Config, width: float, height: float) -> Guide:
    """Ticks, labels, the line along the axis and its title; below, above or at the left."""
    above = axis.options.get("orient") == "top"
    base = 0.0 if axis.upright or above else height
    sign = -1 if axis.upright or above else 1
    places = [
        (at, lines)
        for value, lines in zip(axis.values, axis.labels(), strict=True)
        if (at := axis.scale.at(value)) is not None
    ]
    elements: list[str] = []
    box = Box(0, 0, 0, height) if axis.upright else Box(0, base, width, base)
    has_ticks = axis.options.get("ticks", True)
    if has_ticks:
        looks = {"stroke": config["tickColor"], "stroke_width": 1}
        for at, _ in places:
            place = round(at) + 0.5
            elements.append(
                line(0.5, place, -5.0, 0.0, **looks)
                if axis.upright
                else line(place, base + 0.5, 0.0, 5.0 * sign, **looks)
            )
    out = (_TICK if has_ticks else 0) + axis.options.get("labelPadding", _PADDING)
    extent = float(_TICK if has_ticks else 0)
    if axis.options.get("labels", True):
        labelled = _labels(axis, config, places, base, sign, out)
        elements += labelled.elements
        box = box.with_(labelled.box)
        extent = max(
            extent,
            -labelled.box.x1
            if axis.upright
            else (labelled.box.y2 - base) * sign
            if sign > 0
            else base - labelled.box.y1,
        )
    extent = max(extent, float(axis.options.get("minExtent", 0)))
    if axis.options.get("domain", True):
        looks = {"stroke": config["domainColor"], "stroke_width": 1}
        elements.append(
            line(0.5, 0.5, 0.0, height, **looks)
            if axis.upright
            else line(0.5, base + 0.5, width, 0.0, **looks)
        )
    box = box.with_(
        Box(-extent, 0, 0, height)
        if axis.upright
        else Box(0, min(base, base + sign * extent), width, max(base, base + sign * extent))
    )
    if axis.title:
        titled = _axis_title(axis, config, extent, base, sign, width, height)
        elements += titled.elements
        box = box.with_(titled.box)
    return Guide(elements, box)


def _labels(
    axis: Axis,
    config: Config,
    places: Sequence[tuple[float, Sequence[str]]],
    base: float,
    sign: int,
    out: float,
) -> Guide:
    size, colour = float(config["labelFontSize"]), config["labelColor"]
    limit = axis.options.get("labelLimit", config.get("labelLimit", 0))
    elements, boxes = [], [Box(0, base, 0, base)]
    turned = (
        not axis.upright
        and axis.options.get("labelAngle", 270 if axis.kind != "quantitative" else 0) == 270
    )
    step = float(axis.options.get("labelLineHeight", size + words.LINE))
    made: list[tuple[list[str], Box]] = []
    for number, (at, lines) in enumerate(places):
        told = [_cut(one, limit, size) for one in lines]
        if turned:
            x, y = at + baseline("middle", size) + 0.5, base + sign * out
            attributes = [
                *turned_attributes(x, y, size, "end"), ("fill", colour),
            ]  # fmt: skip
            long = words.width(told[0], size)
            made.append(
                ([tag("text", attributes, words.escaped(told[0]))], Box(x - size, y, x, y + long))
            )
            continue
        align = "right" if axis.upright else "center"
        x, y = (
            (-out, at + baseline("middle", size))
            if axis.upright
            else (at, base + out + baseline("top", size))
        )
        if not axis.upright:
            x += 0.5
            if sign < 0:  # above: the first line stands highest
                top = axis.options.get("labelBaseline") == "top"
                y = base - out + baseline("top" if top else "bottom", size)
            if axis.kind == "quantitative" and axis.options.get("labelFlush", True):
                if number == 0 and abs(at) < 1:
                    align = "left"
                elif number == len(places) - 1 and abs(at - axis.scale.length) < 1:  # type: ignore[union-attr]
                    align = "right"
        made.append(tuple(text(told, x, y, size, align, colour, line=step)))  # type: ignore[arg-type]
    for own, box in _apart(made) if axis.kind != "nominal" and not turned else made:
        elements += own
        boxes.append(box)
    return Guide(elements, boxes[0].with_(*boxes[1:]))


def _apart(made: Sequence[tuple[list[str], Box]]) -> Sequence[tuple[list[str], Box]]:
    """Every second label where labels would lie upon each other, until none do."""
    while len(made) > 2 and any(
        one.x2 + 1 > two.x1 and two.x2 + 1 > one.x1 and one.y2 > two.y1 and two.y2 > one.y1
        for (_, one), (_, two) in pairwise(made)
    ):
        made = made[::2]
    return made


def _cut(told: str, limit: float, size: float) -> str:
    """As many of the letters as there is room for."""
    if not limit or words.width(told, size) <= limit:
        return told
    while told and words.width(f"{told}…", size) > limit:
        told = told[:-1]
    return f"{told}…"


def _axis_title(
    axis: Axis, config: Config, extent: float, base: float, sign: int, width: float, height: float
) -> Guide:
    size, colour = float(config["titleFontSize"]), config["titleColor"]
    weight = config.get("titleFontWeight")
    if not axis.upright:
        y = (
            base + extent + _TITLE_PADDING + baseline("top", size)
            if sign > 0
            else base - extent - _TITLE_PADDING + baseline("bottom", size)
        )
        return text(axis.title, width / 2 + 0.5, y, size, "center", colour, weight=weight)
    x = -extent - _TITLE_PADDING + baseline("bottom", size)
    attributes = [
        *turned_attributes(x, height / 2, size, "middle"),
        ("font-weight", weight),
        ("fill", colour),
    ]
    half = words.width(axis.title[0], size) / 2
    return Guide(
        [tag("text", attributes, words.escaped(axis.title[0]))],
        Box(x - round(0.8 * size), height / 2 - half, x + round(0.2 * size), height / 2 + half),
    )


# ---------------------------------------------------------------- titles


def title_of(given: Any, config: Config, box: Box, width: float) -> Guide:
    """A title above, or below, what it is of."""
    title: Mapping[str, Any] = given if isinstance(given, Mapping) else {"text": given}
    size, colour = (
        float(title.get("fontSize", config.get("fontSize", 13))),
        title.get("color", config.get("color", "black")),
    )
    weight = title.get("fontWeight", config.get("fontWeight"))
    lines = words.lines_of(title["text"])
    subtitle = words.lines_of(title["subtitle"]) if "subtitle" in title else []
    anchor = title.get("anchor", config.get("anchor", "middle"))
    left, right = (0.0, width) if title.get("frame") == "group" else (box.x1, box.x2)
    x = {"start": left, "middle": (left + right) / 2, "end": right}[anchor]
    align = {"start": "left", "middle": "center", "end": "right"}[anchor]
    step, small = size + words.LINE, 11.0
    high = (
        step * len(lines)
        - words.LINE
        + (3 + (small + words.LINE) * len(subtitle) - words.LINE if subtitle else 0)
    )
    offset = float(title.get("offset", 4))
    top = box.y2 + offset if title.get("orient") == "bottom" else box.y1 - offset - high - 1
    made = text(
        lines,
        x,
        top + round(0.79 * size),
        size,
        align,
        colour,
        bold=weight == "bold",
        weight=weight,
    )
    if not subtitle:
        return made
    under = text(
        subtitle,
        x,
        top + step * len(lines) + 1 + round(0.79 * small),
        small,
        align,
        title.get("subtitleColor", colour),
    )
    return Guide(made.elements + under.elements, made.box.with_(under.box))


# ---------------------------------------------------------------- legends


class Piece(NamedTuple):
    """What one channel of one layer says by names: a part of a legend."""

    channel: str
    field: str
    scale: Looks
    options: Mapping[str, Any] | None  # None: no legend of this field
    unit: Unit


def pieces(unit: Unit) -> Iterable[Piece]:
    """The parts of legends that a layer's channels make."""
    for name in ("color", "fill", "stroke", "shape", "strokeDash", "size", "opacity"):
        channel = unit.channels.get(name, {})
        condition = channel.get("condition", {})
        own = (
            channel
            if "field" in channel
            else condition
            if isinstance(condition, Mapping) and "field" in condition
            else None
        )
        if own is None or own.get("scale", {}) is None:
            continue
        scale = look_scale(own, unit.whole)
        options = own.get("legend", {})
        if isinstance(scale, Looks):
            yield Piece(name, own["field"], scale, options, unit)


_BETWEEN: Final = 10
_ENTRY: Final = 16  # from the left of a symbol to its words


def legend_of(all_pieces: Sequence[Piece], config: Config, box: Box) -> Guide | None:
    """Legends in a row above: one for each field, of all channels that show it."""
    if config.get("disable"):
        return None
    groups: dict[tuple[str, tuple[Any, ...]], list[Piece]] = {}
    for piece in all_pieces:
        groups.setdefault((piece.field, piece.scale.names), []).append(piece)
    shown = [own for own in groups.values() if all(piece.options is not None for piece in own)]
    if not shown:
        return None
    made: list[Guide] = []
    for own in shown:
        made.append(_entries(own, config, ceil(made[-1].box.x2) + 8.0 if made else 0.0))
    high = max(one.box.y2 for one in made)
    top = box.y1 - 18 - ceil(high)
    inside = "".join(element for one in made for element in one.elements)
    moved = tag("g", [("transform", f"translate(0,{rounded(top)})")], inside)
    return Guide([moved], Box(0, top, max(one.box.x2 for one in made), top + high))


def _entries(own: Sequence[Piece], config: Config, left: float) -> Guide:
    """The entries of one legend, so many abreast as it asks for."""
    by = {piece.channel: piece for piece in reversed(own)}
    options = {key: value for piece in own for key, value in (piece.options or {}).items()}
    names, size = own[0].scale.names, float(config["symbolSize"])
    filled = any(
        piece.channel == "fill" or (piece.channel == "color" and piece.unit.filled) for piece in own
    )
    stroked = any(
        piece.channel == "stroke" or (piece.channel == "color" and not piece.unit.filled)
        for piece in own
    )
    labels = [words.written(name) for name in names]
    font = float(config["labelFontSize"])
    across = int(options.get("columns") or len(labels))
    wide = [
        max(words.width(one, font) for one in labels[at::across])
        for at in range(min(across, len(labels)))
    ]
    elements, boxes = [], []
    for number, (name, label) in enumerate(zip(names, labels, strict=True)):
        row, column = divmod(number, across)
        x = left + sum(ceil(_ENTRY + one) + _BETWEEN for one in wide[:column])
        y = row * 15.0

        def look(channel: str, name: Any = name) -> Any:
            return by[channel].scale.of(name) if channel in by else None

        shape = look("shape") or options.get("symbolType") or _symbol(own[0].unit)
        dash = look("strokeDash")
        fill = (look("fill") or look("color")) if filled else "transparent"
        stroke = (look("stroke") or look("color")) if stroked else None
        if shape == "stroke":
            stroke = stroke or own[0].unit.mark.get("color")
            fill = None
        elements.append(tag("path", [
            ("transform", f"translate({rounded(x + 6)},{rounded(y + 6)})"),
            ("d", symbol(shape, size)),
            ("fill", fill), ("stroke", stroke), ("stroke-width", 1.5 if stroke else None),
            ("stroke-dasharray", ",".join(map(str, dash)) if dash else None),
        ]))  # fmt: skip
        said = text([label], x + _ENTRY, y + 10, font, "left", config["labelColor"])
        elements += said.elements
        boxes += [said.box, Box(x, y, x + sqrt(size) + 1.5, y + 13)]
    return Guide(elements, boxes[0].with_(*boxes[1:]))


def _symbol(unit: Unit) -> str:
    if unit.kind in ("rule", "line"):
        return "stroke"
    if unit.kind in ("bar", "rect"):
        return "square"
    shape: str = unit.mark.get("shape", "circle")
    return shape
