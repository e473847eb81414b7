"""Supplementary Figure 3: is P(Yes) calibrated?"""

from __future__ import annotations

from typing import Any, Final

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.exhibits.style import BLUE, FAINT, Spec, figure_spec, shown
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.lanes import hundred
from overread.benchmarks.grounding.exhibits.style import identity
from overread.case import Figure

__all__ = ["BINS", "reliability", "tenths"]

BINS: Final = tuple(map(str, range(10)))
_PANEL: Final = 180
_BETWEEN: Final = 32


def reliability(index: Index, signature: str) -> Figure | None:
    """Supplementary Figure 3: the share of Yes in the key against P(Yes), bin by bin."""
    names = shown(index.readers)
    rows = [
        row
        for reader in index.readers
        for name in BINS
        if (row := _bin(index, reader, name, names)) is not None
    ]
    if not rows:
        return None
    x: Any = tenths("p_yes", "mean P(Yes), percent")
    y: Any = tenths("positive", "key says Yes, percent")
    size = {
        "field": "n",
        "type": "quantitative",
        "scale": {"range": [12, 220], "zero": True},
        "legend": None,
    }
    calibrated = [{"p_yes": 0, "positive": 0}, {"p_yes": 100, "positive": 100}]
    layers = [
        {
            "data": {"values": calibrated},
            "mark": {"type": "line", "strokeDash": [4, 3], "color": FAINT, "strokeWidth": 1},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.6, "color": BLUE},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.6, "color": BLUE},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "circle", "opacity": 1, "color": BLUE},
            "encoding": {"x": x, "y": y, "size": size},
        },
    ]
    # In the order of the rows, by number: what a reader is called must not enter an expression.
    facet = {
        "field": "panel",
        "type": "nominal",
        "sort": {"field": "order", "op": "min"},
        "header": {
            "title": None,
            "labelAnchor": "start",
            "labelExpr": "split(datum.label, '\\n')",
            "labelLineHeight": 14,
            "labelLimit": _PANEL + _BETWEEN,
        },
    }
    panels: Spec = {
        "facet": facet,
        "columns": 3,
        "spacing": {"row": 18, "column": _BETWEEN},
        "spec": {"width": _PANEL, "height": _PANEL, "layer": layers},
    }
    return Figure(
        name="reliability",
        title="When it says 80 percent, is it Yes in 80 percent?",
        spec=figure_spec(rows, **panels),
        alt="Share of cases whose key is Yes against mean P(Yes) in ten bins, percent: "
        f"{_spoken(rows)}.",
        signature=signature,
        notes=(
            "On the dashed line P(Yes) is calibrated; the area of a mark grows with the cases in "
            "its bin. ECE: the mean distance from the line, weighted by cases; n/a where too many "
            "confidences are missing, or are 0 and 1 only.",
        ),
    )


def _bin(index: Index, reader: str, name: str, names: dict[str, str]) -> Spec | None:
    mean = index.known(reader, "confidence", bin=name)
    rate = index.known(reader, "reliability", bin=name)
    if mean is None or rate is None:
        return None
    ece = index.get(reader, "ece_label")
    said = percent(ece.value) if ece is not None else "n/a"
    return identity(index, reader, names) | {
        "panel": f"{names[reader]}\nECE {said}",
        "order": index.readers.index(reader),
        "bin": int(name),
        "p_yes": hundred(mean.value),
        "positive": hundred(rate.value),
        "low": hundred(rate.low),
        "high": hundred(rate.high),
        "n": rate.n,
    }


def tenths(field: str, title: str) -> Spec:
    """An axis of percent for a small panel."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 100], "nice": False},
        "axis": {"title": title, "values": [0, 50, 100], "labelFlush": False},
    }


def _spoken(rows: list[Spec]) -> str:
    of: dict[str, list[str]] = {}
    for row in rows:
        of.setdefault(row["reader"], []).append(f"{row['p_yes']:.0f} → {row['positive']:.0f}")
    return "; ".join(f"{reader}: {', '.join(points)}" for reader, points in of.items())
