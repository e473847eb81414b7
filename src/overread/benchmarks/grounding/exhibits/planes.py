"""Figures that set one rate against another: what a reader does, and whether it does so twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from overread.benchmarks.exhibits.figures import (
    Marks,
    dashed_line,
    ground_word,
    in_words,
    plane,
    plane_row,
)
from overread.benchmarks.exhibits.index import Column
from overread.benchmarks.exhibits.style import BLUE, Spec, shown
from overread.benchmarks.grounding.category import STEADY_FROM, UNSTABLE_BELOW
from overread.benchmarks.grounding.exhibits.dot_plot import UNKNOWN, Index, bounds, glyph, tint
from overread.benchmarks.grounding.exhibits.tables import sizes
from overread.case import Figure, Measure


def _plane(
    rows: list[Spec],
    titles: tuple[str, str],
    x_bounds: tuple[float, float],
    y_bounds: tuple[float, float],
    *behind: Spec,
) -> Spec:
    return plane(rows, titles, x_bounds, y_bounds, Marks(*glyph(rows), tint(rows)), behind)


def _against(index: Index, x: Column, y: Column) -> list[Spec]:
    return [
        plane_row(index.identity(reader), of_x, of_y)
        for reader in index.readers
        if (of_x := x.known(index, reader)) and (of_y := y.known(index, reader))
    ]


def _limits(rows: Sequence[Spec], axis: str, *inside: float) -> tuple[float, float]:
    return bounds((row[f"{axis}{part}"] for row in rows for part in ("", "_low", "_high")), *inside)


def triad(index: Index) -> Figure | None:
    """Figure 2a: CGR against IS, with the regions of the category rule shaded."""
    rows = _against(index, Column("IS", "is"), Column("CGR", "cgr"))
    if not rows:
        return None
    left, _ = _limits(rows, "x", 60, 100)
    _, top = _limits(rows, "y", 0)
    x_bounds, y_bounds = (left, 101.0), (-top / 50, float(top))
    regions = [
        {"x": left, "x2": UNSTABLE_BELOW, "y": y_bounds[0], "y2": top, "said": "unstable"},
        {"x": STEADY_FROM, "x2": 101, "y": 0, "y2": top, "said": "uses image"},
    ]
    colours = {"domain": ["unstable", "uses image"], "range": ["#e69f00", BLUE]}
    shaded = {
        "data": {"values": regions},
        "mark": {"type": "rect", "opacity": 0.12},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "x2": {"field": "x2"},
            "y": {"field": "y", "type": "quantitative"},
            "y2": {"field": "y2"},
            "color": {"field": "said", "type": "nominal", "scale": colours, "legend": None},
        },
    }
    titles = (
        "IS: a mask elsewhere leaves the answer, percent",
        "CGR: the target mask flips it, percent",
    )
    unstable = ground_word("unstable", left, top, align="left", dx=4)
    uses = ground_word("uses image", 101, top, align="right", dx=-3)
    spec = _plane(rows, titles, x_bounds, y_bounds, shaded, unstable, uses)
    spec["resolve"] = {"scale": {"color": "independent"}}
    return index.figure(
        "triad",
        "Does the answer hang on the finding, and only on it?",
        spec,
        "Causal grounding rate (CGR) against irrelevant-mask stability (IS), percent with 95 % "
        f"intervals: {in_words(rows, 'IS', 'CGR')}.",
        "Shaded: the regions of the published rule. A reader at the bottom right corner "
        "ignores the image if its UAR is 100 too. Open marks: readers that get no image.",
    )


def sens_spec(index: Index) -> Figure | None:
    """Figure 2d: sensitivity against specificity."""
    rows = _against(index, Column("", "specificity"), Column("", "sensitivity"))
    if not rows:
        return None
    spec = _plane(
        rows,
        ("specificity, percent", "sensitivity, percent"),
        (-2.0, 102.0),
        (-2.0, 102.0),
        dashed_line((0, 100), (100, 0)),
        ground_word("always Yes", 0, 100, align="left", dx=14, dy=-4, baseline="bottom"),
        ground_word("always No", 100, 0, align="right", dx=-14, baseline="middle"),
    )
    return index.figure(
        "sens_spec",
        "Does it tell present from absent?",
        spec,
        "Sensitivity against specificity, percent with 95 % intervals: "
        f"{in_words(rows, 'specificity', 'sensitivity')}.",
        "On the dashed line an answer says nothing about the finding.",
    )


# ---------------------------------------------------------------- a rate under other circumstances
# Figure 6 and Supplementary Figure 1a: does a rate stay where it was under other circumstances?


_LONGEST_NAME: Final = 40
_SAME_RATE_NOTE: Final = (
    "On the dashed line a reader has the same rate twice; bars are 95 % intervals."
)


def transfer_figure(
    pairs: Sequence[tuple[str, Measure, Measure]], names: tuple[str, str]
) -> Figure:
    """Figure 6a, b: UAR in one run against UAR in another, reader by reader.

    `pairs` are (reader, its record in the first run, its record in the second); one without a value
    is left out.
    """
    drawn = shown([reader for reader, _, _ in pairs])
    rows = [
        plane_row(
            {"reader": name, "shown": drawn[name], "category": UNKNOWN, "gets_image": True}, x, y
        )
        for name, x, y in pairs
        if x.value is not None and y.value is not None
    ]
    at = [name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}" for name in names]
    spec = _same_axes(rows, (f"UAR in {at[0]}, percent", f"UAR in {at[1]}, percent"))
    spec["config"] = {**spec["config"], "legend": {"disable": True}}
    told = in_words(rows, f"in {names[0]}", f"in {names[1]}") if rows else "no reader has both"
    return Index(()).figure(
        "transfer",
        "Do the numbers hold on other cases?",
        spec,
        f"UAR of every reader in two runs, percent with 95 % intervals: {told}.",
        _SAME_RATE_NOTE,
    )


def resolution_plane(index: Index) -> Figure | None:
    """Supplementary Figure 1a: CGR at another resolution against CGR at the headline's."""
    px = sizes(index)
    at = [Column("CGR", "cgr", (("px", size),)) for size in px[:2]]
    rows = _against(index, *at) if len(at) == 2 else []
    if not rows:
        return None
    return index.figure(
        "resolution_plane",
        f"Is CGR the same at {px[1]} pixels?",
        _same_axes(rows, (f"CGR at {px[0]} px, percent", f"CGR at {px[1]} px, percent")),
        f"CGR at {px[1]} against {px[0]} pixels, percent with 95 % intervals: "
        f"{in_words(rows, f'at {px[0]} px', f'at {px[1]} px')}.",
        _SAME_RATE_NOTE,
    )


def _same_axes(rows: list[Spec], titles: tuple[str, str]) -> Spec:
    """A plane whose two axes are the same, with the line on which both rates are equal."""
    ends = (*_limits(rows, "x"), *_limits(rows, "y")) if rows else (0.0, 100.0)
    low, high = min(ends), max(ends)
    room = (high - low) / 50
    both = (low - room, high + room)
    return _plane(rows, titles, both, both, dashed_line((low, low), (high, high)))
