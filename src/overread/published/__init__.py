"""The figures printed in the benchmarks' papers, as data, with what does not add up flagged.

Facts only: numbers, with the table each stands in. Checks recompute what the numbers themselves
allow to be recomputed, so that nobody compares with a misprint unawares.
"""

from overread.published._figures import BENCHMARKS, figures, published
from overread.published._flag import Flag
from overread.published._flags import inconsistencies
from overread.published._headlines import headline_of, headline_tables, shown_of
from overread.published._printed import Figures, Printed, System
from overread.published._tables import marked, numbered, printed_tables

__all__ = [
    "BENCHMARKS",
    "Figures",
    "Flag",
    "Printed",
    "System",
    "figures",
    "headline_of",
    "headline_tables",
    "inconsistencies",
    "marked",
    "numbered",
    "printed_tables",
    "published",
    "shown_of",
]
