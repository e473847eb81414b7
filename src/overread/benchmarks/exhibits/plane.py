"""Planes: one number against another, a mark per reader with intervals on both axes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

from overread.benchmarks.exhibits.style import FAINT, Spec, figure_spec, ground, number_axis
from overread.case import Measure

_SIDE: Final = 360
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
    height = max(_SIDE, _LINE * len(rows))
    _place_marks(rows, height, x_bounds, y_bounds)
    x, y = number_axis("x", titles[0], *x_bounds), number_axis("y", titles[1], *y_bounds)
    at = {**x, "field": "mark_x"}
    line = {"type": "rule", "strokeWidth": 1.6, "opacity": 0.75}

    def drawn(mark: Spec, **channels: Any) -> Spec:
        return {"mark": mark, "encoding": {"x": x, "y": y, **channels}}

    thin = {"type": "rule", "strokeWidth": 0.8, "color": FAINT, "opacity": 0.8}
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
    return figure_spec(rows, width=_SIDE, height=height, layer=layers)


def _place_marks(
    rows: list[Spec], height: int, x_bounds: tuple[float, float], y_bounds: tuple[float, float]
) -> None:
    """Where each mark and each name stands, in the units of the axes.

    Marks that would hide each other stand side by side.
    """
    x_pixel = (x_bounds[1] - x_bounds[0]) / _SIDE
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


# ---------------------------------------------------------------- behind the marks


def dashed_line(start: tuple[float, float], end: tuple[float, float]) -> Spec:
    """A dashed line between two places."""
    mark = {"type": "line", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1}
    return ground([{"x": x, "y": y} for x, y in (start, end)], mark, **_PLACE)


def ground_word(said: str, x: float, y: float, **mark: Any) -> Spec:
    """A word on the ground of a plane."""
    looks = {"type": "text", "baseline": "top", "fontStyle": "italic", "opacity": 0.8, **mark}
    return ground([{"x": x, "y": y, "said": said}], looks, **_PLACE, text={"field": "said"})
