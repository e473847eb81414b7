"""Figures that set one rate against another: a mark per reader, intervals on both axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.style import BLUE, FAINT, Spec, figure_spec, number_axis, shown
from overread.benchmarks.grounding.category import STEADY_FROM, UNSTABLE_BELOW
from overread.benchmarks.grounding.exhibits.dot_plot import (
    UNKNOWN,
    Index,
    bounds,
    glyph,
    hundred,
    identity,
    tint,
)
from overread.benchmarks.grounding.exhibits.tables import sizes
from overread.case import Figure, Measure

__all__ = [
    "against",
    "apart",
    "in_words",
    "limits",
    "plane",
    "plane_row",
    "resolution_plane",
    "sens_spec",
    "transfer_figure",
    "triad",
]

_SIDE: Final = 360
_LINE: Final = 15
_GAP: Final = 26
_MARK: Final = 12
_SAME: Final = 6


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as can be to those wanted, in their order, at least `gap` from each other.

    They stay between `low` and `high` where there is room for all.
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    # Less the gaps before it, every place may be where any other is: a monotone fit, by pooling.
    pools: list[list[float]] = []
    for rank, at in enumerate(order):
        pools.append([wanted[at] - gap * rank])
        while len(pools) > 1 and _average(pools[-2]) > _average(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    fitted = [_average(pool) for pool in pools for _ in pool]
    top = high - gap * (len(order) - 1)
    placed = [max(low, min(place, top)) + gap * rank for rank, place in enumerate(fitted)]
    found = [0.0] * len(order)
    for rank, at in enumerate(order):
        found[at] = placed[rank]
    return found


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def plane_row(facts: Spec, x: Measure, y: Measure) -> Spec:
    return facts | {
        "x": hundred(x.value),
        "x_low": hundred(x.low),
        "x_high": hundred(x.high),
        "x_n": x.n,
        "y": hundred(y.value),
        "y_low": hundred(y.low),
        "y_high": hundred(y.high),
        "y_n": y.n,
    }


def plane(
    rows: list[Spec],
    titles: tuple[str, str],
    x_bounds: tuple[float, float],
    y_bounds: tuple[float, float],
    behind: Sequence[Spec] = (),
) -> Spec:
    """Marks with intervals; the names stand at the right, a thin line to each mark."""
    height = max(_SIDE, _LINE * len(rows))
    _place_marks(rows, height, x_bounds, y_bounds)
    x, y = number_axis("x", titles[0], *x_bounds), number_axis("y", titles[1], *y_bounds)
    at = {**x, "field": "mark_x"}
    mark, encoding = glyph(rows)
    line = {"type": "rule", "strokeWidth": 1.6, "opacity": 0.75}

    def drawn(mark: Spec, **channels: Any) -> Spec:
        return {"mark": mark, "encoding": {"x": x, "y": y, **channels}}

    thin = {"type": "rule", "strokeWidth": 0.8, "color": FAINT, "opacity": 0.8}
    layers = [
        *behind,
        drawn(thin, x=at, x2={"field": "name_x"}, y2={"field": "name_y"}),
        drawn(line, x={**x, "field": "x_low"}, x2={"field": "x_high"}, stroke=tint(rows)),
        drawn(line, y={**y, "field": "y_low"}, y2={"field": "y_high"}, stroke=tint(rows)),
        drawn(mark, x=at, **encoding),
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


def against(index: Index, x: str, y: str) -> list[Spec]:
    names = shown(index.readers)
    return [
        plane_row(identity(index, reader, names), of_x, of_y)
        for reader in index.readers
        if (of_x := index.known(reader, x)) and (of_y := index.known(reader, y))
    ]


def limits(rows: Sequence[Spec], axis: str, *inside: float) -> tuple[float, float]:
    return bounds((row[f"{axis}{part}"] for row in rows for part in ("", "_low", "_high")), *inside)


# ---------------------------------------------------------------- what a reader does
# Figure 2a and d: what a reader does, in two planes.


# ---------------------------------------------------------------- Figure 2a


def triad(index: Index, signature: str) -> Figure | None:
    """Figure 2a: CGR against IS, with the regions of the category rule shaded."""
    rows = against(index, "is", "cgr")
    if not rows:
        return None
    left, _ = limits(rows, "x", 60, 100)
    _, top = limits(rows, "y", 0)
    x_bounds, y_bounds = (left, 101.0), (-top / 50, float(top))
    regions = [
        {"x": left, "x2": UNSTABLE_BELOW, "y": y_bounds[0], "y2": top, "said": "unstable"},
        {"x": STEADY_FROM, "x2": 101, "y": 0, "y2": top, "said": "uses image"},
    ]
    shaded = {
        "data": {"values": regions},
        "mark": {"type": "rect", "opacity": 0.12},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "x2": {"field": "x2"},
            "y": {"field": "y", "type": "quantitative"},
            "y2": {"field": "y2"},
            "color": {
                "field": "said",
                "type": "nominal",
                "scale": {"domain": ["unstable", "uses image"], "range": ["#e69f00", BLUE]},
                "legend": None,
            },
        },
    }
    words = (
        _ground_word("unstable", left, top, align="left", dx=4),
        _ground_word("uses image", 101, top, align="right", dx=-3),
    )
    spec = plane(
        rows,
        (
            "IS: a mask elsewhere leaves the answer, percent",
            "CGR: the target mask flips it, percent",
        ),
        x_bounds,
        y_bounds,
        (shaded, *words),
    )
    spec["resolve"] = {"scale": {"color": "independent"}}
    return Figure(
        name="triad",
        title="Does the answer hang on the finding, and only on it?",
        spec=spec,
        alt="Causal grounding rate (CGR) against irrelevant-mask stability (IS), percent with 95 % "
        f"intervals: {in_words(rows, 'IS', 'CGR')}.",
        signature=signature,
        notes=(
            "Shaded: the regions of the published rule. A reader at the bottom right corner "
            "ignores the image if its UAR is 100 too. Open marks: readers that get no image.",
        ),
    )


# ---------------------------------------------------------------- Figure 2d


def sens_spec(index: Index, signature: str) -> Figure | None:
    """Figure 2d: sensitivity against specificity."""
    rows = against(index, "specificity", "sensitivity")
    if not rows:
        return None
    diagonal = {
        "data": {"values": [{"x": 0, "y": 100}, {"x": 100, "y": 0}]},
        "mark": {"type": "line", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "quantitative"},
        },
    }
    spec = plane(
        rows,
        ("specificity, percent", "sensitivity, percent"),
        (-2.0, 102.0),
        (-2.0, 102.0),
        (
            diagonal,
            _ground_word("always Yes", 0, 100, align="left", dx=14, dy=-4, baseline="bottom"),
            _ground_word("always No", 100, 0, align="right", dx=-14, baseline="middle"),
        ),
    )
    return Figure(
        name="sens_spec",
        title="Does it tell present from absent?",
        spec=spec,
        alt="Sensitivity against specificity, percent with 95 % intervals: "
        f"{in_words(rows, 'specificity', 'sensitivity')}.",
        signature=signature,
        notes=("On the dashed line an answer says nothing about the finding.",),
    )


def _ground_word(said: str, x: float, y: float, **mark: Any) -> Spec:
    """A word on the ground of a plane."""
    return {
        "data": {"values": [{"x": x, "y": y, "said": said}]},
        "mark": {"type": "text", "baseline": "top", "fontStyle": "italic", "opacity": 0.8, **mark},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "quantitative"},
            "text": {"field": "said"},
        },
    }


# ---------------------------------------------------------------- a rate under other circumstances
# Figure 6 and Supplementary Figure 1a: does a rate stay where it was under other circumstances?


_LONGEST_NAME: Final = 40
_SAME_RATE_NOTE: Final = (
    "On the dashed line a reader has the same rate twice; bars are 95 % intervals."
)


def transfer_figure(
    pairs: Sequence[tuple[str, Measure, Measure]],
    *,
    names: tuple[str, str] = ("first run", "second run"),
    rate: str = "UAR",
    categories: Mapping[str, str] | None = None,
    text_only: frozenset[str] = frozenset(),
    signature: str = "",
    notes: Sequence[str] = (),
) -> Figure:
    """Figure 6a, b: a rate in one run against the same rate in another, reader by reader.

    `pairs` are (reader, its record in the first run, its record in the second); one without a value
    is left out. `categories` are those of the first run.
    """
    drawn = shown([reader for reader, _, _ in pairs])
    rows = [
        plane_row(
            {
                "reader": reader,
                "shown": drawn[reader],
                "category": (categories or {}).get(reader, UNKNOWN),
                "gets_image": reader not in text_only,
            },
            x,
            y,
        )
        for reader, x, y in pairs
        if x.value is not None and y.value is not None
    ]
    at = [name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}" for name in names]
    spec = _same_axes(rows, (f"{rate} in {at[0]}, percent", f"{rate} in {at[1]}, percent"))
    if not categories:
        spec["config"] = {**spec["config"], "legend": {"disable": True}}
    told = in_words(rows, f"in {names[0]}", f"in {names[1]}") if rows else "no reader has both"
    return Figure(
        name="transfer",
        title="Do the numbers hold on other cases?",
        spec=spec,
        alt=f"{rate} of every reader in two runs, percent with 95 % intervals: {told}.",
        signature=signature,
        notes=(_SAME_RATE_NOTE, *notes),
    )


def resolution_plane(index: Index, signature: str) -> Figure | None:
    """Supplementary Figure 1a: CGR at another resolution against CGR at the headline's."""
    px = sizes(index)
    if len(px) < 2:
        return None
    names = shown(index.readers)
    rows = [
        plane_row(identity(index, reader, names), x, y)
        for reader in index.readers
        if (x := index.known(reader, "cgr", px=px[0]))
        and (y := index.known(reader, "cgr", px=px[1]))
    ]
    if not rows:
        return None
    return Figure(
        name="resolution_plane",
        title=f"Is CGR the same at {px[1]} pixels?",
        spec=_same_axes(rows, (f"CGR at {px[0]} px, percent", f"CGR at {px[1]} px, percent")),
        alt=f"CGR at {px[1]} against {px[0]} pixels, percent with 95 % intervals: "
        f"{in_words(rows, f'at {px[0]} px', f'at {px[1]} px')}.",
        signature=signature,
        notes=(_SAME_RATE_NOTE,),
    )


def _same_axes(rows: list[Spec], titles: tuple[str, str]) -> Spec:
    """A plane whose two axes are the same, with the line on which both rates are equal."""
    low, high = 0.0, 100.0
    if rows:
        ends = (*limits(rows, "x"), *limits(rows, "y"))
        low, high = min(ends), max(ends)
    room = (high - low) / 50
    number: Any = {"type": "quantitative"}
    line = {
        "data": {"values": [{"x": low, "y": low}, {"x": high, "y": high}]},
        "mark": {"type": "line", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1},
        "encoding": {"x": {"field": "x", **number}, "y": {"field": "y", **number}},
    }
    both = (low - room, high + room)
    return plane(rows, titles, both, both, (line,))
