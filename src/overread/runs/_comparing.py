"""Runs beside runs; nobody is asked.

Readers are compared on the cases they share: runs of one benchmark over one set are put together as
if all their readers had been in one run. Or two runs of the same readers over different cases: do
the numbers hold?
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.base import ComparedWords, Tables, Transferred
from overread.benchmarks.exhibits.cells import p_value
from overread.case import BadInput, Figure, Measure, Table
from overread.records import read_measures, read_record
from overread.runs._kept import Kept, benchmark_of, kept_runs, records_of
from overread.typeset import Cell

if TYPE_CHECKING:
    import polars as pl


_MARGIN_NOTE: Final = (
    "Margin: not worse, where the 95 % interval leaves out that the first model is worse by more; "
    "equivalent, where it leaves out more either way; worse, where it leaves out anything less. "
    "Each pair by itself, not corrected for their number."
)


class ComparedRun(msgspec.Struct, frozen=True):
    """A run whose readers are compared, and what its numbers stand on."""

    folder: str
    signature: str
    n_cases: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The readers of one benchmark's runs, pair by pair: records, a sentence each, a table.

    `readers` are as they are named here: with their run where two runs have one of that name.
    Held to a `margin`, differences have what they show of it in their flags.
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
    margin: float | None = None


def compare(
    folders: Sequence[str | Path],
    *,
    measures: Sequence[str] = (),
    readers: Sequence[str] = (),
    margin: float | None = None,
) -> list[Comparison]:
    """Compare readers case by case, within and across runs; each benchmark by itself.

    Runs of one benchmark must be over the same data set under the same edition. `measures` are the
    only ones wanted; `readers` the only readers, or, if one is named, it against all others. What
    is shown does not change what is found: q is over all pairs of the runs either way. With a
    `margin`, in the measures' own unit, each pair says whether its first reader is not worse than
    the second by more, and whether the two are equivalent.
    """
    _check_margin(margin)
    places = [Path(folder) for folder in folders]
    groups: dict[str, list[Kept]] = {}
    for kept in kept_runs(places):
        groups.setdefault(kept.record.benchmark, []).append(kept)
    for runs in groups.values():
        _check_alike(runs)
    together = [_Together(runs) for runs in groups.values()]
    _check_known("--reader", readers, [name for one in together for name in one.known()])
    _check_known("--measure", measures, [name for one in together for name in one.values])
    if margin is not None:
        for one in together:
            _check_margin(
                margin, [one.words[m] for m in one.values if not measures or m in measures]
            )
    found = [one.compared(measures, readers, margin) for one in together]
    if not any(one.differences for one in found):
        raise BadInput(
            "there are no two readers to compare in one measure. Give a run with two, or two runs "
            "of one set that were asked alike."
        )
    return [one for one in found if one.differences]


class PairedWith(msgspec.Struct, frozen=True):
    """A reader's difference from another in a measure, and whether more of that is better.

    No record where one of them is in no run; `versus` is who the other is, in words.
    """

    versus: str
    record: Measure | None
    higher: bool | None


class Paired:
    """Readers of a run beside others of it, or of a baseline over the same cases.

    A class, for the tables of two runs are put together once.
    """

    def __init__(self, baselines: Sequence[str | Path] = ()) -> None:
        self._baselines = {
            record.benchmark: folder
            for folder, record, _ in (records_of([Path(b) for b in baselines]) if baselines else ())
        }
        if len(self._baselines) < len(baselines):
            raise BadInput("--baseline: two are of one benchmark. Give one for each benchmark.")
        self._together: dict[str, _Together] = {}

    def baseline(self, benchmark: str) -> Path | None:
        return self._baselines.get(benchmark)

    def difference(
        self, folder: str, benchmark: str, measure: str, reader: str, versus: str | None
    ) -> PairedWith:
        """The reader less the other: `versus`, in the baseline where there is one, or itself."""
        baseline = self.baseline(benchmark)
        if folder not in self._together:
            places = [Path(folder), *([] if baseline is None else [baseline])]
            if baseline is not None and Path(folder).resolve() == baseline.resolve():
                raise BadInput(f"--baseline {baseline}: it is the run that is held against it.")
            runs = kept_runs(places)
            _check_alike(runs)
            self._together[folder] = _Together(runs)
        both = self._together[folder]
        other = versus or reader
        name = other if baseline is None else f"{other} of {baseline}"
        own, theirs = both.labels[0].get(reader), both.labels[-1].get(other)
        higher = both.higher.get(measure)
        if own is None or theirs is None or measure not in both.values:
            return PairedWith(name, None, higher)
        return PairedWith(name, both.difference(measure, own, theirs), higher)


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
        if first.record.dataset.rpartition("@")[2] != other.record.dataset.rpartition("@")[2]:
            raise BadInput(f"{both} are over different cases. Compare runs of one data set.")
        if first.record.edition != other.record.edition:
            raise BadInput(
                f"{both} are under different editions. Measure one again with `overread measure`."
            )


def _check_margin(margin: float | None, compared: Sequence[ComparedWords] = ()) -> None:
    if margin is None:
        return
    if not (math.isfinite(margin) and margin > 0):
        raise BadInput(f"--margin {margin:g}: give a number above 0, in the measure's own unit.")
    for words in compared:
        if words.in_shares and margin >= 1:
            raise BadInput(
                f"--margin {margin:g}: {words.measure} goes from 0 to 1, so that every difference "
                f"is within it. For {margin:g} points write {margin / 100:g}, or name other "
                "measures with --measure."
            )


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
        bench = runs[0].bench
        names = [[reader.name for reader in run.record.readers] for run in runs]
        self.labels = _with_their_run(runs, names, Counter(chain.from_iterable(names)))
        # Together, not run by run: a benchmark counts only judges and settings that all share.
        self.values: Mapping[str, pl.DataFrame] = bench.per_case(joined_tables(runs, self.labels))
        self.words = {name: bench.words_of(name) for name in self.values}
        self.higher = bench.higher_is_better
        self.readers = [name for own in self.labels for name in own.values()]

    def known(self) -> list[str]:
        """Names a reader may be given by: its own, or with its run."""
        plain = [name for own in self.labels for name in own]
        return [*dict.fromkeys(self.readers), *plain]

    def difference(self, measure: str, one: str, two: str) -> Measure:
        """The difference of two readers, by their names here."""
        from overread.report.comparing import differences

        shares = self.words[measure].in_shares
        (found,) = differences(measure, self.values[measure], [(one, two)], shares=shares)
        return found

    def compared(
        self, measures: Sequence[str], readers: Sequence[str], margin: float | None
    ) -> Comparison:
        from overread.measuring.contrasts import held_to_margin
        from overread.report.comparing import (
            comparison_line,
            differences,
            margin_line,
            margin_word,
        )

        every = list(combinations(self.readers, 2))
        shown = self._shown(every, readers)
        found: list[Measure] = []
        for name, values in self.values.items():
            if measures and name not in measures:
                continue
            there = set(values["reader"].unique())
            pairs = [pair for pair in every if there.issuperset(pair)]
            # All of them, whoever is shown: else choosing readers would choose q.
            made = differences(name, values, pairs, shares=self.words[name].in_shares)
            if margin is not None:
                higher = self.higher.get(name)
                made = [held_to_margin(one, margin, higher=higher) for one in made]
            found.extend(one for one in made if (one.reader, one.by["versus"]) in shown)
        notes = [*self._notes(), *([] if margin is None else [_MARGIN_NOTE])]
        lines: list[str] = []
        rows: list[tuple[str, ...]] = []
        for one in found:
            words = self.words[one.family or ""]
            higher, row = self.higher.get(words.measure), _row(one, words)
            line = comparison_line(one, words, higher)
            if margin is not None:
                row = (*row, margin_word(one))
                line += f" {margin_line(one, words, margin, higher)}" if one.n else ""
            lines.append(line)
            rows.append(row)
        within = () if margin is None else (f"margin {margin:g}",)
        return Comparison(
            benchmark=self.record.benchmark,
            edition=self.record.edition,
            dataset=self.record.dataset,
            runs=[
                ComparedRun(str(run.folder), run.record.signature, run.record.n_cases)
                for run in self.runs
            ],
            readers=self.readers,
            notes=notes,
            differences=found,
            lines=lines,
            margin=margin,
            table=Table(
                name="compare",
                title=f"{self.record.benchmark}, edition {self.record.edition}: models compared",
                columns=("measure", "reader", "versus", "difference", "p", "q", *within),
                headline=("difference", "q", *within, "p"),
                edition=self.record.edition,
                rows=tuple(rows),
                notes=tuple(notes),
                signature=" ".join(dict.fromkeys(run.record.signature for run in self.runs)),
            ),
        )

    def _shown(
        self, every: Sequence[tuple[str, str]], wanted: Sequence[str]
    ) -> set[tuple[str, str]]:
        both = (pair for own in self.labels for pair in own.items())
        meant = {pair[1] for pair in both if not wanted or set(pair) & set(wanted)}
        if len(wanted) == 1 and len(meant) == 1:
            return {pair for pair in every if meant & set(pair)}
        return {pair for pair in every if meant.issuperset(pair)}

    def _notes(self) -> Iterator[str]:
        """What sets the runs apart, and what every number here is."""
        sizes = [run.record.n_cases for run in self.runs]
        partial = [str(run.folder) for run in self.runs if run.record.partial]
        if len(set(sizes)) > 1 or partial:
            yield (
                f"Compared on the cases that both models of a pair have; the runs have "
                f"{', '.join(map(str, sizes))} cases"
                + (f", {', '.join(partial)} a sample of the set." if partial else ".")
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
            "Difference: first less second, the mean over the cases that count for both; its 95 % "
            "interval and p are of these cases and hold together: signs are flipped by cluster. q: "
            "Benjamini and Hochberg's over all pairs of a measure, shown or not."
        )
        if self.record.edition.partition("+")[0] == "authors":
            yield "A run's own table has the published edition's tests: its p and q may differ."
        else:
            yield "A run's own table has the same p in families of its own: q may differ."


def _row(record: Measure, words: ComparedWords) -> tuple[str, ...]:
    from overread.report.comparing import amount

    value, spread = amount(record.value, words, signed=True), ""
    if record.low is not None and record.high is not None:
        low, high = (amount(end, words, signed=True) for end in (record.low, record.high))
        spread = f"[{low}, {high}]"
    told = (p_value(record.p), p_value(record.q))
    return (
        words.measure,
        record.reader,
        record.by["versus"],
        Cell(value, spread, n=record.n),
        *told,
    )


def _with_their_run(
    runs: Sequence[Kept], names: Sequence[Sequence[str]], met: Mapping[str, int]
) -> list[dict[str, str]]:
    """By run each one's name here: its own, with the run where it was met more than once."""
    return [
        {name: name if met[name] == 1 else f"{name} ({run.folder})" for name in own}
        for run, own in zip(runs, names, strict=True)
    ]


def joined_tables(runs: Sequence[Kept], labels: Sequence[Mapping[str, str]]) -> Tables:
    """The tables of all runs as one, each reader under its name here.

    Judges of one name that are not the same are two judges.
    """
    import polars as pl

    first = runs[0].tables
    if len(runs) == 1:
        return first
    cases = pl.concat([run.tables.cases for run in runs], how="diagonal_relaxed")
    answers = [
        run.tables.answers.with_columns(pl.col("reader").replace(dict(own)))
        for run, own in zip(runs, labels, strict=True)
    ]
    names = [[judge.name for judge in run.record.judges] for run in runs]
    known = {(judge.name, judge.identity) for run in runs for judge in run.record.judges}
    judges = _with_their_run(runs, names, Counter(name for name, _ in known))
    verdicts = [
        run.tables.verdicts.with_columns(
            pl.col("reader").replace(dict(own)), pl.col("judge").replace(theirs)
        )
        for run, own, theirs in zip(runs, labels, judges, strict=True)
        if run.tables.verdicts is not None
    ]
    return Tables(
        cases=cases.unique("case", keep="first", maintain_order=True),
        answers=pl.concat(answers, how="diagonal_relaxed"),
        verdicts=pl.concat(verdicts, how="diagonal_relaxed") if verdicts else None,
        readers=tuple(
            msgspec.structs.replace(reader, name=own[reader.name])
            for run, own in zip(runs, labels, strict=True)
            for reader in run.tables.readers
        ),
        partial=any(run.tables.partial for run in runs),
        asked_under=first.asked_under,
    )


def differing(signatures: Sequence[str]) -> dict[str, list[str]]:
    """The parts of signatures that are not the same in all; how many cases is told elsewhere."""
    parts = [
        dict(part.partition(":")[::2] for part in signature.split("|")) for signature in signatures
    ]
    keys = dict.fromkeys(key for own in parts for key in own)
    found = {}
    for key in keys:
        values = [own.get(key, "none") for own in parts]
        if key not in ("cases", "only", "partial") and len(set(values)) > 1:
            found[key] = [value or "yes" for value in values]
    return found


def plain(table: Table) -> Table:
    """The table with cells of mere text, for records that are written as JSON."""
    rows = tuple(tuple(str(cell) for cell in row) for row in table.rows)
    return msgspec.structs.replace(table, rows=rows)


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """The readers both runs have, side by side, and the rank correlations over them."""

    first: str
    second: str
    edition: str
    pairs: list[tuple[str, str, Measure, Measure]]
    correlations: list[Measure]
    table: Table


def transfer(first: str | Path, second: str | Path) -> Transfer:
    """Compare two runs of a benchmark by reader name. Both must stand under one edition."""
    from overread.benchmarks.registry import class_of, classes

    here, there = read_record(Path(first)), read_record(Path(second))
    for folder, record in ((first, here), (second, there)):
        if not class_of(record.benchmark).transfers:
            have = " or ".join(one.name for one in classes() if one.transfers)
            raise BadInput(f"{folder} is a run of {record.benchmark}; transfer takes {have} runs.")
    if here.benchmark != there.benchmark:
        raise BadInput(
            f"{first} is a run of {here.benchmark}, {second} one of {there.benchmark}. "
            "Give two of one benchmark."
        )
    one, two = read_measures(Path(first)), read_measures(Path(second))
    if one.edition != two.edition:
        raise BadInput(
            f"{first} stands under {one.edition}, {second} under {two.edition}. "
            "Measure one again: overread measure RUN --edition …"
        )
    everybody = (*here.readers, *there.readers)
    vision = frozenset(entry.name for entry in everybody if entry.traits.modality == "vision")
    bench = benchmark_of(here)
    found = bench.transferred(one.measures, two.measures, vision)
    if not found.pairs:
        raise BadInput(f"{first} and {second} have no reader in common by name.")
    names, signature = (here.dataset, there.dataset), f"{one.signature}\n{two.signature}"
    return Transfer(
        first=str(first),
        second=str(second),
        edition=one.edition,
        pairs=found.pairs,
        correlations=found.correlations,
        table=plain(bench.transfer_table(found, names, signature)),
    )


def transfer_figure(found: Transfer) -> Figure:
    """Each reader in the one run against the other, as the benchmark draws it."""
    bench = benchmark_of(read_record(Path(found.first)))
    of = Transferred(found.pairs, found.correlations)
    return bench.transfer_figure(of, (found.first, found.second))
