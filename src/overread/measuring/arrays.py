"""A run as arrays: its cases in one order, their groups and clusters, its readers.

What every benchmark's measures stand on. A benchmark adds what its readers said; what is worked out
once here serves all measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.case import Measure
from overread.measuring.estimates import (
    Estimate,
    Ints,
    Mask,
    Resampling,
    clustered_share,
)

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import ReaderRecord

Words: TypeAlias = NDArray[np.str_]
_T = TypeVar("_T")
# Columns of estimates that wait to be finished together.
_WAITING: Final = 512


class Group(NamedTuple):
    """Cases, and the keys that a record of theirs has in `by`."""

    by: dict[str, str]
    members: Mask


class RunArrays:
    """A run under one edition; subclassed by each benchmark with what its readers said.

    `clusters` are codes: cases resampled together have one. `columns` are facts of the cases by
    which numbers are given, "" where a case has none, and `orders` the order in which their names
    stand, where it is not that of the alphabet. `labels` say what a judge's verdicts on a question
    are worth: by judge and question.
    """

    def __init__(
        self,
        cases: Sequence[str],
        clusters: Ints,
        readers: Sequence[ReaderRecord],
        resampling: Resampling,
        *,
        columns: Mapping[str, Words] | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
        labels: Mapping[tuple[str, str], str | None] | None = None,
    ) -> None:
        self.cases: Final = tuple(cases)
        self.clusters: Final = clusters
        self.declared: Final = tuple(readers)
        self.readers: Final = tuple(reader.name for reader in readers)
        # Readers that get no picture: nothing of theirs can depend on one.
        self.unseeing: Final = frozenset(
            reader.name for reader in readers if reader.traits.modality == "text"
        )
        self.resampling: Final = resampling
        self.columns: Final = columns or {}
        self.orders: Final = orders or {}
        self.labels: Final = labels or {}
        self._kept: Final[dict[tuple[object, ...], Any]] = {}
        self._at_hand: tuple[str, dict[tuple[object, ...], Any]] = "", {}

    @property
    def robust(self) -> bool:
        """Whether intervals go by the variance of clusters; else as they did before."""
        return self.resampling.robust

    @property
    def n(self) -> int:
        return len(self.cases)

    @property
    def everyone(self) -> Mask:
        return np.ones(self.n, dtype=bool)

    def once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """What `make` makes, made once for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        made: _T = self._kept[key]
        return made

    def at_hand(self, reader: str, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """The same of a reader alone, let go of when another one is looked at."""
        if self._at_hand[0] != reader:
            self._at_hand = reader, {}
        kept = self._at_hand[1]
        if key not in kept:
            kept[key] = make()
        made: _T = kept[key]
        return made

    def groups(self, *names: str) -> list[Group]:
        """All cases, then those of each name of each of these columns, in order."""
        return [Group({}, self.everyone), *(one for name in names for one in self.grouping(name))]

    def grouping(self, name: str) -> list[Group]:
        """The groups of one column; of two joined by a slash, the second's within the first's."""

        def make() -> list[Group]:
            outer, _, inner = name.partition("/")
            values = self.columns[outer]
            found = [
                Group({outer: one}, values == one)
                for one in group_names(values, self.orders.get(outer, ()))
            ]
            if not inner:
                return found
            within = self.columns[inner]
            return [
                Group(group.by | {inner: one}, group.members & (within == one))
                for group in found
                for one in group_names(within[group.members], self.orders.get(inner, ()))
            ]

        return self.once(("grouping", name), make)

    def label(self, judges: Sequence[str], *questions: str) -> str | None:
        """What these judges are worth at these questions: the worst that is said of any."""
        found = {self.labels.get((judge, one)) for judge in judges for one in questions}
        return next((label for label in JUDGES_WORTH if label in found), None)

    def share(self, record: Measure, hit: Mask, members: Mask) -> Measure:
        """The share of `members` hit: Wilson's interval with a design effect by cluster."""
        return clustered_share(record, hit[members], self.clusters[members], robust=self.robust)

    def finish(self, made: Iterable[Estimate | Measure]) -> list[Measure]:
        """Estimates with their intervals and records as they are, in their order.

        They are taken one by one, and their columns let go at once, or batch by batch of those that
        are drawn together. Cases that `part_of` sets apart are drawn by themselves for what counts
        only them.
        """
        found: dict[int, Measure] = {}
        waiting: dict[str, list[tuple[int, Estimate]]] = {}
        widths: dict[str, int] = {}
        for place, one in enumerate(made):
            if isinstance(one, Measure) or one.columns is None or one.counted is None:
                found[place] = one if isinstance(one, Measure) else one.record
                continue
            part = self.part_of(one.counted)
            if self.resampling.alone(one):
                found |= self._finished(part, [(place, self._narrowed(one, part))])
                continue
            batch = waiting.setdefault(part, [])
            widths[part] = widths.get(part, 0) + one.columns.shape[1]
            # Where what is drawn together decides the draws, all of it is.
            if widths[part] > _WAITING and batch and not self.resampling.by_content:
                found |= self._finished(part, batch)
                batch.clear()
                widths[part] = one.columns.shape[1]
            batch.append((place, self._narrowed(one, part)))
        for part, batch in waiting.items():
            found |= self._finished(part, batch)
        return [found[place] for place in range(len(found))]

    def part_of(self, counted: Mask) -> str:
        """Which part of the run an estimate that counts these cases is drawn from: "" is all."""
        return ""

    def members_of(self, part: str) -> Mask:
        """The cases of a part."""
        return self.everyone

    def _narrowed(self, one: Estimate, part: str) -> Estimate:
        if not part:
            return one
        assert one.columns is not None
        assert one.counted is not None
        rows = self._rows(part)
        return msgspec.structs.replace(one, columns=one.columns[rows], counted=one.counted[rows])

    def _rows(self, part: str) -> Ints:
        return self.once(("rows", part), lambda: np.flatnonzero(self.members_of(part)))

    def _finished(self, part: str, batch: Sequence[tuple[int, Estimate]]) -> dict[int, Measure]:
        places, estimates = zip(*batch, strict=True)
        drawn = self.resampling
        if part:
            drawn = self.once(
                ("resampling", part), lambda: self.resampling.over(self.clusters[self._rows(part)])
            )
        return dict(zip(places, drawn.finish(estimates), strict=True))


JUDGES_WORTH: Final = ("judge unfit", "judge not checked")
"""What can be said against a judge, the worse first."""


def group_names(values: Words, known: Iterable[str] = ()) -> list[str]:
    """The names that occur: those known in their order, then others by the alphabet."""
    present = set(np.unique(values).tolist()) - {""}
    order = list(known)
    return [name for name in order if name in present] + sorted(present - set(order))


def codes_of(names: Iterable[str | None]) -> Ints:
    """Clusters as codes: a case without a name is one by itself. Codes by the sorted names."""
    own = [f"\x00{at}" if name is None else name for at, name in enumerate(names)]
    _, codes = np.unique(np.array(own, dtype=np.str_), return_inverse=True)
    return codes.astype(np.int64)


def linked_clusters(owners: pl.DataFrame, n: int) -> Ints:
    """Codes of n cases that share an owner (a file, a patient), also by way of others.

    `owners` has a row for each tie: `place` of the case and `owner`. Codes are given where a
    cluster is first seen, so names do not matter.
    """
    ties = owners.drop_nulls()
    if not ties.height:
        return np.arange(n)
    owner = ties["owner"].rank("dense").to_numpy().astype(np.int64) - 1 + n
    place = ties["place"].to_numpy()
    found = np.arange(n)
    found[place] = owner
    if (found[place] != owner).any():  # a case of several owners ties theirs together
        found = _joined(place, owner - n, n)
    _, first, codes = np.unique(found[:n], return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[codes]


def _joined(place: Ints, owner: Ints, n: int) -> Ints:
    """For each of n cases the first of those it is tied to, also by way of others.

    Every case points at an earlier one it shares an owner with, until none can point further: a
    few rounds however long a chain of ties is, for what is pointed at is joined too (Zhang, Azad
    and Hu, FastSV, 2020).
    """
    found = np.arange(n)
    while True:
        before = found.copy()
        least = np.full(int(owner.max()) + 1, n)
        np.minimum.at(least, owner, before[before[place]])
        np.minimum.at(found, before[place], least[owner])
        np.minimum.at(found, place, least[owner])
        found = np.minimum(found, before[before])
        if (found == before).all():
            return found


def ordered_pairs(readers: Sequence[_T]) -> Iterator[tuple[_T, _T]]:
    """Every two of them, in their order."""
    for at, one in enumerate(readers):
        for other in readers[at + 1 :]:
            yield one, other
