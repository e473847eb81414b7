"""How a reader's category is drawn.

A category has a colour and a shape, so that neither is needed alone; a reader that gets no image is
drawn open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from overread.benchmarks.exhibits.style import BLUE, PAPER, VERMILLION, Spec
from overread.benchmarks.grounding.category import (
    IGNORES,
    INDETERMINATE,
    INSUFFICIENT,
    UNSTABLE,
    USES,
)
from overread.benchmarks.grounding.exhibits.index import Index

__all__ = ["UNKNOWN", "category_scale", "glyph", "identity", "tint"]

UNKNOWN: Final = ""
"""The category of a reader where nothing says what it is."""
_CATEGORIES: Final = {
    USES: (BLUE, "circle"),
    IGNORES: (VERMILLION, "square"),
    UNSTABLE: ("#e69f00", "triangle-up"),
    INDETERMINATE: ("#666666", "diamond"),
    INSUFFICIENT: ("#969696", "cross"),
    UNKNOWN: (BLUE, "circle"),
}


def identity(index: Index, reader: str, names: dict[str, str]) -> Spec:
    """The facts every row of a figure begins with."""
    return {
        "reader": reader,
        "shown": names[reader],
        "category": index.category(reader),
        "gets_image": index.sees(reader),
    }


def category_scale(rows: Iterable[Spec], channel: str) -> Spec:
    """The colours or shapes of the categories that occur, in a fixed order."""
    present = {row["category"] for row in rows}
    domain = [word for word in _CATEGORIES if word in present]
    at = 1 if channel == "shape" else 0
    return {"domain": domain, "range": [_CATEGORIES[word][at] for word in domain]}


def tint(rows: Iterable[Spec]) -> Spec:
    """Colour by category."""
    return {"field": "category", "type": "nominal", "scale": category_scale(rows, "color")}


def glyph(rows: Sequence[Spec], *, size: int = 80) -> tuple[Spec, Spec]:
    """The mark and the encoding that say a reader's category, and whether it gets the image."""
    # Vega-Lite makes one legend of channels with one field; switched off in one it is off in all.
    encoding = {
        "stroke": tint(rows),
        "shape": {**tint(rows), "scale": category_scale(rows, "shape")},
        "fill": {"condition": {"test": "datum.gets_image", **tint(rows)}, "value": PAPER},
    }
    return {"type": "point", "size": size, "strokeWidth": 1.8, "opacity": 1}, encoding
