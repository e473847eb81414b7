"""A run's cases as they are looked for: an index to filter, and cards and pictures on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from overread.case import Card, Shown

if TYPE_CHECKING:
    import polars as pl


class Browsable(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run, where its cases may be looked at.

    `index` has a row for each case and reader: case, reader, right, flipped (null where neither can
    be said) and the facets, in the order in which cases are paged through. `cards` makes the cards
    of these cases, in this order; `picture` the picture of a case's slide, or None where there is
    none. Both may be called from any thread.
    """

    index: pl.DataFrame
    facets: Sequence[str]
    cards: Callable[[Sequence[str]], list[Card]]
    picture: Callable[[str, int], Shown | None] | None = None

    @cached_property
    def cases(self) -> frozenset[str]:
        return frozenset(self.index["case"])

    @cached_property
    def readers(self) -> frozenset[str]:
        return frozenset(self.index["reader"])


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases: those with these facts that this reader, or any, got right or wrong, and of
    which its answer flipped or did not. Nothing given, nothing left out.
    """

    reader: str | None = None
    right: bool | None = None
    flipped: bool | None = None
    facts: Mapping[str, str] = {}


class Found(NamedTuple):
    """How many cases fit, and those of one page."""

    total: int
    cases: list[str]


def find(index: pl.DataFrame, wanted: Filter, page: int, size: int) -> Found:
    """The cases that fit, `size` to a page, pages from 0; a page beyond the last is empty."""
    import polars as pl

    asked: dict[str, str | bool | None] = {
        "reader": wanted.reader,
        "right": wanted.right,
        "flipped": wanted.flipped,
        **wanted.facts,
    }
    # What cannot be said is neither yes nor no: null equals nothing.
    kept = [pl.col(name) == pl.lit(value) for name, value in asked.items() if value is not None]
    rows = index.filter(kept) if kept else index
    cases = rows["case"].unique(maintain_order=True)
    return Found(len(cases), cases.slice(page * size, size).to_list())
