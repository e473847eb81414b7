"""The figures printed in the benchmarks' papers, as data, with what does not add up flagged.

Facts only: numbers, with the table each stands in, and flags beside them, so that nobody compares
with a misprint unawares. What the numbers themselves allow to be recomputed, tests recompute.
"""

from overread.published._beside import comparison, headline_of, headline_tables, remarks_of
from overread.published._figures import (
    BENCHMARKS,
    CASES,
    Figures,
    Flag,
    Part,
    Printed,
    System,
    figures,
    inconsistencies,
    published,
    read_figures,
)
from overread.published._printed_tables import marked, numbered, printed_tables

__all__ = [
    "BENCHMARKS",
    "CASES",
    "Figures",
    "Flag",
    "Part",
    "Printed",
    "System",
    "comparison",
    "figures",
    "headline_of",
    "headline_tables",
    "inconsistencies",
    "marked",
    "numbered",
    "printed_tables",
    "published",
    "read_figures",
    "remarks_of",
]
