"""Figures that set one rate against another: what a reader does, and whether it does so twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from overread.benchmarks.exhibits.plane import (
    Marks,
    dashed_line,
    ground_word,
    in_words,
    plane,
    plane_row,
)
from overread.benchmarks.exhibits.style import BLUE, Spec, shown
from overread.benchmarks.grounding.category import STEADY_FROM, UNSTABLE_BELOW
from overread.benchmarks.grounding.exhibits.dot_plot import (
    UNKNOWN,
    Index,
    bounds,
    glyph,
    identity,
    tint,
)
from overread.benchmarks.grounding.exhibits.tables import sizes
from overread.case import Figure, Measure


def _plane(
    rows: list[Spec],
    titles: tuple[str, str],
    x_bounds: tuple[float, float],
    y_bounds: tuple[float, float],
    behind: Sequence[Spec],
) -> Spec:
    return plane(rows, titles, x_bounds, y_bounds, Marks(*glyph(rows), tint(rows)), behind)


def _against(index: Index, x: str, y: str) -> list[Spec]:
    names = shown(index.readers)
    return [
        plane_row(identity(index, reader, names), of_x, of_y)
        for reader in index.readers
        if (of_x := index.known(reader, x)) and (of_y := index.known(reader, y))
    ]


def _limits(rows: Sequence[Spec], axis: str, *inside: float) -> tuple[float, float]:
    return bounds((row[f"{axis}{part}"] for row in rows for part in ("", "_low", "_high")), *inside)


def triad(index: Index, signature: str) -> Figure | None:
    """Figure 2a: CGR against IS, with the regions of the category rule shaded."""
    rows = _against(index, "is", "cgr")
    if not rows:
        return None
    left, _ = _limits(rows, "x", 60, 100)
    _, top = _limits(rows, "y", 0)
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
        ground_word("unstable", left, top, align="left", dx=4),
        ground_word("uses image", 101, top, align="right", dx=-3),
    )
    spec = _plane(
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


def sens_spec(index: Index, signature: str) -> Figure | None:
    """Figure 2d: sensitivity against specificity."""
    rows = _against(index, "specificity", "sensitivity")
    if not rows:
        return None
    spec = _plane(
        rows,
        ("specificity, percent", "sensitivity, percent"),
        (-2.0, 102.0),
        (-2.0, 102.0),
        (
            dashed_line((0, 100), (100, 0)),
            ground_word("always Yes", 0, 100, align="left", dx=14, dy=-4, baseline="bottom"),
            ground_word("always No", 100, 0, align="right", dx=-14, baseline="middle"),
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
        ends = (*_limits(rows, "x"), *_limits(rows, "y"))
        low, high = min(ends), max(ends)
    room = (high - low) / 50
    both = (low - room, high + room)
    return _plane(rows, titles, both, both, (dashed_line((low, low), (high, high)),))
