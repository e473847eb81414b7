"""Intervals, resampling and tests: pure functions over arrays, ignorant of readers and cases.

Nothing undefined is given a number: a field that has no value is None, and no function returns NaN
unless NaN is what it was given to pass through.
"""

from overread.stats._bootstrap import bootstrap_proportion, cluster_bootstrap_sd
from overread.stats._interval import Interval
from overread.stats._multiplicity import benjamini_hochberg
from overread.stats._paired import paired_difference
from overread.stats._proportions import Z95, binomial_tail, design_effect, wilson
from overread.stats._ranks import rank_sum_p

__all__ = [
    "Z95",
    "Interval",
    "benjamini_hochberg",
    "binomial_tail",
    "bootstrap_proportion",
    "cluster_bootstrap_sd",
    "design_effect",
    "paired_difference",
    "rank_sum_p",
    "wilson",
]
