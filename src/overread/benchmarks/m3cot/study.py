"""A run under one edition, and the one resampling of its items behind all intervals.

A measure is drafted with the columns its interval needs; all drafts of a reader are finished
together, so the items (patients, where they are known) are drawn once, and two readers' drafts see
the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np

from overread.benchmarks.drafts import (
    Draft,
    Resampling,
    agreeing,
    apart,
    columns_of,
    counted_in,
    defined_mean,
    drafted,
    joined,
    left_open,
    noted,
    panel,
    quotients,
    settled,
    share,
    unseen,
    widened,
)
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import (
    COT,
    IMPORTED,
    Cell,
    Facts,
    Marks,
    Mask,
    facts_of,
    marks_of,
)
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = [
    "Draft",
    "Labels",
    "Making",
    "Metric",
    "Study",
    "agreeing",
    "apart",
    "columns_of",
    "counted_in",
    "defined_mean",
    "drafted",
    "joined",
    "left_open",
    "noted",
    "panel",
    "quotients",
    "settled",
    "share",
    "unseen",
    "widened",
]

# The label of a judge for a question, where it has one: what its verdicts are worth.
Labels: TypeAlias = Mapping[tuple[str, str], str | None]
_T = TypeVar("_T")


class Study:
    """The readers of a run. A class, for what is worked out once serves all measures."""

    def __init__(
        self,
        tables: Tables,
        verdicts: pl.DataFrame | None,
        edition: Edition,
        labels: Labels | None = None,
    ) -> None:
        self.edition = edition
        self.facts: Final[Facts] = facts_of(tables.cases)
        readers = tuple(reader.name for reader in tables.readers)
        # Readers that get no picture: nothing of theirs can depend on one.
        self.unseeing: Final = frozenset(
            reader.name for reader in tables.readers if reader.traits.modality == "text"
        )
        self.answers: Final = tables.answers
        elsewhere = frozenset(one.name for one in tables.readers if one.identity == IMPORTED)
        self.marks: Final = marks_of(readers, self.facts, tables.answers, verdicts, elsewhere)
        self.labels: Final[Labels] = labels or {}
        self._resampling: Final = Resampling(
            self.facts.patients, boot=edition.boot, seed=edition.seed
        )
        self._kept: Final[dict[tuple[object, ...], Any]] = {}

    def once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """What `make` makes, made once for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        made: _T = self._kept[key]
        return made

    @property
    def tasks(self) -> list[str]:
        return sorted(set(self.facts.tasks.tolist()) - {""})

    @property
    def groups(self) -> Iterator[tuple[dict[str, str], Mask]]:
        """All items, those of each task, and those of each kind of question."""
        yield {}, np.ones(self.facts.n, dtype=bool)
        for task in self.tasks:
            yield {"task": task}, self.facts.tasks == task
        for kind in sorted(set(self.facts.kinds.tolist())):
            yield {"kind": kind}, self.facts.kinds == kind

    @property
    def modalities(self) -> Iterator[tuple[dict[str, str], Mask]]:
        """The items of each examination, told by its first spelling; as published by the letter."""
        folded = self.edition.step_types == "folded"
        names = self.facts.modalities.tolist()
        keys = [" ".join(name.split()).casefold().strip(" .") if folded else name for name in names]
        shown = dict(zip(reversed(keys), reversed(names), strict=True))
        for key in sorted(set(keys) - {""}):
            yield {"modality": shown[key]}, np.array([one == key for one in keys], dtype=bool)

    def judges(self, marks: Marks, question: str, cell: Cell = COT) -> list[str]:
        """Who judged the reader here; where it said nothing at all, whoever judges others.

        A silent reader's replies are sent to nobody, and are wrong all the same (M3COT 10). Of
        results made elsewhere nothing hangs on what others are imported.
        """
        own = marks.judges(question, cell)
        if own or marks.elsewhere or cell not in marks.said or not marks.silent(cell).all():
            return own
        cells = {at for other in self.marks for _, at in other.verdicts}
        return sorted({judge for other in self.marks for judge in other.judges(question, *cells)})

    def label(self, judges: Sequence[str], *questions: str) -> str | None:
        """What these judges are worth at these questions: the worst that is said of any."""
        found = {self.labels.get((judge, one)) for judge in judges for one in questions}
        return next((label for label in (UNFIT, NOT_CHECKED) if label in found), None)

    def finish(self, drafts: Sequence[Draft]) -> list[Measure]:
        """The drafts with their intervals, in their order."""
        return self._resampling.finish(drafts)

    def left_open(self, counted: Mask) -> float:
        """What Wilson's bound at 0 leaves open of as many patients as these items have."""
        return self._resampling.left_open(counted)


Making: TypeAlias = Callable[[Marks, Study], Iterator[Draft | Measure]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One registered measure: its name, its definition in a line, and what makes it."""

    name: str
    says: str
    make: Making
