"""Intervals, resampling and tests: pure functions over arrays, ignorant of readers and cases.

Nothing undefined is given a number: a field that has no value is None, and no function returns NaN
unless NaN is what it was given to pass through.
"""

from overread.stats._agreement import (
    bootstrap_kappa,
    cohen_kappa,
    percent_agreement,
    weighted_kappa,
)
from overread.stats._auroc import (
    auroc,
    auroc_stepwise,
    auroc_tie_bounds,
    bootstrap_auroc,
    bootstrap_auroc_many,
)
from overread.stats._authors import (
    PairedResult,
    bootstrap_proportion,
    bootstrap_proportion_many,
    paired_bootstrap,
    paired_bootstrap_many,
)
from overread.stats._calibration import (
    Bin,
    calibrated_p,
    calibration_bins,
    debiased_ece,
    ece,
    informative,
)
from overread.stats._clusters import clustered_mean, clustered_share, wilson_bounds
from overread.stats._differences import (
    benjamini_hochberg,
    difference_p,
    independent_difference,
    paired_difference,
    sign_flip_p,
)
from overread.stats._groups import (
    FEWEST_GROUPS,
    PooledGroups,
    groups_p,
    pooled_groups,
)
from overread.stats._judged import PredictionPowered, corrected_rate, prediction_powered
from overread.stats._multireader import (
    LEAST_READERS,
    MultiReader,
    conditions_apart,
    jackknifed,
    model_against_readers,
)
from overread.stats._paired import LEVEL, Paired, flip_p, paired_values
from overread.stats._permutation import permutation_k_groups, permutation_two_groups
from overread.stats._power import (
    LEAST_DISCORDANT,
    cases_for_half_width,
    cases_to_settle,
    cases_to_tell_apart,
    cases_within_margin,
    discordant_limits,
    grown_for_power,
    half_width,
    smallest_difference,
)
from overread.stats._proportions import Z95, Interval, binomial_tail, design_effect, wilson
from overread.stats._ranks import (
    fisher_interval,
    pearson,
    rank_sum_p,
    spearman,
    spearman_asymptotic_p,
    spearman_exact_p,
)
from overread.stats._spread import (
    FEW,
    FEW_DIFFERING,
    USUAL,
    Spread,
    counted_from_zero,
    differing_cases,
    differing_clusters,
    spread_of_mean,
    stands_on_few,
    unlike_sizes,
    worth_in_clusters,
)
from overread.stats._weights import (
    PatientWeights,
    canonical,
    ratio_interval,
    resample_interval,
)

__all__ = [
    "FEW",
    "FEWEST_GROUPS",
    "FEW_DIFFERING",
    "LEAST_DISCORDANT",
    "LEAST_READERS",
    "LEVEL",
    "USUAL",
    "Z95",
    "Bin",
    "Interval",
    "MultiReader",
    "Paired",
    "PairedResult",
    "PatientWeights",
    "PooledGroups",
    "PredictionPowered",
    "Spread",
    "auroc",
    "auroc_stepwise",
    "auroc_tie_bounds",
    "benjamini_hochberg",
    "binomial_tail",
    "bootstrap_auroc",
    "bootstrap_auroc_many",
    "bootstrap_kappa",
    "bootstrap_proportion",
    "bootstrap_proportion_many",
    "calibrated_p",
    "calibration_bins",
    "canonical",
    "cases_for_half_width",
    "cases_to_settle",
    "cases_to_tell_apart",
    "cases_within_margin",
    "clustered_mean",
    "clustered_share",
    "cohen_kappa",
    "conditions_apart",
    "corrected_rate",
    "counted_from_zero",
    "debiased_ece",
    "design_effect",
    "difference_p",
    "differing_cases",
    "differing_clusters",
    "discordant_limits",
    "ece",
    "fisher_interval",
    "flip_p",
    "groups_p",
    "grown_for_power",
    "half_width",
    "independent_difference",
    "informative",
    "jackknifed",
    "model_against_readers",
    "paired_bootstrap",
    "paired_bootstrap_many",
    "paired_difference",
    "paired_values",
    "pearson",
    "percent_agreement",
    "permutation_k_groups",
    "permutation_two_groups",
    "pooled_groups",
    "prediction_powered",
    "rank_sum_p",
    "ratio_interval",
    "resample_interval",
    "sign_flip_p",
    "smallest_difference",
    "spearman",
    "spearman_asymptotic_p",
    "spearman_exact_p",
    "spread_of_mean",
    "stands_on_few",
    "unlike_sizes",
    "weighted_kappa",
    "wilson",
    "wilson_bounds",
    "worth_in_clusters",
]
