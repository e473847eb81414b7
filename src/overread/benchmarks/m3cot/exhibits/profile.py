"""The measures of a reader side by side: as lanes, and as the paper's radar."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import FAINT, PAPER, Spec, figure_spec
from overread.benchmarks.m3cot.exhibits.dots import dots
from overread.benchmarks.m3cot.exhibits.headline import COLUMNS, Column
from overread.benchmarks.m3cot.exhibits.looks import (
    Cast,
    cast_of,
    point_row,
    spoken,
    told,
    unfit_note,
)
from overread.benchmarks.m3cot.exhibits.panels import notes_on_judges
from overread.case import Figure

__all__ = ["profile_figures"]

# What goes from 0 to 100, more being better.
_AXES: Final = tuple(
    column
    for column in COLUMNS
    if column.measure in ("accuracy", "precision", "recall", "f1", "consistency")
)
_SIDE: Final = 330
_RINGS: Final = (25, 50, 75, 100)
# How far the drawing reaches beyond its centre: there is room for names at the sides.
_REACH_X, _REACH_Y = 190, 118
_LABELS: Final = 110
_OPEN: Final[Spec] = {"filled": False, "fill": PAPER}
_LANES: Final = "Where does it reason well?"
_QUESTIONS: Final = ("answer", "precision", "recall", "order")


def profile_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """Lanes with intervals, then the radar."""
    axes = [column for column in _AXES if column.stands(index)]
    cast = cast_of(index, axes)
    yield _lanes(index, axes, cast, signature)
    yield _radar(index, axes, cast, signature)


def _lanes(index: Index, axes: Sequence[Column], cast: Cast, signature: str) -> Figure | None:
    rows = [
        point_row(reader, name, column.heading, record, lane=column.heading, panel="all items")
        for column in axes
        for reader, name in cast.names.items()
        if (record := column.of(index, reader)) is not None and record.value is not None
    ]
    if not rows:
        return None
    return Figure(
        name="profile",
        title=_LANES,
        spec=dots(rows, [column.heading for column in axes], ["all items"], cast),
        alt=f"Measures of every reader in percent: {spoken(rows, 'measure')}.",
        signature=signature,
        notes=(
            "Bars: 95 % intervals over items.",
            *unfit_note(rows),
            *cast.notes,
            *notes_on_judges(index, _QUESTIONS),
        ),
    )


def _radar(index: Index, axes: Sequence[Column], cast: Cast, signature: str) -> Figure | None:
    whole = {
        reader: name
        for reader, name in cast.names.items()
        if all((one := column.of(index, reader)) and one.value is not None for column in axes)
    }
    if len(axes) < 3 or not whole:
        return None
    rows: list[Spec] = []
    for reader, name in whole.items():
        # The first vertex again closes the line.
        for turn, column in enumerate([*axes, axes[0]]):
            record = column.of(index, reader)
            assert record is not None
            row = point_row(reader, name, column.heading, record, turn=turn)
            x, y = _at(turn, len(axes), row["value"])
            rows.append(row | {"x": x, "y": y})
    missing = len(cast.names) - len(whole)
    short = (f"{missing} readers lack one of these and are in the tables only.",)
    # Distinct names of the drawn alone, so that the legend has no others.
    spec = _spec(rows, axes, Cast(whole, 0))
    said = spoken([row for row in rows if row["turn"] < len(axes)], "measure")
    return Figure(
        name="radar",
        title="Every measure around a circle",
        spec=spec,
        alt=f"A radar chart, centre 0 and rim 100 percent: {said}.",
        signature=signature,
        notes=(
            "As the paper draws it, without intervals. The area depends on the order of the axes "
            f'and means nothing; "{_LANES}" has the same numbers with their intervals.',
            *unfit_note(rows),
            *cast.notes,
            *(short if missing else ()),
        ),
    )


def _at(turn: int, axes: int, value: float) -> tuple[float, float]:
    """Where a value stands on an axis; the first points up, the others follow clockwise."""
    angle = math.pi / 2 - 2 * math.pi * (turn % axes) / axes
    return round(value * math.cos(angle), 6), round(value * math.sin(angle), 6)


def _spec(rows: list[Spec], axes: Sequence[Column], cast: Cast) -> Spec:
    colour, shape = told(cast)
    place: Spec = {
        name: {
            "field": name,
            "type": "quantitative",
            "scale": {"domain": [-reach, reach], "nice": False, "zero": False},
            "axis": None,
        }
        for name, reach in (("x", _REACH_X), ("y", _REACH_Y))
    }
    point: Spec = {"type": "point", "size": 60, "opacity": 1, "strokeWidth": 1.5}
    layers: list[Spec] = [
        *_web(len(axes), place),
        *_names(axes, place),
        {
            "mark": {"type": "line", "strokeWidth": 2, "opacity": 0.85},
            "encoding": {
                **place,
                "color": colour,
                "order": {"field": "turn", "type": "quantitative"},
            },
        },
    ]
    for test, fill in (("!datum.unfit", {"filled": True}), ("datum.unfit", _OPEN)):
        where: Spec = {**place, "color": colour, "shape": shape}
        layers.append(
            {"transform": [{"filter": test}], "mark": {**point, **fill}, "encoding": where}
        )
    width = round(_SIDE * _REACH_X / _REACH_Y)
    return figure_spec(rows, width=width, height=_SIDE, layer=layers)


def _web(axes: int, place: Spec) -> Iterator[Spec]:
    """Rings and spokes, and the numbers of the rings on the first spoke."""
    rings = [
        {"ring": ring, "turn": turn, "x": at[0], "y": at[1]}
        for ring in _RINGS
        for turn in range(axes + 1)
        if (at := _at(turn, axes, ring))
    ]
    yield {
        "data": {"values": rings},
        "mark": {"type": "line", "color": FAINT, "strokeWidth": 0.8, "opacity": 0.5},
        "encoding": {
            **place,
            "detail": {"field": "ring", "type": "nominal"},
            "order": {"field": "turn", "type": "quantitative"},
        },
    }
    spokes = [
        {"x": 0, "y": 0, "x2": at[0], "y2": at[1]}
        for turn in range(axes)
        if (at := _at(turn, axes, 100))
    ]
    yield {
        "data": {"values": spokes},
        "mark": {"type": "rule", "color": FAINT, "strokeWidth": 0.8, "opacity": 0.5},
        "encoding": {**place, "x2": {"field": "x2"}, "y2": {"field": "y2"}},
    }
    yield {
        "data": {"values": [{"x": 0, "y": ring, "said": str(ring)} for ring in _RINGS]},
        "mark": {"type": "text", "dx": 4, "align": "left", "fontSize": 10, "color": FAINT},
        "encoding": {**place, "text": {"field": "said"}},
    }


def _names(axes: Sequence[Column], place: Spec) -> Iterator[Spec]:
    """The axes' names at the rim, each on its own side of it."""
    sides: dict[str, list[dict[str, Any]]] = {"center": [], "left": [], "right": []}
    for turn, column in enumerate(axes):
        x, y = _at(turn, len(axes), _LABELS)
        side = "center" if abs(x) < 1 else "left" if x > 0 else "right"
        sides[side].append({"x": x, "y": y, "said": column.heading})
    for align, values in sides.items():
        if values:
            yield {
                "data": {"values": values},
                "mark": {"type": "text", "align": align, "baseline": "middle", "fontSize": 12},
                "encoding": {**place, "text": {"field": "said"}},
            }
