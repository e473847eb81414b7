"""A run under one edition: its items, groups of them, the readers' marks, and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.drafts import FEW, TOGETHER, Draft, Ints, Mask, joined
from overread.benchmarks.medcmr.cases import (
    ABILITIES,
    DIMENSIONS,
    KINDS,
    MODALITIES,
    SYSTEMS,
    VISUAL,
)
from overread.benchmarks.medcmr.edition import Edition, Options
from overread.benchmarks.medcmr.marks import Facts, Marks, facts_of, marks_of, placed
from overread.benchmarks.tallies import Tallied
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

__all__ = [
    "Group",
    "Labels",
    "Making",
    "Metric",
    "Study",
    "family_of",
    "groups_of",
]


# ---------------------------------------------------------------- groups
# Groups of items: by dimension, family, ability, modality, system and subtype.


class Group(NamedTuple):
    """Items, and the keys of their records."""

    by: dict[str, str]
    members: Mask


def family_of(dimension: str) -> str | None:
    """`visual` or `reasoning`; None of a dimension that is not the paper's."""
    if dimension not in DIMENSIONS:
        return None
    return "visual" if dimension in VISUAL else "reasoning"


def groups_of(facts: Facts, kind: str) -> list[Group]:
    """All items of a kind, and every group that has any of them; names in the paper's order."""
    these = facts.of(kind)
    found = [Group({}, these)]
    if not these.any():
        return found
    dimensions = _names(facts.dimension[these], DIMENSIONS)
    found += [Group({"dimension": one}, these & (facts.dimension == one)) for one in dimensions]
    for family in ("visual", "reasoning"):
        some = [one for one in dimensions if family_of(one) == family]
        if some:
            found.append(Group({"family": family}, these & np.isin(facts.dimension, some)))
    for key, values, known in (
        ("ability", facts.ability, ABILITIES),
        ("modality", facts.modality, MODALITIES),
        ("system", facts.system, SYSTEMS),
    ):
        for name in _names(values[these], known):
            found.append(Group({key: name}, these & (values == name)))
    for dimension in dimensions:
        inside = these & (facts.dimension == dimension)
        for subtype in _names(facts.subtype[inside], ()):
            by = {"dimension": dimension, "subtype": subtype}
            found.append(Group(by, inside & (facts.subtype == subtype)))
    return found


def _names(values: NDArray[np.str_], known: Iterable[str]) -> list[str]:
    """The names that occur: those known in their order, then others by the alphabet."""
    present = set(np.unique(values).tolist()) - {""}
    order = list(known)
    return [name for name in order if name in present] + sorted(present - set(order))


# ---------------------------------------------------------------- study

# The label of a judge for a question, where it has one: what its verdicts are worth.
Labels: TypeAlias = Mapping[tuple[str, str], str | None]
_T = TypeVar("_T")


class Study:
    """The readers of a run. A class, for what is worked out once serves all measures.

    `cases` and `answers` are the run's, with the item's `place` among the facts; `verdicts`
    likewise, those on checks left out, with `form`, `image`, `order` and `variant` from `about` and
    the raw scores `clarity`, `coherence`, `visual`, `truth` from the payload.
    """

    def __init__(
        self,
        tables: Tables,
        verdicts: pl.DataFrame | None,
        edition: Edition,
        options: Options | None = None,
        labels: Labels | None = None,
    ) -> None:
        self.edition: Final = edition
        self.options: Final = options or Options()
        self.facts: Final[Facts] = facts_of(tables.cases, edition.clusters)
        self.declared: Final = tables.readers
        self.readers: Final = tuple(reader.name for reader in tables.readers)
        # Readers that get no picture: nothing of theirs can depend on one.
        self.unseeing: Final = frozenset(
            reader.name for reader in tables.readers if reader.traits.modality == "text"
        )
        self.cases: Final = placed(tables.cases, self.facts)
        self.answers: Final = placed(tables.answers, self.facts)
        self.verdicts: Final = None if verdicts is None else _verdicts(verdicts, self.facts)
        self.marks: Final = marks_of(self.readers, self.facts, self.answers)
        self.labels: Final[Labels] = labels or {}
        self._kept: Final[dict[tuple[object, ...], Any]] = {}

    def once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """What `make` makes, made once for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        made: _T = self._kept[key]
        return made

    def groups(self, kind: str, *keys: str) -> list[Group]:
        """All items of a kind, then those of each group; with `keys`, of these groupings alone."""
        found = self.once(("groups", kind), lambda: groups_of(self.facts, kind))
        return [one for one in found if not keys or tuple(one.by) in {(), *((k,) for k in keys)}]

    @property
    def dimensions(self) -> list[Group]:
        """The multiple-choice items of each dimension that has any."""
        return [one for one in self.groups("mcq", "dimension") if one.by]

    def label(self, judges: Sequence[str], *questions: str) -> str | None:
        """What these judges are worth at these questions: the worst that is said of any."""
        found = {self.labels.get((judge, one)) for judge in judges for one in questions}
        return next((label for label in (UNFIT, NOT_CHECKED) if label in found), None)

    def alone(self, counted: Mask) -> bool:
        """Whether no two of these items share a cluster."""
        codes = self.facts.clusters[counted]
        return int(np.unique(codes).size) == codes.size

    def share(self, record: Measure, hit: Mask, members: Mask) -> Measure:
        """The share of `members` hit: Wilson's interval with a design effect by cluster."""
        return self.share_of(record, hit[members], self.facts.clusters[members])

    def share_of(self, record: Measure, hit: Mask, clusters: Ints) -> Measure:
        """The share of replies that are hit, `clusters` those of their items."""
        from overread.stats import design_effect, wilson

        n, k = int(hit.size), int(hit.sum())
        if not n:
            return msgspec.structs.replace(record, n=0, note=joined(record.note, "none"))
        effect = design_effect(hit, clusters)
        found = wilson(k, n, design_effect=effect)
        filled = msgspec.structs.replace(record, value=found.point, n=n, k=k)
        if clusters.min() == clusters.max():
            one = "one item has no interval"
            return msgspec.structs.replace(filled, note=joined(record.note, one))
        return msgspec.structs.replace(
            filled,
            se=found.sd,
            low=found.low,
            high=found.high,
            method="wilson" if effect == 1 else f"wilson, design effect {effect:.3g}",
        )

    def finish(self, made: Iterable[Draft | Measure]) -> list[Measure]:
        """Drafts with their intervals and records as they are, in their order.

        Items of one kind are resampled by themselves for what counts only them; what counts both
        kinds, together. Drafts are taken one by one, and their columns let go batch by batch.
        """
        found: dict[int, Measure] = {}
        waiting: dict[str, list[tuple[int, Draft]]] = {}
        for place, one in enumerate(made):
            if isinstance(one, Measure) or one.columns is None or one.counted is None:
                found[place] = one if isinstance(one, Measure) else one.record
                continue
            kind = self._kind(one.counted)
            narrowed = self._narrowed(one, kind)
            quick = self._resampling(kind).quickly(narrowed)
            if quick is not None:
                found[place] = quick
                continue
            batch = waiting.setdefault(kind, [])
            if batch and sum(map(_width, batch)) + one.columns.shape[1] > TOGETHER:
                found |= self._finished(kind, batch)
                batch.clear()
            batch.append((place, narrowed))
        for kind, batch in waiting.items():
            found |= self._finished(kind, batch)
        return [found[place] for place in range(len(found))]

    def _kind(self, counted: Mask) -> str:
        present = set(self.facts.kinds[counted].tolist())
        return next((kind for kind in KINDS if present <= {kind}), "")

    def _rows(self, kind: str) -> Ints:
        return self.once(
            ("rows", kind),
            lambda: np.flatnonzero(self.facts.of(kind)) if kind else np.arange(self.facts.n),
        )

    def _narrowed(self, made: Draft, kind: str) -> Draft:
        assert made.columns is not None
        assert made.counted is not None
        rows = self._rows(kind)
        return msgspec.structs.replace(
            made, columns=made.columns[rows], counted=made.counted[rows], few=FEW
        )

    def _finished(self, kind: str, batch: Sequence[tuple[int, Draft]]) -> dict[int, Measure]:
        places, drafts = zip(*batch, strict=True)
        return dict(zip(places, self._resampling(kind).finish(drafts), strict=True))

    def _resampling(self, kind: str) -> Tallied:
        def make() -> Tallied:
            clusters = self.facts.clusters[self._rows(kind)]
            return Tallied(clusters, boot=self.edition.boot, seed=self.edition.seed)

        return self.once(("resampling", kind), make)


def _width(waiting: tuple[int, Draft]) -> int:
    columns = waiting[1].columns
    return 0 if columns is None else columns.shape[1]


def _verdicts(verdicts: pl.DataFrame, facts: Facts) -> pl.DataFrame:
    import polars as pl

    about = pl.Struct(
        {"form": pl.String, "image": pl.String, "order": pl.Int64, "variant": pl.String}
    )
    scores = pl.Struct(dict.fromkeys(("clarity", "coherence", "visual", "truth"), pl.Float64))
    kept = placed(verdicts.filter(~pl.col("check").fill_null(False)), facts)
    return kept.with_columns(
        pl.col("about").str.json_decode(about).alias("_about"),
        pl.col("payload").str.json_decode(scores).alias("_scores"),
    ).unnest("_about", "_scores")


Making: TypeAlias = Callable[[Marks, Study], Iterator[Draft | Measure]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One registered measure: its name, its definition in a line, and what makes it."""

    name: str
    says: str
    make: Making
