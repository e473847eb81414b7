"""What stands around marks: axes, legends and titles. Each knows how far it reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import Any, Final, Literal, NamedTuple

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
    line: float = 0.0, weight: str | None = None,
) -> Guide:  # fmt: skip
    """Lines below each other; the first stands at this height."""
    step = line or size + words.LINE
    boxes = [
        text_box(said, x, y + number * step, size, align, bold=weight == "bold")
        for number, said in enumerate(lines)
    ]
    inside = words.escaped(lines[0])
    if len(lines) > 1:
        below = (tag("tspan", [("x", 0), ("dy", step)], words.escaped(one)) for one in lines[1:])
        inside = "".join([tag("tspan", [], inside), *below])
    looks = [("font-weight", weight), ("fill", colour)]
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
    """One axis as it was asked for: its scale and options, and at which side of the plot it is."""

    scale: Place
    options: Mapping[str, Any]
    title: Sequence[str]
    side: Literal["left", "bottom", "top"]

    @property
    def upright(self) -> bool:
        return self.side == "left"

    @property
    def values(self) -> list[Any]:
        scale, given = self.scale, self.options.get("values")
        if not isinstance(scale, Number):
            return list(given or scale.names)
        low, high = sorted((scale.low, scale.high))
        if given is not None:
            return [one for one in given if low <= one <= high]
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
    if not axis.options.get("grid", isinstance(axis.scale, Number)):
        return []
    looks = {"stroke": config["gridColor"], "stroke_opacity": config["gridOpacity"]}
    found = []
    for at in map(axis.scale.at, axis.values):
        if at is not None:
            x, y, right, down = (
                (0, round(at), width, 0) if axis.upright else (round(at), 0, 0, height)
            )
            found.append(line(x + 0.5, y + 0.5, float(right), float(down), stroke_width=1, **looks))
    return found


def axis_of(axis: Axis, config: Config, width: float, height: float) -> Guide:
    """Ticks, labels, the line along the axis and its title."""
    return _Drawing(axis, config, width, height).made()


class _Label(NamedTuple):
    element: str
    box: Box


class _Drawing:
    """One axis being drawn. A class, for all of its parts stand by its side, one beyond another."""

    def __init__(self, axis: Axis, config: Config, width: float, height: float) -> None:
        self.axis, self.config, self.width, self.height = axis, config, width, height
        self.length = height if axis.upright else width
        self.size = float(config["labelFontSize"])

    def _point(self, at: float, out: float) -> tuple[float, float]:
        """What is so far along the axis, and so far away from the plot."""
        if self.axis.side == "left":
            return -out, at
        return (at, self.height + out) if self.axis.side == "bottom" else (at, -out)

    def _line(self, at: float, out: float, along: float, away: float, colour: object) -> str:
        (x, y), (x2, y2) = self._point(at, out), self._point(at + along, out + away)
        return line(x + 0.5, y + 0.5, x2 - x, y2 - y, stroke=colour, stroke_width=1)

    def _reach(self, box: Box) -> float:
        """How far away from the plot something reaches."""
        ends = {"left": -box.x1, "bottom": box.y2 - self.height, "top": -box.y1}
        return ends[self.axis.side]

    def made(self) -> Guide:
        axis, options, config = self.axis, self.axis.options, self.config
        places = [
            (at, lines)
            for value, lines in zip(axis.values, axis.labels(), strict=True)
            if (at := axis.scale.at(value)) is not None
        ]
        long = float(_TICK) if options.get("ticks", True) else 0.0
        elements = [
            self._line(round(at), 0, 0, long, config["tickColor"]) for at, _ in places if long
        ]
        labels = []
        if options.get("labels", True):
            labels = self._labels(places, long + options.get("labelPadding", _PADDING))
        elements += [one.element for one in labels]
        extent = max(
            (long, float(options.get("minExtent", 0)), *(self._reach(one.box) for one in labels))
        )
        if options.get("domain", True):
            elements.append(self._line(0, 0, self.length, 0, config["domainColor"]))
        (x, y), (x2, y2) = self._point(0, 0), self._point(self.length, extent)
        box = Box(min(x, x2), min(y, y2), max(x, x2), max(y, y2))
        box = box.with_(*(one.box for one in labels))
        if axis.title:
            title = self._title(extent + _TITLE_PADDING)
            elements += title.elements
            box = box.with_(title.box)
        return Guide(elements, box)

    def _labels(self, places: Sequence[tuple[float, Sequence[str]]], out: float) -> list[_Label]:
        options, named = self.axis.options, not isinstance(self.axis.scale, Number)
        limit = options.get("labelLimit", self.config.get("labelLimit", 0))
        turned = named and not self.axis.upright and options.get("labelAngle", 270) == 270
        made = []
        for at, lines in places:
            told = [_cut(one, limit, self.size) for one in lines]
            made.append(self._turned(told[0], at, out) if turned else self._label(told, at, out))
        return made if named else _apart(made)

    def _label(self, told: Sequence[str], at: float, out: float) -> _Label:
        x, y = self._point(at, out)
        step = float(self.axis.options.get("labelLineHeight", self.size + words.LINE))
        if self.axis.upright:
            align, y = "right", y + baseline("middle", self.size)
        else:
            above = self.axis.side == "top" and self.axis.options.get("labelBaseline") != "top"
            align, x = self._flush(at), x + 0.5
            y += baseline("bottom" if above else "top", self.size)
        made = text(told, x, y, self.size, align, self.config["labelColor"], line=step)
        return _Label(made.elements[0], made.box)

    def _flush(self, at: float) -> str:
        """The first and last number of an axis reach no further than it, unless they may."""
        if isinstance(self.axis.scale, Number) and self.axis.options.get("labelFlush", True):
            if abs(at) < 1:
                return "left"
            if abs(at - self.length) < 1:
                return "right"
        return "center"

    def _turned(self, told: str, at: float, out: float) -> _Label:
        x, y = self._point(at + baseline("middle", self.size) + 0.5, out)
        looks = [*turned_attributes(x, y, self.size, "end"), ("fill", self.config["labelColor"])]
        box = Box(x - self.size, y, x, y + words.width(told, self.size))
        return _Label(tag("text", looks, words.escaped(told)), box)

    def _title(self, out: float) -> Guide:
        size, colour = float(self.config["titleFontSize"]), self.config["titleColor"]
        weight, lines = self.config.get("titleFontWeight"), self.axis.title
        x, y = self._point(self.length / 2, out)
        if not self.axis.upright:
            y += baseline("top" if self.axis.side == "bottom" else "bottom", size)
            return text(lines, x + 0.5, y, size, "center", colour, weight=weight)
        x += baseline("bottom", size)
        looks = [("font-weight", weight), ("fill", colour)]
        element = tag(
            "text", [*turned_attributes(x, y, size, "middle"), *looks], words.escaped(lines[0])
        )
        half, over = words.width(lines[0], size) / 2, round(0.8 * size)
        return Guide([element], Box(x - over, y - half, x + size - over, y + half))


def _apart(made: list[_Label]) -> list[_Label]:
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


# ---------------------------------------------------------------- titles


_SMALL: Final = 11.0  # the font of what stands below a title


def title_of(given: Any, config: Config, box: Box, width: float) -> Guide:
    """A title above, or below, what it is of."""
    title: Mapping[str, Any] = {
        **config,
        **(given if isinstance(given, Mapping) else {"text": given}),
    }
    size, colour = float(title.get("fontSize", 13)), title.get("color", "black")
    lines = words.lines_of(title["text"])
    under = words.lines_of(title["subtitle"]) if "subtitle" in title else []
    place = title.get("anchor", "middle")
    left, right = (0.0, width) if title.get("frame") == "group" else (box.x1, box.x2)
    x = {"start": left, "middle": (left + right) / 2, "end": right}[place]
    align = {"start": "left", "middle": "center", "end": "right"}[place]
    high = (size + words.LINE) * len(lines) - words.LINE
    whole = high + (3 + (_SMALL + words.LINE) * len(under) - words.LINE if under else 0)
    offset = float(title.get("offset", 4))
    y = box.y2 + offset if title.get("orient") == "bottom" else box.y1 - offset - whole - 1
    weight = title.get("fontWeight")
    made = text(lines, x, y + baseline("top", size), size, align, colour, weight=weight)
    if not under:
        return made
    y += high + 3 + baseline("top", _SMALL)
    below = text(under, x, y, _SMALL, align, title.get("subtitleColor", colour))
    return Guide(made.elements + below.elements, made.box.with_(below.box))


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
