"""The figures printed in the benchmarks' papers, as data, with what does not add up flagged.

Facts only: numbers, with the table each stands in, and flags beside them, so that nobody compares
with a misprint unawares. What the numbers themselves allow to be recomputed, tests recompute.
"""

from overread.published._figures import BENCHMARKS, Figures, Flag, System, figures, inconsistencies
from overread.published._tables import (
    comparison,
    headline_of,
    headline_tables,
    marked,
    numbered,
    printed_tables,
    remarks_of,
)

__all__ = [
    "BENCHMARKS",
    "Figures",
    "Flag",
    "System",
    "comparison",
    "figures",
    "headline_of",
    "headline_tables",
    "inconsistencies",
    "marked",
    "numbered",
    "printed_tables",
    "remarks_of",
]
