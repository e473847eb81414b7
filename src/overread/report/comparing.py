"""Readers against readers on the same cases: differences with paired intervals and tests.

What is compared are values by case; whose they are and what they mean, others know.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.families import with_q
from overread.case import Measure

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from overread.benchmarks.drafts import Draft

__all__ = ["BOOT", "SEED", "differences"]

BOOT: Final = 10_000
SEED: Final = 0
# Values are counted in parts of this when signs are flipped, so that ties of halves, thirds, …,
# sixteenths are ties.
_PARTS: Final = 720_720
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
    import numpy as np

    table = _Values(values)
    binary = bool(np.isin(table.all_values, (0.0, 1.0)).all())
    drafts, sums = [], []
    for one, two in pairs:
        record = Measure(
            reader=one, measure=f"diff_{measure}", by={"versus": two}, family=measure, n=0
        )
        first, second = table.of(one), table.of(two)
        both = ~(np.isnan(first) | np.isnan(second))
        each = np.where(both, first - second, 0.0)
        drafts.append(table.draft(record, each, both, shares=shares, binary=binary))
        sums.append(table.by_cluster(np.rint(each * _PARTS)))
    found = table.resampling.finish(drafts)
    if not binary:
        found = _flipped(found, sums, table.clusters)
    return with_q(found)


class _Values:
    """Values as arrays: cases in the order of their names, clusters numbered in that of theirs.

    A class, for all pairs share the order, the clusters and the resamples.
    """

    def __init__(self, values: pl.DataFrame) -> None:
        import numpy as np

        from overread.benchmarks.drafts import Resampling

        owners = values.select("case", "cluster").unique("case", keep="first").sort("case")
        names = owners["cluster"].unique().sort().to_list()
        codes = {name: code for code, name in enumerate(names)}
        self.owner = np.array([codes[name] for name in owners["cluster"]], dtype=np.int64)
        self.clusters = len(names)
        self.resampling = Resampling(np.arange(self.clusters), boot=BOOT, seed=SEED)
        places = {case: place for place, case in enumerate(owners["case"])}
        self.all_values = values["value"].to_numpy()
        self._rows: dict[str, NDArray[np.float64]] = {}
        for (reader,), own in values.group_by("reader", maintain_order=True):
            row = self._rows[str(reader)] = np.full(owners.height, np.nan)
            row[[places[case] for case in own["case"]]] = own["value"].to_numpy()

    def of(self, reader: str) -> NDArray[np.float64]:
        import numpy as np

        found = self._rows.get(reader)
        return np.full(self.owner.size, np.nan) if found is None else found

    def by_cluster(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        import numpy as np

        sums: NDArray[np.float64] = np.zeros(self.clusters)
        np.add.at(sums, self.owner, column)
        return sums

    def draft(
        self,
        record: Measure,
        each: NDArray[np.float64],
        both: NDArray[np.bool_],
        *,
        shares: bool,
        binary: bool,
    ) -> Draft:
        """The difference with what its interval is made of and, of 0 and 1, its p."""
        import numpy as np

        from overread.benchmarks.drafts import Draft, quotients

        n = int(both.sum())
        if n == 0:
            return Draft(record=msgspec.structs.replace(record, note="no case in common"))
        record = msgspec.structs.replace(record, n=n, value=math.fsum(each[both].tolist()) / n)
        if binary:
            record = msgspec.structs.replace(
                record, p=self._exact(each, both), note=_only(record, each)
            )
        members = self.by_cluster(both.astype(float))
        return Draft(
            record=record,
            columns=np.stack([self.by_cluster(each), members], axis=1),
            again=lambda totals: quotients(totals[:, 0], totals[:, 1]),
            counted=members > 0,
            limits=(-1.0, 1.0) if shares else (-math.inf, math.inf),
            unit=1.0 if shares else None,
        )

    def _exact(self, each: NDArray[np.float64], both: NDArray[np.bool_]) -> float | None:
        import numpy as np

        from overread.stats import difference_p, sign_flip_p

        owners = self.owner[both]
        if np.unique(owners).size == owners.size:
            return difference_p(int((each == 1).sum()), int((each == -1).sum()))
        return sign_flip_p(each[both].astype(np.int64), owners)


def _only(record: Measure, each: NDArray[np.float64]) -> str:
    first, second = int((each == 1).sum()), int((each == -1).sum())
    return f"{first} only {record.reader}, {second} only {record.by['versus']}"


def _flipped(
    records: Sequence[Measure], sums: Sequence[NDArray[np.float64]], clusters: int
) -> list[Measure]:
    import numpy as np

    from overread.benchmarks.drafts import joined
    from overread.benchmarks.flips import FLIPS, flip_ps, signs

    if not clusters or not records:
        return list(records)
    flips = min(FLIPS, max(999, _MOST_COINS // clusters))
    coins = signs(clusters, flips, SEED)
    ps = flip_ps(np.stack(sums, axis=1), coins)
    return [
        msgspec.structs.replace(record, p=p, note=joined(record.note, f"p of {flips} sign flips"))
        if record.n
        else record
        for record, p in zip(records, ps, strict=True)
    ]
