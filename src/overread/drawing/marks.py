"""The marks of one layer: points, rules, lines, bars, boxes, texts and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

from overread.drawing import text as words
from overread.drawing.expressions import NotDrawn, Row, expression, is_valid
from overread.drawing.scales import Number, Place, Scale, Steps, look_scale
from overread.drawing.text import rounded, tag

BLUE: Final = "#4c78a8"
FILLED: Final = ("bar", "rect", "circle", "square", "text", "image")
_PAINTS: Final = ("color", "fill", "stroke", "opacity", "size", "shape", "strokeDash")
_PLACES: Final = ("x", "y", "x2", "y2", "xOffset", "yOffset")
_WORDS: Final = ("text", "url", "order", "detail")
KNOWN: Final = frozenset({*_PAINTS, *_PLACES, *_WORDS})
_SPOKEN_FIRST: Final = ("x", "y", "x2", "y2", *_PAINTS, "order", "detail", "text")
_HALF_ROOT_3: Final = sqrt(3) / 2
_BASELINES: Final = {"top": 0.79, "middle": 0.30, "bottom": -0.21, "alphabetic": 0.0}
_ANCHORS: Final = {"left": "start", "center": "middle", "right": "end"}


class Box(NamedTuple):
    """How far something reaches."""

    x1: float
    y1: float
    x2: float
    y2: float

    def with_(self, *others: Box) -> Box:
        boxes = (self, *others)
        return Box(
            min(b.x1 for b in boxes),
            min(b.y1 for b in boxes),
            max(b.x2 for b in boxes),
            max(b.y2 for b in boxes),
        )

    def moved(self, x: float, y: float) -> Box:
        return Box(self.x1 + x, self.y1 + y, self.x2 + x, self.y2 + y)


class Unit(NamedTuple):
    """One layer: its mark, its channels, and its rows after every transform."""

    mark: Mapping[str, Any]
    channels: Mapping[str, Any]
    rows: Sequence[Row]
    whole: Sequence[Row]  # those of all panels by a field, which scales are for

    @property
    def kind(self) -> str:
        found: str = self.mark["type"]
        return found

    @property
    def filled(self) -> bool:
        return bool(self.mark.get("filled", self.kind in FILLED))


class Ground(NamedTuple):
    """Where marks stand: the scales of the places, and how large the plot is."""

    x: Place | None
    y: Place | None
    x_offset: Steps | None
    y_offset: Steps | None
    width: float
    height: float


class Drawn(NamedTuple):
    """Marks as elements, and how far they reach."""

    elements: list[str]
    box: Box | None


def drawn(unit: Unit, ground: Ground, config: Mapping[str, Any], *, aria: bool) -> Drawn:
    """All marks of a layer."""
    return _Layer(unit, ground, config, aria=aria).drawn()


class _Layer:
    """One layer being drawn. A class, for every mark needs its scales, defaults and places."""

    def __init__(
        self, unit: Unit, ground: Ground, config: Mapping[str, Any], *, aria: bool
    ) -> None:
        self.unit, self.ground, self.aria = unit, ground, aria
        self.mark = {**config.get(unit.kind, {}), **unit.mark}
        self.ink = config.get("rule", {}).get("color", "black")
        self.elements: list[str] = []
        self.boxes: list[Box] = []
        self.scales: dict[str, Scale | None] = {}
        for name in _PAINTS:
            channel = unit.channels.get(name)
            if channel is None:
                continue
            options = _conditions(channel)
            fields = [one for one in (channel, *options) if "field" in one]
            if len(fields) > 1:
                raise NotDrawn(f"two fields for {name}")
            if fields:
                self.scales[name] = look_scale(fields[0], unit.whole)

    def drawn(self) -> Drawn:
        kind = self.unit.kind
        if kind == "line":
            self._lines()
        elif kind == "boxplot":
            self._boxes_and_whiskers()
        elif (one := getattr(self, f"_{kind}", None)) is not None:
            fields = any("field" in channel for channel in self.unit.channels.values())
            for row in self.unit.rows if fields else self.unit.rows[:1]:
                one(row)
        else:
            raise NotDrawn(f"a mark of type {kind}")
        whole = self.boxes[0].with_(*self.boxes[1:]) if self.boxes else None
        if whole is not None and self.mark.get("clip"):
            g = self.ground
            whole = Box(
                max(whole.x1, 0.0),
                max(whole.y1, 0.0),
                min(whole.x2, g.width),
                min(whole.y2, g.height),
            )
        return Drawn(self.elements, whole)

    # ------------------------------------------------------------ places

    def _place(self, name: str, row: Row) -> float | None:
        """Where a row stands by a channel; None where it does not say."""
        channel = self.unit.channels.get(name)
        if channel is None:
            return None
        if "value" in channel:
            return float(channel["value"])
        scale = self.ground.x if name[0] == "x" else self.ground.y
        if scale is None:
            return None
        found = scale.at(channel["datum"] if "datum" in channel else row.get(channel["field"]))
        offset = (
            self.ground.x_offset if name == "x" else self.ground.y_offset if name == "y" else None
        )
        aside = self.unit.channels.get(f"{name}Offset")
        if found is None or offset is None or aside is None:
            return found
        assert isinstance(scale, Steps)
        moved = offset.at(row.get(aside["field"]))
        return None if moved is None else found - scale.width / 2 + moved

    def _known(self, *names: str, row: Row) -> list[float] | None:
        """The places by these channels; None if any that is there says nothing."""
        found = [self._place(name, row) for name in names]
        if any(
            one is None and name in self.unit.channels
            for one, name in zip(found, names, strict=True)
        ):
            return None
        return [0.0 if one is None else one for one in found]

    # ------------------------------------------------------------ looks

    def _look(self, name: str, row: Row) -> Any:
        """What a channel says of a row; None where there is no such channel."""
        channel = self.unit.channels.get(name)
        if channel is None:
            return None
        for option in _conditions(channel):
            if expression(option["test"])(row):
                return self._said(name, option, row)
        return self._said(name, channel, row)

    def _said(self, name: str, channel: Mapping[str, Any], row: Row) -> Any:
        if "field" not in channel:
            return channel.get("value")
        value: Any = row.get(channel["field"])
        scale = self.scales[name]
        if scale is None or not is_valid(value):
            return value
        try:
            return scale.of(value)
        except ValueError:
            return None

    def _painted(self, row: Row) -> list[tuple[str, object]]:
        """Fill and stroke: of the channels, else of the mark."""
        mark, filled = self.mark, self.unit.filled
        colour = self._look("color", row) or mark.get("color") or BLUE
        fill = self._look("fill", row) or mark.get("fill") or (colour if filled else None)
        stroke = self._look("stroke", row) or mark.get("stroke") or (None if filled else colour)
        opacity = self._look("opacity", row)
        if opacity is None:
            opacity = mark.get("opacity", 0.7 if self.unit.kind in ("point", "circle") else None)
        dash = self._look("strokeDash", row) or mark.get("strokeDash")
        wide = mark.get(
            "strokeWidth", 2 if self.unit.kind in ("line", "point") and not filled else None
        )
        return [
            ("fill", fill or ("transparent" if self.unit.kind == "point" else None)),
            ("stroke", stroke),
            ("stroke-width", None if stroke is None or wide is None else float(wide)),
            ("stroke-dasharray", ",".join(map(str, dash)) if dash else None),
            ("opacity", None if opacity is None else float(opacity)),
        ]

    def _said_of(self, row: Row) -> list[tuple[str, object]]:
        """What a mark shows, for those who do not see it, and for a page that marks whose it is."""
        if not self.aria:
            return []
        told: dict[str, str] = {}
        channels = self.unit.channels
        for name in (*_SPOKEN_FIRST, *channels):
            channel = channels.get(name, {})
            for one in (channel, *_conditions(channel)):
                if "field" in one and one["field"] not in told:
                    told[one["field"]] = words.spoken(row.get(one["field"]))
        label = "; ".join(f"{name}: {value}" for name, value in told.items())
        return [("aria-label", label), ("role", "graphics-symbol")]

    def _add(
        self,
        name: str,
        box: Box,
        row: Row,
        *attributes: tuple[str, object],
        inside: str | None = None,
    ) -> None:
        self.elements.append(tag(name, [*self._said_of(row), *attributes], inside))
        self.boxes.append(box)

    # ------------------------------------------------------------ marks

    def _point(self, row: Row) -> None:
        place = self._known("x", "y", row=row)
        if place is None:
            return
        x, y = self._middle(place)
        size = self._look("size", row)
        size = self.mark.get("size", 30) if size is None else size
        shape = self._look("shape", row) or self.mark.get("shape", "circle")
        paint = self._painted(row)
        reach = sqrt(size) / 2 + float(self.mark.get("strokeWidth", 1)) / 2
        self._add(
            "path",
            Box(x - reach, y - reach, x + reach, y + reach),
            row,
            ("transform", f"translate({rounded(x)},{rounded(y)})"),
            ("d", symbol(shape, size)),
            *paint,
        )

    _circle = _point

    def _middle(self, place: list[float]) -> tuple[float, float]:
        x, y = place
        channels, ground = self.unit.channels, self.ground
        return (x if "x" in channels else ground.width / 2), (
            y if "y" in channels else ground.height / 2
        )

    def _rule(self, row: Row) -> None:
        place = self._known("x", "y", "x2", "y2", row=row)
        if place is None:
            return
        x, y, x2, y2 = place
        channels, ground = self.unit.channels, self.ground
        if "x2" not in channels:
            x2 = x
        if "y2" not in channels:
            y2 = y
        if "x" not in channels:
            x, x2 = 0.0, ground.width
        if "y" not in channels:
            y, y2 = 0.0, ground.height
        box = Box(min(x, x2), min(y, y2), max(x, x2), max(y, y2))
        self._add(
            "line",
            box,
            row,
            ("transform", f"translate({rounded(x)},{rounded(y)})"),
            ("x2", x2 - x),
            ("y2", y2 - y),
            *self._painted(row),
        )

    def _rect(self, row: Row) -> None:
        place = self._known("x", "y", "x2", "y2", row=row)
        if place is None:
            return
        x, y, x2, y2 = place
        x, x2 = self._span("x", x, x2, self.ground.width)
        y, y2 = self._span("y", y, y2, self.ground.height)
        box = Box(min(x, x2), min(y, y2), max(x, x2), max(y, y2))
        path = _box_path(box.x1, box.y1, box.x2 - box.x1, box.y2 - box.y1)
        self._add("path", box, row, ("d", path), *self._painted(row))

    _bar = _rect

    def _span(self, axis: str, at: float, end: float, whole: float) -> tuple[float, float]:
        """From where to where a box reaches along an axis."""
        channels = self.unit.channels
        if f"{axis}2" in channels:
            return at, end
        if axis not in channels:
            return 0.0, whole
        scale = self.ground.x if axis == "x" else self.ground.y
        if not isinstance(scale, Steps):
            raise NotDrawn("a bar with one end")
        size = self.mark.get("width" if axis == "x" else "height", scale.width)
        return at - size / 2, at + size / 2

    def _text(self, row: Row) -> None:
        place = self._known("x", "y", row=row)
        told = words.lines_of(self._look_text(row))
        if place is None or not any(told):
            return
        if len(told) > 1:
            raise NotDrawn("a text of several lines in a mark")
        x, y = self._middle(place)
        mark, size = self.mark, float(self.mark.get("fontSize", 11))
        x += float(mark.get("dx", 0))
        y += float(mark.get("dy", 0)) + baseline(mark.get("baseline", "middle"), size)
        align, bold = mark.get("align", "center"), mark.get("fontWeight") == "bold"
        colour = self._look("color", row) or self._look("fill", row) or mark.get("color", "black")
        opacity = mark.get("opacity")
        self._add(
            "text",
            text_box(told[0], x, y, size, align, bold=bold),
            row,
            *text_attributes(x, y, size, align),
            ("font-weight", mark.get("fontWeight")),
            ("font-style", mark.get("fontStyle")),
            ("fill", colour),
            ("opacity", None if opacity is None else float(opacity)),
            inside=words.escaped(told[0]),
        )

    def _look_text(self, row: Row) -> object:
        channel = self.unit.channels.get("text", {})
        return row.get(channel["field"]) if "field" in channel else channel.get("value")

    def _image(self, row: Row) -> None:
        place = self._known("x", "y", row=row)
        if place is None:
            return
        x, y = place
        wide, high = float(self.mark["width"]), float(self.mark["height"])
        x -= {"left": 0.0, "center": wide / 2, "right": wide}[self.mark.get("align", "center")]
        y -= {"top": 0.0, "middle": high / 2, "bottom": high}[self.mark.get("baseline", "middle")]
        url = words.written(row.get(self.unit.channels["url"]["field"]))
        if not url.startswith("data:image/"):
            raise NotDrawn("a picture that is not inside")
        self._add(
            "image",
            Box(x, y, x + wide, y + high),
            {},
            ("xlink:href", url),
            ("width", wide),
            ("height", high),
            ("transform", f"translate({rounded(x)},{rounded(y)})"),
            ("preserveAspectRatio", "xMidYMid"),
        )

    def _lines(self) -> None:
        """A line for each group of rows, in their order."""
        channels = self.unit.channels
        keys = [
            channels[name]["field"]
            for name in ("color", "stroke", "detail")
            if "field" in channels.get(name, {})
        ]
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.unit.rows:
            groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
        along = channels.get("order", channels.get("x", {})).get("field", "")
        for rows in groups.values():
            rows = sorted(rows, key=lambda row: float(row.get(along) or 0))
            places = [
                place for row in rows if (place := self._known("x", "y", row=row)) is not None
            ]
            if not places:
                continue
            path = "M" + "L".join(f"{rounded(x)},{rounded(y)}" for x, y in places)
            across, down = [x for x, _ in places], [y for _, y in places]
            self._add(
                "path",
                Box(min(across), min(down), max(across), max(down)),
                rows[0],
                ("d", path),
                *self._painted(rows[0]),
            )

    def _boxes_and_whiskers(self) -> None:
        """Of the rows in each band: least and most, and a box over the middle half."""
        channels, ground = self.unit.channels, self.ground
        if (
            self.mark.get("extent") != "min-max"
            or not isinstance(ground.x, Number)
            or not isinstance(ground.y, Steps)
        ):
            raise NotDrawn("a box plot other than of numbers in lanes, from the least to the most")
        field, lane = channels["x"]["field"], channels["y"]["field"]
        groups: dict[Any, list[float]] = {}
        for row in self.unit.rows:
            if is_valid(row.get(field)):
                groups.setdefault(row.get(lane), []).append(float(row[field]))
        high, colour = float(self.mark.get("size", 14)), self.mark.get("color", BLUE)
        for name, values in groups.items():
            y = ground.y.at(name)
            ends = [ground.x.at(quantile(values, share)) for share in (0, 0.25, 0.5, 0.75, 1)]
            if y is None or any(end is None for end in ends):
                continue
            least, first, middle, third, most = (end for end in ends if end is not None)
            for start, end in ((least, first), (third, most)):
                self.elements.append(tag("line", [
                    ("transform", f"translate({rounded(start)},{rounded(y)})"),
                    ("x2", end - start), ("y2", 0.0), ("stroke", self.ink),
                ]))  # fmt: skip
            path = _box_path(first, y - high / 2, third - first, high)
            span = f"{words.spoken(min(values))} to {words.spoken(max(values))}"
            said = f"{lane}: {words.written(name)}; {field}: {span}"
            label = [("aria-label", said), ("role", "graphics-symbol")] if self.aria else []
            self.elements.append(tag("path", [*label, ("d", path), ("fill", colour)]))
            self.elements.append(tag("line", [
                ("transform", f"translate({rounded(middle)},{rounded(y - high / 2)})"),
                ("x2", 0.0), ("y2", high), ("stroke", "white"),
            ]))  # fmt: skip
            self.boxes.append(Box(least, y - high / 2, most, y + high / 2))


def _box_path(x: float, y: float, width: float, height: float) -> str:
    wide = rounded(width)
    return f"M{rounded(x)},{rounded(y)}h{wide}v{rounded(height)}h-{wide}Z"


def _conditions(channel: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    given = channel.get("condition", ())
    yield from [given] if isinstance(given, Mapping) else given


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two values nearest to a share of the way from the least to the most."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def symbol(shape: str, size: float) -> str:
    """The outline of a mark of so many square pixels, around its middle."""
    r = sqrt(size) / 2
    if shape == "circle":
        n = rounded(r)
        return f"M{n},0A{n},{n},0,1,1,-{n},0A{n},{n},0,1,1,{n},0"
    if shape == "square":
        n, whole = rounded(r), rounded(2 * r)
        return f"M-{n},-{n}h{whole}v{whole}h-{whole}Z"
    h, s = _HALF_ROOT_3 * r, r / 2.5
    outlines: dict[str, Sequence[tuple[float, float]]] = {
        "cross": (
            (-r, -s), (-r, s), (-s, s), (-s, r), (s, r), (s, s),
            (r, s), (r, -s), (s, -s), (s, -r), (-s, -r), (-s, -s),
        ),
        "diamond": ((-r, 0), (0, -r), (r, 0), (0, r)),
        "triangle-up": ((0, -h), (-r, h), (r, h)),
        "triangle-down": ((0, h), (-r, -h), (r, -h)),
        "triangle-right": ((h, 0), (-h, -r), (-h, r)),
        "triangle-left": ((-h, 0), (h, -r), (h, r)),
        "stroke": ((-r, 0), (r, 0)),
    }  # fmt: skip
    if shape not in outlines:
        raise NotDrawn(f"a mark shaped as {shape}")
    return "M" + "L".join(f"{rounded(x)},{rounded(y)}" for x, y in outlines[shape]) + "Z"


def baseline(name: str, size: float) -> float:
    """How far below its place a text stands."""
    return round(_BASELINES[name] * size)


def text_attributes(x: float, y: float, size: float, align: str) -> list[tuple[str, object]]:
    return [
        ("text-anchor", _ANCHORS[align]),
        ("transform", f"translate({rounded(x)},{rounded(y)})"),
        ("font-family", words.FONT),
        ("font-size", f"{rounded(size)}px"),
    ]


def text_box(line: str, x: float, y: float, size: float, align: str, *, bold: bool = False) -> Box:
    """How far a line reaches whose letters stand at this height."""
    wide = words.width(line, size, bold=bold)
    left = x - {"left": 0.0, "center": wide / 2, "right": wide}[align]
    return Box(left, y - round(0.8 * size), left + wide, y + round(0.2 * size))
