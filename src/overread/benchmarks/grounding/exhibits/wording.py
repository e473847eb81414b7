"""Supplementary Figure 1d, e: parse rate and accuracy of every wording, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.cells import cell
from overread.benchmarks.exhibits.style import Spec, figure_spec, number_axis, reader_axis, shown
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.grounding.exhibits.lanes import hundred
from overread.benchmarks.grounding.exhibits.style import identity
from overread.case import Figure

__all__ = ["phrasing_lanes"]

_RATES: Final = (
    ("parse_rate", "replies with an answer, percent"),
    ("accuracy", "accuracy, percent"),
)
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WIDTH: Final = 230


def phrasing_lanes(index: Index, signature: str) -> Figure | None:
    """One lane per reader, one mark per wording: the further apart, the more brittle."""
    wordings = index.groups("parse_rate", "phrasing")
    names = shown(index.readers)
    rows: list[Spec] = []
    for reader in index.readers:
        for place, wording in enumerate(wordings):
            for name, _ in _RATES:
                record = index.known(reader, name, phrasing=wording)
                if record is not None:
                    facts = identity(index, reader, names)
                    rows.append(
                        facts
                        | {
                            "rate": name,
                            "phrasing": wording,
                            # Wordings of one lane stand a little above each other.
                            "place": place,
                            "value": hundred(record.value),
                            "low": hundred(record.low),
                            "high": hundred(record.high),
                            "n": record.n,
                            "text": cell(record),
                        }
                    )
    if not rows:
        return None
    asked = {row["reader"] for row in rows}
    lanes = [names[reader] for reader in index.readers if reader in asked]
    panels = [
        _panel(name, title, lanes, wordings, named=place == 0)
        for place, (name, title) in enumerate(_RATES)
    ]
    told = "; ".join(
        f"{row['reader']} {row['phrasing']} {row['rate'].replace('_', ' ')} {row['text']}"
        for row in rows
    )
    return Figure(
        name="phrasing_lanes",
        title="Does it depend on the wording?",
        spec=figure_spec(rows, hconcat=panels, spacing=24),
        alt=f"Parse rate and accuracy in every wording, percent with 95 % interval: {told}.",
        signature=signature,
        notes=("Bars are 95 % intervals. An accuracy over few parsed answers is not one.",),
    )


def _panel(
    name: str, title: str, lanes: Sequence[str], wordings: Sequence[str], *, named: bool
) -> Spec:
    x: Any = number_axis("value", title, 0, 100)
    y = reader_axis(lanes)
    if not named:
        y["axis"] = {**y["axis"], "labels": False, "minExtent": 0}
    nudge = {"field": "place", "type": "ordinal", "scale": {"paddingInner": 0}}
    key = {"field": "phrasing", "type": "nominal"}
    colour = {**key, "scale": _scale(wordings, _COLOURS)}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "yOffset": nudge,
                "stroke": colour,
            },
        },
        {
            "mark": {"type": "point", "size": 55, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "yOffset": nudge,
                "stroke": colour,
                "fill": colour,
                "shape": {**key, "scale": _scale(wordings, _SHAPES)},
            },
        },
    ]
    return {
        "transform": [{"filter": f"datum.rate === '{name}'"}],
        "width": _WIDTH,
        "height": len(lanes) * (10 + 12 * len(wordings)),
        "layer": layers,
    }


def _scale(wordings: Sequence[str], looks: Sequence[str]) -> Spec:
    return {
        "domain": list(wordings),
        "range": [looks[at % len(looks)] for at in range(len(wordings))],
    }
