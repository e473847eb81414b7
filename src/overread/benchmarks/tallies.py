"""Resampling thousands of items quickly: by counting those alike, and totalling no column twice."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from overread.benchmarks.drafts import Draft, Floats, Ints, Resampling
from overread.case import Measure

__all__ = ["Tallied"]

# Clusters drawn one by one in the time it takes to draw how often a kind of them comes up.
_WORTH: Final = 2_048
# Hit, missed, not counted, and a cluster of several: with fewer kinds there is nothing to look for.
_FEWEST: Final = 4


class _Kinds(NamedTuple):
    """The different rows that clusters have, in ascending order, and how many have each."""

    rows: Floats
    counts: Ints


class Tallied(Resampling):
    """The same resampling, where clusters come in few kinds.

    A resample of C clusters holds each kind of them as often as a multinomial draw says: C of them,
    with the kinds' shares as chances. Totals follow from these counts, whichever clusters of a kind
    it was, so neither the names nor the order of items matter.
    """

    def __init__(self, clusters: Ints, *, boot: int, seed: int) -> None:
        super().__init__(clusters, boot=boot, seed=seed)
        self._order: Final = np.argsort(clusters, kind="stable")
        self._starts: Final = np.unique(clusters[self._order], return_index=True)[1]

    def quickly(self, made: Draft) -> Measure | None:
        """The draft with its interval, or None where drawing cluster by cluster is quicker."""
        if made.columns is None or made.again is None:
            return self.finished(made, None)
        kinds = self._kinds(made.columns)
        if kinds is None:
            return None
        # The legacy generator, whose stream is frozen.
        drawn = np.random.RandomState(self.seed).multinomial(
            self._starts.size, kinds.counts / self._starts.size, size=self.boot
        )
        return self.finished(made, made.again(drawn @ kinds.rows))

    def _kinds(self, columns: Floats) -> _Kinds | None:
        """The kinds of clusters that these columns tell apart, None where there are too many."""
        limit = columns.shape[1] * self._starts.size // _WORTH
        if limit < _FEWEST:
            return None
        sums = np.add.reduceat(columns[self._order], self._starts, axis=0)
        code = np.zeros(len(sums), dtype=np.int64)
        for column in sums.T:
            values, which = np.unique(column, return_inverse=True)
            if values.size > limit:
                return None
            kinds, code = np.unique(code * values.size + which, return_inverse=True)
            if kinds.size > limit:
                return None
        _, first, counts = np.unique(code, return_index=True, return_counts=True)
        return _Kinds(sums[first], counts)

    def totals(self, table: Floats) -> Floats:
        """As ever; but many drafts count the same items, and a column is totalled only once."""
        seen: dict[bytes, int] = {}
        which = [seen.setdefault(column.tobytes(), len(seen)) for column in table.T]
        first = np.unique(which, return_index=True)[1]
        return super().totals(table[:, first])[:, which]
