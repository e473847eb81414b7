"""Figures drawn: specifications in Vega-Lite's language become SVG documents."""

from overread.drawing.expressions import NotDrawn
from overread.drawing.figures import drawn

__all__ = ["NotDrawn", "drawn"]
