"""What a benchmark is: a handful of small functions, all but `cases` pure.

A benchmark makes trials and reads replies; it never asks. The engine does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from overread.case import (
    Card,
    Condition,
    Figure,
    Headline,
    Measure,
    Policy,
    Reader,
    Reply,
    Table,
    Traits,
    Trial,
)
from overread.judging import Read, Role

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from overread.judging.sheet import Unit

__all__ = [
    "Benchmark",
    "Browsed",
    "Carded",
    "Compared",
    "Described",
    "FollowsUp",
    "ForPeople",
    "Headlined",
    "Imported",
    "Judged",
    "LeavesOut",
    "LooksAhead",
    "Pictured",
    "ReaderRecord",
    "Recovered",
    "Reviewed",
    "Sampled",
    "Shows",
    "SubSampled",
    "Tables",
    "Timed",
]


class ReaderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the run's record says of one reader."""

    name: str
    traits: Traits = Traits()
    identity: str = ""
    # What the user declared: parameters in billions, and the group it belongs to.
    params_b: float | None = None
    group: str | None = None


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Everything measures are made of: frames of cases and answers, and the readers."""

    cases: pl.DataFrame
    answers: pl.DataFrame
    # What judges said, where any were asked.
    verdicts: pl.DataFrame | None = None
    readers: tuple[ReaderRecord, ...]
    partial: bool = False
    # The digest of the cases that a user named, where one did.
    only: str = ""
    # The edition the readers were asked under; empty where somebody else asked them.
    asked_under: str = ""

    @property
    def part(self) -> list[str]:
        """How a signature ends where not all cases of the set were to be asked about."""
        return [f"only:{self.only}"] * bool(self.only) + ["partial"] * self.partial


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
class Carded(Protocol):
    """A benchmark that finds the cards of a set though its images may be gone."""

    def policy_at(self, path: str | Path) -> Policy: ...


@runtime_checkable
class SubSampled(Protocol):
    """A benchmark that asks some things of a sub-sample: it is told which cases a run has."""

    def sample_from(self, chosen: frozenset[str]) -> None: ...


@runtime_checkable
class LooksAhead(Protocol):
    """A benchmark whose measuring names readers or files: it refuses wrong ones beforehand.

    It is told the readers of a run before anybody is asked.
    """

    def look_ahead(self, readers: Sequence[str]) -> None: ...


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
class FollowsUp(Protocol):
    """A benchmark that asks again with what a reader said."""

    @property
    def follows(self) -> bool: ...
    def follow_ups(
        self, case: str, said: Sequence[tuple[Trial, Reply]], traits: Traits
    ) -> Iterator[Trial]: ...


@runtime_checkable
class Timed(Protocol):
    """A benchmark that asks some questions one at a time, to time them."""

    @property
    def times(self) -> bool: ...
    def timed(self, chosen: frozenset[str] | None, traits: Traits) -> Iterator[Trial]: ...


@runtime_checkable
class Judged(Protocol):
    """A benchmark whose replies are judged by other readers.

    `roles` are what can be judged; `reask` how often a judge that cannot be read is asked again;
    `judges` its own offline judges by name. `checks` are the controls whose replies show whether a
    judge is fit, over `check_cases`. `judge_trials` are the questions about one row of answers; the
    row has the columns reader and check too, each question a condition of role, question, reader,
    about, check and prompt; `other_rubrics` are those a judge may be asked with in place of the
    usual one. `again` is a question asked once more; `usual_length` a reply's, in
    characters, for forecasts; 0 where no judge is sent it. `read_verdict` reads a judge's words and
    never raises. `judge_over` makes a benchmark that was opened from a run's tables judge these;
    `for_judges` are the settings that say what judges are asked, and nothing else.
    """

    @property
    def roles(self) -> tuple[Role, ...]: ...
    def reask(self, condition: Condition) -> int: ...
    @property
    def checks(self) -> Sequence[str]: ...
    def judges(self) -> Mapping[str, Reader]: ...
    def check_cases(self, chosen: frozenset[str] | None) -> frozenset[str]: ...
    def usual_length(self, condition: Condition) -> int: ...
    @property
    def other_rubrics(self) -> Mapping[Role, tuple[str, ...]]: ...
    def judge_trials(
        self, row: Mapping[str, Any], role: Role, rubric: str = ""
    ) -> Iterator[Trial]: ...
    def again(self, trial: Trial, attempt: int) -> Trial: ...
    def read_verdict(self, case: str, condition: Condition, text: str) -> Read: ...
    def judge_over(self, tables: Tables) -> None: ...
    @property
    def for_judges(self) -> frozenset[str]: ...


@runtime_checkable
class Sampled(Protocol):
    """A judged benchmark whose verdicts a person may look over.

    `units` are the things judged in a run's tables, checks left out; `choices` the words that judge
    and person have for each, by question.
    """

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]: ...
    def units(self, tables: Tables) -> list[Unit]: ...


@runtime_checkable
class ForPeople(Protocol):
    """A benchmark whose errors a person may label, and whose readers' replies people may rank.

    `errors` are at most `n` wrong answers of a reader in each group, only those another reader got
    right if one is named; `write_errors` makes a csv of them. `write_ranks` makes a csv of the
    readers' replies to `n` items and says how many items and rows it has.
    """

    def errors(
        self, tables: Tables, reader: str, n: int, seed: int, right_for: str | None
    ) -> Sequence[Any]: ...
    def write_errors(self, path: Path, rows: Sequence[Any]) -> None: ...
    def write_ranks(
        self, path: Path, tables: Tables, readers: Sequence[str], n: int, seed: int
    ) -> tuple[int, int]: ...


@runtime_checkable
class Reviewed(Protocol):
    """A benchmark with right answers that a person should look at: at most `n` of each group."""

    def review(self, tables: Tables, reader: str, n: int, seed: int) -> Sequence[Any]: ...
    def write_review(self, path: Path, rows: Sequence[Any]) -> None: ...


@runtime_checkable
class Headlined(Protocol):
    """A benchmark that says in a sentence what it found of each reader."""

    def headlines(self, measures: Sequence[Measure]) -> Iterator[Headline]: ...


@runtime_checkable
class Described(Protocol):
    """A benchmark that says how its numbers came about, and what they cannot tell.

    Whole sentences that an author may paste: what was asked and how it was counted; what limits it,
    as far as the benchmark and these measures give cause. `asked_under` is the edition the readers
    were asked under, where that is not this one; empty where somebody else asked them.
    """

    def methods(self, asked_under: str | None = None) -> Sequence[str]: ...
    def limitations(self, measures: Sequence[Measure]) -> Sequence[str]: ...


@runtime_checkable
class Compared(Protocol):
    """A benchmark whose readers may be compared case by case, within a run and across runs.

    `per_case` gives for each headline measure a frame of reader, case, cluster and value;
    `higher_is_better` says of these measures whether more is better, where that can be said.
    """

    @property
    def higher_is_better(self) -> Mapping[str, bool]: ...
    def per_case(self, tables: Tables) -> Mapping[str, pl.DataFrame]: ...


@runtime_checkable
class Browsed(Protocol):
    """A benchmark whose cases a person may look at one by one.

    `facets` are the facts to filter by, in order. `card_index` has a row for each case and reader:
    case, reader, right, flipped (null where neither can be said) and the facets; it is worked out
    in columns, for a run may have 200,000 answers. `cards` are the cards of these cases in this
    order; they have slides where the benchmark was opened over its cases.
    """

    @property
    def facets(self) -> tuple[str, ...]: ...
    def card_index(self, tables: Tables) -> pl.DataFrame: ...
    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[Card]: ...


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
