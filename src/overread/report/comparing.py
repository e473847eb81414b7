"""Readers against readers on the same cases: differences with paired intervals and tests.

What is compared are values by case; whose they are and what they mean, others know.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from overread.case import Measure
from overread.measuring.contrasts import (
    FLIPS,
    cluster_sums,
    exact_p,
    flip_ps,
    paired_difference,
    signs,
    with_q,
)
from overread.measuring.estimates import Estimate, Floats, Mask, Resampling
from overread.measuring.notes import remarked

if TYPE_CHECKING:
    import polars as pl

BOOT: Final = 10_000
SEED: Final = 0
_MOST_COINS: Final = 50_000_000


def differences(
    measure: str, values: pl.DataFrame, pairs: Sequence[tuple[str, str]], *, shares: bool
) -> list[Measure]:
    """`diff_MEASURE` of each pair: the mean over their common cases of first less second.

    `values` has reader, case, cluster and value, at most one for a reader and case. Intervals are
    of `BOOT` resamples of the clusters, the same draws for every pair, and do not depend on which
    pairs are asked for. P is exact where all values are 0 or 1: McNemar's if no cluster has two
    cases of the pair, else that of flipping signs by cluster; for other values signs are flipped
    by seeded coins. All pairs are one family; q is Benjamini and Hochberg's. `shares` says that
    values are shares of one, not amounts in a unit.
    """
    table = _ValuesByCase(values)
    binary = bool(np.isin(values["value"].to_numpy(), (0.0, 1.0)).all())
    estimates, sums = [], []
    for one, two in pairs:
        record = Measure(
            reader=one, measure=f"diff_{measure}", by={"versus": two}, family=measure, n=0
        )
        first, second = table.of(one), table.of(two)
        both: Mask = ~(np.isnan(first) | np.isnan(second))
        each = np.where(both, first - second, 0.0)
        if binary:
            only = int((each == 1).sum()), int((each == -1).sum())
            record = msgspec.structs.replace(
                record, p=exact_p(each[both].astype(np.int64), table.clusters[both])
            )
            if both.any():
                record = remarked(record, f"{only[0]} only {one}, {only[1]} only {two}")
        estimates.append(_estimate(record, each, both, shares=shares))
        sums.append(cluster_sums(each, table.clusters))
    found = table.resampling.finish(estimates)
    if not binary and found and values.height:
        found = _flipped(found, np.stack(sums, axis=1))
    return with_q(found)


class _ValuesByCase:
    """Values as arrays: cases in the order of their names, clusters numbered in that of theirs.

    A class, for all pairs share the order, the clusters and the resamples.
    """

    def __init__(self, values: pl.DataFrame) -> None:
        owners = values.select("case", "cluster").unique("case", keep="first").sort("case")
        names = np.array(owners["cluster"].to_list(), dtype=np.str_)
        self.clusters = np.unique(names, return_inverse=True)[1].astype(np.int64)
        self.resampling = Resampling(self.clusters, boot=BOOT, seed=SEED)
        places = {case: place for place, case in enumerate(owners["case"])}
        self._rows: dict[str, Floats] = {}
        for (reader,), own in values.group_by("reader", maintain_order=True):
            row = self._rows[str(reader)] = np.full(owners.height, np.nan)
            row[[places[case] for case in own["case"]]] = own["value"].to_numpy()

    def of(self, reader: str) -> Floats:
        found = self._rows.get(reader)
        return np.full(self.clusters.size, np.nan) if found is None else found


def _estimate(record: Measure, each: Floats, both: Mask, *, shares: bool) -> Estimate:
    """The difference with what its interval is made of."""
    n = int(both.sum())
    if n == 0:
        return Estimate(record=remarked(record, "no case in common"))
    limits = (-1.0, 1.0) if shares else (-math.inf, math.inf)
    made = paired_difference(record, each, both, limits=limits, step=1.0 if shares else None)
    # The same sum whatever the order of the cases.
    value = math.fsum(each[both].tolist()) / n
    return msgspec.structs.replace(made, record=msgspec.structs.replace(made.record, value=value))


def _flipped(records: Sequence[Measure], sums: Floats) -> list[Measure]:
    flips = min(FLIPS, max(999, _MOST_COINS // len(sums)))
    ps = flip_ps(sums, signs(len(sums), flips, SEED))
    return [
        remarked(msgspec.structs.replace(record, p=p), f"p of {flips} sign flips")
        if record.n
        else record
        for record, p in zip(records, ps, strict=True)
    ]
