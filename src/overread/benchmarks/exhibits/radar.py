"""Numbers from 0 to 100 around a circle, as papers draw them; one web, or several side by side.

No intervals: each figure made of this names another that has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from overread.benchmarks.exhibits import style
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.style import Cast, Spec
from overread.case import Figure, Measure

_SIDE: Final = 330
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
    signature: str,
    sides: Mapping[str, Sequence[Column]],
    *,
    title: str,
    says: str,
    before: Iterable[str],
    after: Callable[[Sequence[Web]], Iterable[str]] = lambda webs: (),
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
    short = [f"{missing} readers lack one of these and are in the tables only."] * bool(missing)
    # Distinct names of the drawn alone, so that the legend has no others.
    cast = Cast({r: name for r, name in everyone.names.items() if r in drawn}, 0)
    return Figure(
        name="radar",
        title=title,
        spec=radar(rows, webs, cast),
        alt=f"{says} {style.spoken(once, 'measure')}.",
        signature=signature,
        notes=(*before, *style.unfit_note(rows), *everyone.notes, *short, *after(webs)),
    )


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
    room = style.label_room(web.headings) * 2 * _REACH / _SIDE
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
    return {"width": round(_SIDE * wide / _REACH), "height": _SIDE, "layer": layers}


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
