"""Dot plots: see `overread.benchmarks.exhibits.dot_plot`."""

from __future__ import annotations

from overread.benchmarks.exhibits.dot_plot import Panel, dots

__all__ = ["Panel", "dots"]
