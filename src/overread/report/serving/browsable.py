"""A run's cases as they are looked for: an index to filter, and cards and pictures on demand.

What a browser asks for is read strictly: whatever is odd is refused in one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

import msgspec

from overread.case import Card, Shown

if TYPE_CHECKING:
    import polars as pl

_MOST_FIELDS: Final = 32
_MOST_DIGITS: Final = 7
_YES: Final = {"yes": True, "no": False, None: None}
_FACT: Final = "fact:"


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


def find(index: pl.DataFrame, wanted: Filter, page: int, size: int) -> tuple[int, list[str]]:
    """How many cases fit, and those of one page of `size`, from 0; beyond the last it is empty."""
    import polars as pl

    asked = msgspec.structs.asdict(wanted)
    asked |= asked.pop("facts")
    # What cannot be said is neither yes nor no: null equals nothing.
    kept = [pl.col(name) == pl.lit(value) for name, value in asked.items() if value is not None]
    rows = index.filter(kept) if kept else index
    cases = rows["case"].unique(maintain_order=True)
    return len(cases), cases.slice(page * size, size).to_list()


# ---------------------------------------------------------------- queries

Runs = Sequence[Browsable | None]


class Refused(Exception):
    """A request that is not answered: a status and a line that says nothing of the server."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status, self.line = status, line


def cards_wanted(query: str, runs: Runs) -> tuple[int, int, Filter]:
    """Run, page and filter of `run=1&page=0&reader=…&right=yes&flipped=no&fact:NAME=…`."""
    run, fields = _read(query, runs)
    found = runs[run - 1]
    if found is None:
        raise Refused(404, "The cases of this run are not shown.")
    page = _number(fields, "page")
    reader = fields.pop("reader", None)
    if reader is not None and reader not in found.readers:
        raise Refused(400, "reader: the run has none of this name.")
    told = {name: fields.pop(name, None) for name in ("right", "flipped")}
    for name, word in told.items():
        if word not in _YES:
            raise Refused(400, f"{name}: expected yes or no.")
    facts = [name.removeprefix(_FACT) for name in fields if name.startswith(_FACT)]
    if not set(facts) <= set(found.facets):
        raise Refused(400, "fact: cases of the run are not told apart by this.")
    wanted = {name: fields.pop(_FACT + name) for name in facts}
    _nothing_left(fields)
    said = {name: _YES[word] for name, word in told.items()}
    return run, page, Filter(reader=reader, **said, facts=wanted)


def picture_wanted(query: str, runs: Runs) -> tuple[int, str, int]:
    """Run, case and number of the slide of `run=1&case=…&n=2`."""
    run, fields = _read(query, runs)
    case, number = fields.pop("case", None), _number(fields, "n")
    _nothing_left(fields)
    if case is None:
        raise Refused(400, "case: say which.")
    found = runs[run - 1]
    if found is None or found.picture is None or case not in found.cases:
        raise Refused(404, "There is no such picture.")
    return run, case, number


def _read(query: str, runs: Runs) -> tuple[int, dict[str, str]]:
    """The number of the run, and what else a query says."""
    try:
        pairs = parse_qsl(
            query, True, strict_parsing=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:  # a UnicodeDecodeError is one
        raise Refused(400, "The query cannot be read.") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Refused(400, "The query says something twice.")
    run = _number(fields, "run")
    if not 1 <= run <= len(runs):
        raise Refused(404, "There is no such run.")
    return run, fields


def _number(fields: dict[str, str], name: str) -> int:
    word = fields.pop(name, "")
    if not (word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS):
        raise Refused(400, f"{name}: expected a whole number.")
    return int(word)


def _nothing_left(fields: dict[str, str]) -> None:
    if fields:
        raise Refused(400, "The query has a field that means nothing here.")
