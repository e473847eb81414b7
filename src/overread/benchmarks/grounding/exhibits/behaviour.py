"""Figure 2a and d: what a reader does, in two planes."""

from __future__ import annotations

from typing import Any

from overread.benchmarks.exhibits.style import BLUE, FAINT, Spec
from overread.benchmarks.grounding.category import STEADY_FROM, UNSTABLE_BELOW
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.planes import against, in_words, limits, plane
from overread.case import Figure

__all__ = ["sens_spec", "triad"]

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
        _word("unstable", left, top, align="left", dx=4),
        _word("uses image", 101, top, align="right", dx=-3),
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
            _word("always Yes", 0, 100, align="left", dx=14, dy=-4, baseline="bottom"),
            _word("always No", 100, 0, align="right", dx=-14, baseline="middle"),
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


def _word(said: str, x: float, y: float, **mark: Any) -> Spec:
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
