"""A run under one edition: its readers' marks, and what is worked out once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.facts import Facts
from overread.benchmarks.grounding.marks import Marks, marks_at, marks_of
from overread.case import Measure

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = ["Column", "Done", "Making", "Metric", "Study"]

Done: TypeAlias = Mapping[str, Measure]
Column: TypeAlias = tuple[str, ...]
"""The name of a column that is summed in every resample of patients."""


class Study:
    """The readers of a run. A class, for the patients are resampled once for all measures."""

    def __init__(self, tables: Tables, edition: Edition, options: Options) -> None:
        self.tables, self.edition, self.options = tables, edition, options
        self.marks: Final = tuple(marks_of(tables, edition, options))
        self._columns: dict[Column, NDArray[np.float64]] = {}

    @cached_property
    def facts(self) -> Facts:
        from overread.benchmarks.grounding.facts import facts_of

        return self.marks[0].facts if self.marks else facts_of(self.tables.cases, self.edition)

    @property
    def text_only(self) -> list[Marks]:
        """The baselines: readers that never see a picture."""
        return [marks for marks in self.marks if marks.modality == "text"]

    def at(self, px: int, phrasing: str) -> list[Marks]:
        """The same readers at another resolution or phrasing."""
        return marks_at(self.tables, self.edition, self.facts, px, phrasing)

    @cached_property
    def compared(self) -> dict[tuple[str, str], list[Measure]]:
        """The comparisons between readers, by (reader, measure)."""
        from overread.benchmarks.grounding.comparisons import compared

        return compared(self)

    @cached_property
    def auroc_bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """The published interval of AUROC, by reader."""
        from overread.benchmarks.grounding.calibration import auroc_bounds

        return auroc_bounds(self)

    # ------------------------------------------------------------ resampling patients

    def need(self, columns: Mapping[Column, NDArray[np.float64]]) -> None:
        """Ask for these columns (one number per case) to be summed in every resample."""
        assert "_totals" not in self.__dict__, "columns are asked for before any is read"
        self._columns.update(columns)

    def has(self, name: Column) -> bool:
        return name in self._columns

    def resampled(self, name: Column) -> NDArray[np.float64]:
        """The sum of a column in each resample of patients; the same resamples for all columns."""
        return self._totals[:, self._place[name]]

    def sd_of_rate(self, name: str, reader: str) -> float | None:
        """The standard deviation of a reader's rate over the resamples.

        None without columns, and for a single patient, whose resamples are all the same.
        """
        from overread.stats import ratio_interval

        if not self.has(("hits", name, reader)) or self.facts.patients.max() < 1:
            return None
        hits, asked = (self.resampled((what, name, reader)) for what in ("hits", "asked"))
        return ratio_interval(hits, asked, 0.0)[2]

    @cached_property
    def _place(self) -> dict[Column, int]:
        return {name: place for place, name in enumerate(self._columns)}

    @cached_property
    def _totals(self) -> NDArray[np.float64]:
        from overread.stats import PatientWeights, canonical

        table = np.column_stack(list(self._columns.values()))
        patients = canonical(self.facts.patients, table)
        weights = PatientWeights(patients, n_boot=self.edition.boot, seed=self.edition.seed)
        return weights.totals(table)


Making: TypeAlias = Callable[[Marks, Study, Done], Iterator[Measure]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One registered measure.

    `needs` are conditions without which it is null; `across` marks a measure of readers against
    each other, which not every reader has.
    """

    name: str
    says: str
    needs: tuple[str, ...]
    make: Making
    across: bool = False
