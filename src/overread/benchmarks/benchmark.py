"""What a benchmark is: a handful of small functions, all but `cases` pure.

A benchmark makes trials and reads replies; it never asks. The engine does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from overread.case import Figure, Measure, Policy, Reader, Reply, Table, Traits, Trial

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Benchmark",
    "Imported",
    "LeavesOut",
    "Pictured",
    "ReaderRecord",
    "Recovered",
    "Shows",
    "SubSampled",
    "Tables",
]


class ReaderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the run's record says of one reader."""

    name: str
    traits: Traits = Traits()
    identity: str = ""


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Everything measures are made of: frames of cases and answers, and the readers."""

    cases: pl.DataFrame
    answers: pl.DataFrame
    readers: tuple[ReaderRecord, ...]
    partial: bool = False
    # The edition the readers were asked under; empty where somebody else asked them.
    asked_under: str = ""


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """A control: what it is by construction, what the measures take it for, whether they agree."""

    control: str
    expected: str
    found: str
    ok: bool
    note: str | None = None


class Benchmark(Protocol):
    """One benchmark under one edition of its rules, over one set of cases.

    `cases` streams and validates; errors name file and row, and every case has a `case_id`.
    `stratum` is what `--limit` keeps in proportion. `trials` makes every condition of one case for
    a reader of these traits. `answer` parses a reply (or None where the trial went unanswered, with
    the reason) into a row of `answer_schema`; it never raises on odd text. `reread` parses kept
    rows again under this edition. `measure` and `exhibits` are pure. `expected` says what each
    control is by construction, `recovered` what a run's measures take those it holds for.
    `signature` says what the numbers stand on.
    """

    name: str
    policy: Policy

    @property
    def edition(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def case_schema(self) -> Mapping[str, Any]: ...
    @property
    def answer_schema(self) -> Mapping[str, Any]: ...
    def cases(self) -> Iterable[Any]: ...
    def case_row(self, case: Any) -> Sequence[Any]: ...
    def stratum(self, case: Any) -> tuple[str, ...]: ...
    def trials(self, case: Any, traits: Traits) -> Iterator[Trial]: ...
    def answer(
        self, trial: Trial, reply: Reply | None, traits: Traits, reason: str = ""
    ) -> Sequence[Any]: ...
    def reread(self, tables: Tables) -> Tables: ...
    def measure(self, tables: Tables) -> list[Measure]: ...
    def exhibits(self, measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]: ...
    def controls(self) -> Mapping[str, Reader]: ...
    def expected(self) -> Mapping[str, str]: ...
    def recovered(self, measures: Sequence[Measure]) -> list[Recovered]: ...
    def signature(self, tables: Tables) -> str: ...


@runtime_checkable
class Shows(Protocol):
    """A benchmark some of whose settings say what readers are shown: measuring keeps those."""

    @property
    def shows(self) -> frozenset[str]: ...


@runtime_checkable
class SubSampled(Protocol):
    """A benchmark that asks some things of a sub-sample: it is told which cases a run has."""

    def sample_from(self, chosen: frozenset[str]) -> None: ...


@runtime_checkable
class LeavesOut(Protocol):
    """A benchmark that cannot ask about everything in a set: it says what is left out, and why.

    `left_out` are names with their reasons; `remarks` are further lines a user should see.
    """

    @property
    def left_out(self) -> Sequence[tuple[str, str]]: ...
    @property
    def remarks(self) -> Sequence[str]: ...


@runtime_checkable
class Pictured(Protocol):
    """A benchmark some of whose exhibits show the cases' own pictures, where these may be shown."""

    def pictured(self, tables: Tables, signature: str) -> Iterator[Table | Figure]: ...


class Imported(NamedTuple):
    """What an importer makes of results that somebody else's scripts wrote.

    `warnings` has a line for everything passed over; `settings` are those given and those the files
    themselves call for.
    """

    benchmark: Benchmark
    tables: Tables
    warnings: list[str]
    settings: dict[str, str]
