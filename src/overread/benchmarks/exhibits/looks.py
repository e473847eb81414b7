"""How readers are told apart in a drawing: see `overread.benchmarks.exhibits.style`."""

from __future__ import annotations

from overread.benchmarks.exhibits.style import (
    LOOKS,
    Cast,
    cast_of,
    point_row,
    spoken,
    told,
    unfit_note,
)

__all__ = ["LOOKS", "Cast", "cast_of", "point_row", "spoken", "told", "unfit_note"]
