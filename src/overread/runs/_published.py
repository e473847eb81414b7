"""What a paper prints, alone or with the readers of runs beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from overread import published
from overread.case import BadInput, Measure, Table
from overread.published import Figures, Flag, figures, inconsistencies
from overread.records import Measures, RunRecord, read_measures, read_record


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is put beside the paper: its numbers stay what they are."""

    run: str
    edition: str
    # The edition the readers were asked under; empty for an import, which does not say.
    asked_under: str
    signature: str
    n_cases: int
    measures: list[Measure]


class PrintedMeasure(Measure, frozen=True, kw_only=True):
    """A record like those of measures.json, with where it stands and the cell as printed."""

    table: str
    where: str
    cell: str


class PublishedFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a paper prints, what does not add up in it, and the runs beside it."""

    benchmark: str
    paper: str
    cite: str
    cases: int
    systems: tuple[published.System, ...]
    measures: list[PrintedMeasure]
    flags: list[Flag]
    beside: list[Beside]
    exhibits: list[Table]


def published_list() -> Table:
    """The benchmarks whose papers' figures are kept."""
    found = [figures(name) for name in published.BENCHMARKS]
    return Table(
        name="published",
        title="Printed figures that are kept",
        columns=("benchmark", "paper", "figures", "flags", "tables"),
        rows=tuple(
            (
                each.benchmark,
                each.cite,
                f"{len(each.index):,}",
                str(len(inconsistencies(each.benchmark))),
                " ".join(each.tables),
            )
            for each in found
        ),
        notes=tuple(f"{each.cite}: {each.paper}." for each in found),
        signature="overread published BENCHMARK prints one; --table NAME one of its tables",
    )


def published_figures(
    benchmark: str, *, table: str | None = None, beside: Sequence[str | Path] = ()
) -> PublishedFigures:
    """The paper's headline, like our summary where it allows, or a table as it is printed.

    `beside` are run folders whose readers are put into the headline, each named with its run.
    """
    found = figures(benchmark)
    if table is not None and beside:
        raise BadInput("--beside goes with the headline. Leave --table out.")
    runs = list(_runs(found, beside))
    printed = published.printed_tables
    exhibits = _headline(found, runs) if table is None else printed(benchmark, table)
    same = ("benchmark", "paper", "cite", "cases", "systems")
    return PublishedFigures(
        **{name: getattr(found, name) for name in same},
        measures=[
            PrintedMeasure(
                **msgspec.structs.asdict(p.record), table=p.table, where=p.where, cell=p.cell
            )
            for p in found.printed
            if (p.table == table if table is not None else not p.repeat)
        ],
        flags=[f for f in inconsistencies(benchmark) if table is None or table in f.tables],
        beside=runs,
        exhibits=exhibits,
    )


def published_beside(record: RunRecord, measures: Measures) -> list[Table]:
    """The paper's headline with the readers of one run beside it, for the run's own page.

    A page does not know where its run lies, so that commands name it RUN.
    """
    if record.benchmark not in published.BENCHMARKS:
        return []
    own = _beside("this run", record, measures)
    return _headline(figures(record.benchmark), [own], command="RUN")


def _beside(run: str, record: RunRecord, measures: Measures) -> Beside:
    return Beside(
        run=run,
        edition=measures.edition,
        asked_under="" if record.imported else record.answers_edition,
        signature=measures.signature,
        n_cases=record.n_cases,
        measures=measures.measures,
    )


def _runs(found: Figures, beside: Sequence[str | Path]) -> Iterator[Beside]:
    seen: set[Path] = set()
    for place in map(Path, beside):
        if place.resolve() in seen:
            raise BadInput(f"--beside {place} is given twice; give it once.")
        seen.add(place.resolve())
        record = read_record(place)
        if record.benchmark != found.benchmark:
            raise BadInput(
                f"--beside {place}: it is a run of {record.benchmark}, not of {found.benchmark}."
            )
        yield _beside(str(place), record, read_measures(place))


def _headline(found: Figures, runs: Sequence[Beside], command: str | None = None) -> list[Table]:
    """The printed overall figures with the runs' readers below them, flags and remarks last.

    `command` is what a command calls the run, where that is not its own name.
    """
    shown = set(published.headline_tables(found))
    flags = [f for f in inconsistencies(found.benchmark) if not shown.isdisjoint(f.tables)]
    signature = f"printed in {found.cite}; measured by its authors"
    beside = [(run.run, run.measures) for run in runs]
    *earlier, last = published.headline_of(found, beside, flags) or [
        _summary(found, runs, flags, signature)
    ]
    remarks = _remarks(found, runs, len(flags), command)
    notes = (*last.notes, *published.numbered(flags), *remarks)
    return [*earlier, msgspec.structs.replace(last, notes=notes, signature=signature)]


def _summary(
    found: Figures, runs: Sequence[Beside], flags: Sequence[Flag], signature: str
) -> Table:
    """The layout of our own summary."""
    from overread.benchmarks.registry import class_of

    systems = {system.name for system in found.systems}
    printed = (p.record for p in found.index.values())
    records = [record for record in printed if record.reader in systems and not record.by]
    for run in runs:
        for record in run.measures:
            if not record.by:
                name = f"{record.reader} ({run.run})"
                records.append(msgspec.structs.replace(record, reader=name))
    bench = class_of(found.benchmark).of_run(found.cite, "open", "authors")
    exhibits = bench.exhibits(records, signature)
    table = next(x for x in exhibits if isinstance(x, Table) and x.name == "summary")
    return msgspec.structs.replace(
        table,
        title=f"{table.title} As printed in {found.cite}",
        columns=(*table.columns, "flags"),
        rows=tuple((*row, published.marked(row[0], flags)) for row in table.rows),
    )


def _remarks(
    found: Figures, runs: Sequence[Beside], flags: int, command: str | None
) -> Iterator[str]:
    compared = published.comparison(found.benchmark)
    more = len(inconsistencies(found.benchmark)) - flags
    others = f"{more} more flags concern other tables; " if more else ""
    yield f"{others}--table takes {', '.join(found.tables)}."
    yield f"Printed rows: {compared.printed}."
    for run in runs:
        yield f"{run.run}: {run.signature}"
        why = compared.editions.get(run.edition.partition("+")[0], "unknown here")
        yield f"{run.run}, edition {run.edition}: {why}."
        about = (run.run, run.edition, run.asked_under, run.signature)
        yield from published.remarks_of(found.benchmark, *about, command=command or run.run)
        if run.n_cases == found.cases:
            same = "as many as the paper's, which has published no digest to compare"
        else:
            same = f"not the paper's {found.cases:,}: the rows differ in their cases too"
        yield f"{run.run} has {run.n_cases:,} cases, {same}."
