"""Readers of one or more runs compared on the cases they share. Nobody is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overread.benchmarks.base import ComparedWords
from overread.benchmarks.exhibits.cells import NOT_KNOWN, p_value
from overread.case import BadInput, Measure, Table
from overread.runs._joining import differing, joined_tables, labels_of
from overread.runs._kept import Kept, kept_runs

if TYPE_CHECKING:
    import polars as pl


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose readers are compared, and what its numbers stand on."""

    folder: str
    signature: str
    n_cases: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The readers of one benchmark's runs, pair by pair: records, a sentence each, a table.

    `readers` are as they are named here: with their run where two runs have one of that name.
    """

    benchmark: str
    edition: str
    dataset: str
    runs: list[ComparedRun]
    readers: list[str]
    notes: list[str]
    differences: list[Measure]
    lines: list[str]
    table: Table


class Comparing(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared, each benchmark by itself."""

    found: list[Comparison]


def compare(
    folders: Sequence[str | Path], *, measures: Sequence[str] = (), readers: Sequence[str] = ()
) -> Comparing:
    """Compare readers case by case, within and across runs.

    Runs of one benchmark must be over the same data set under the same edition. `measures` are the
    only ones wanted; `readers` the only readers, or, if one is named, it against all others. What
    is shown does not change what is found: q is over all pairs of the runs either way.
    """
    places = [Path(folder) for folder in folders]
    groups: dict[str, list[Kept]] = {}
    for kept in kept_runs(places):
        groups.setdefault(kept.record.benchmark, []).append(kept)
    for runs in groups.values():
        _check_alike(runs)
    together = [_Together(runs) for runs in groups.values()]
    _check_known("--reader", readers, [name for one in together for name in one.known()])
    _check_known("--measure", measures, [name for one in together for name in one.values])
    found = [one.compared(measures, readers) for one in together]
    if not any(one.differences for one in found):
        raise BadInput(
            "there are no two readers to compare in one measure. Give a run with two, or two runs "
            "of one set that were asked alike."
        )
    return Comparing(found=[one for one in found if one.differences])


def _check_alike(runs: Sequence[Kept]) -> None:
    first = runs[0]
    if not first.bench.compared:
        raise BadInput(
            f"{first.folder} is a run of {first.record.benchmark}, whose readers are not compared "
            "case by case."
        )
    for other in runs[1:]:
        both = (
            f"{first.folder} ({first.record.signature}) and {other.folder} "
            f"({other.record.signature})"
        )
        if _digest(first) != _digest(other):
            raise BadInput(f"{both} are over different cases. Compare runs of one data set.")
        if first.record.edition != other.record.edition:
            raise BadInput(
                f"{both} are under different editions. Measure one again with `overread measure`."
            )


def _digest(kept: Kept) -> str:
    return kept.record.dataset.rpartition("@")[2]


def _check_known(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            there = ", ".join(dict.fromkeys(known)) or "none"
            raise BadInput(f'{option} "{name}" is not in these runs; there are {there}.')


class _Together:
    """Runs of one benchmark as if they were one. A class, for every step needs all of it."""

    def __init__(self, runs: Sequence[Kept]) -> None:
        self.runs = runs
        self.record = runs[0].record
        self.labels = labels_of(runs)
        bench = runs[0].bench
        # Together, not run by run: a benchmark counts only judges and settings that all share.
        self.values: Mapping[str, pl.DataFrame] = bench.per_case(joined_tables(runs, self.labels))
        self.words = {name: bench.words_of(name) for name in self.values}
        self.higher = bench.higher_is_better
        self.readers = [name for own in self.labels for name in own.values()]

    def known(self) -> list[str]:
        """Names a reader may be given by: its own, or with its run."""
        plain = [name for own in self.labels for name in own]
        return [*dict.fromkeys(self.readers), *plain]

    def compared(self, measures: Sequence[str], readers: Sequence[str]) -> Comparison:
        from overread.report.compared_lines import comparison_line
        from overread.report.comparing import differences

        every = list(combinations(self.readers, 2))
        shown = set(self._shown(every, readers))
        found: list[Measure] = []
        for name, values in self.values.items():
            if measures and name not in measures:
                continue
            there = set(values["reader"].unique())
            pairs = [pair for pair in every if there.issuperset(pair)]
            # All of them, whoever is shown: else choosing readers would choose q.
            made = differences(name, values, pairs, shares=self.words[name].in_shares)
            found.extend(one for one in made if (one.reader, one.by["versus"]) in shown)
        notes = list(self._notes())
        return Comparison(
            benchmark=self.record.benchmark,
            edition=self.record.edition,
            dataset=self.record.dataset,
            runs=[
                ComparedRun(
                    folder=str(run.folder),
                    signature=run.record.signature,
                    n_cases=run.record.n_cases,
                )
                for run in self.runs
            ],
            readers=self.readers,
            notes=notes,
            differences=found,
            lines=[
                comparison_line(one, self.words[measure], self.higher.get(measure))
                for one in found
                if (measure := one.family) is not None
            ],
            table=self._table(found, notes),
        )

    def _shown(
        self, every: Sequence[tuple[str, str]], wanted: Sequence[str]
    ) -> Sequence[tuple[str, str]]:
        if not wanted:
            return every
        meant = {
            label
            for own in self.labels
            for name, label in own.items()
            if name in wanted or label in wanted
        }
        if len(wanted) == 1 and len(meant) == 1:
            return [pair for pair in every if meant & set(pair)]
        return [pair for pair in every if meant.issuperset(pair)]

    def _notes(self) -> Iterator[str]:
        """What sets the runs apart, and what every number here is."""
        sizes = [run.record.n_cases for run in self.runs]
        if len(set(sizes)) > 1 or any(run.record.partial for run in self.runs):
            yield (
                f"Compared on the cases that both readers of a pair have; the runs have "
                f"{', '.join(map(str, sizes))} cases{_partial(self.runs)}."
            )
        for key, values in differing([run.record.signature for run in self.runs]).items():
            yield f"The runs differ in {key}: {'; '.join(values)}."
        silent = [
            reader
            for reader in self.readers
            if not any((values["reader"] == reader).any() for values in self.values.values())
        ]
        if silent:
            yield f"Nothing to compare of {', '.join(silent)}."
        yield (
            "Difference: first less second, the mean over the cases that count for both, its 95 % "
            "interval by resampling clusters; q: Benjamini and Hochberg's over all pairs of a "
            "measure, shown or not."
        )
        yield (
            "P is that of a paired test by case, exact where values are 0 or 1. A run's own table "
            "has the tests of its benchmark, in families of their own: p and q may differ."
        )

    def _table(self, found: Sequence[Measure], notes: Sequence[str]) -> Table:
        return Table(
            name="compare",
            title=f"{self.record.benchmark}, edition {self.record.edition}: readers compared",
            columns=("measure", "reader", "versus", "difference", "n", "p", "q"),
            rows=tuple(_row(record, self.words[record.family or ""]) for record in found),
            notes=tuple(notes),
            signature=" ".join(dict.fromkeys(run.record.signature for run in self.runs)),
        )


def _partial(runs: Sequence[Kept]) -> str:
    partial = [str(run.folder) for run in runs if run.record.partial]
    return f", {', '.join(partial)} a sample of the set" if partial else ""


def _row(record: Measure, words: ComparedWords) -> tuple[str, ...]:
    from overread.report.compared_lines import amount

    value = amount(record.value, words, signed=True)
    if record.low is not None and record.high is not None:
        low, high = (amount(end, words, signed=True) for end in (record.low, record.high))
        value = f"{value} [{low}, {high}]"
    n = NOT_KNOWN if record.n is None else str(record.n)
    p, q = p_value(record.p), p_value(record.q)
    return words.measure, record.reader, record.by["versus"], value, n, p, q
