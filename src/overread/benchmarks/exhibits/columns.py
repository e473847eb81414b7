"""A measure as it heads a column of a table, or an axis of a drawing."""

from __future__ import annotations

from typing import NamedTuple

from overread.benchmarks.exhibits.index import Index
from overread.case import Measure

__all__ = ["Column"]


class Column(NamedTuple):
    """A measure of one group, and the question judges were asked for it."""

    heading: str
    measure: str
    by: tuple[tuple[str, str], ...] = ()
    question: str = ""

    def of(self, index: Index, reader: str, **more: str) -> Measure | None:
        return index.get(reader, self.measure, **dict(self.by), **more)

    def known(self, index: Index, reader: str, **more: str) -> Measure | None:
        """The record, where it has a value."""
        return index.known(reader, self.measure, **dict(self.by), **more)

    def stands(self, index: Index) -> bool:
        """Whether any reader has a value here."""
        return index.any(self.measure, **dict(self.by))
