"""Other people's words, as they are shown: see `overread.benchmarks.exhibits.cells`."""

from __future__ import annotations

from overread.benchmarks.exhibits.cells import CUT, cut

__all__ = ["CUT", "cut"]
