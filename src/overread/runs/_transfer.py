"""Two runs of the same readers over different cases: do the numbers hold?"""

from __future__ import annotations

from pathlib import Path

import msgspec

from overread.benchmarks.base import Transferred
from overread.case import BadInput, Figure, Measure, Table
from overread.records import Measures, RunRecord, read_measures, read_record
from overread.runs._kept import benchmark_of


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

    folders = (Path(first), Path(second))
    records: list[RunRecord] = []
    measures: list[Measures] = []
    for folder in folders:
        record = read_record(folder)
        if not class_of(record.benchmark).transfers:
            have = " or ".join(one.name for one in classes() if one.transfers)
            raise BadInput(f"{folder} is a run of {record.benchmark}; transfer takes {have} runs.")
        if records and record.benchmark != records[0].benchmark:
            raise BadInput(
                f"{folders[0]} is a run of {records[0].benchmark}, {folder} one of "
                f"{record.benchmark}. Give two of one benchmark."
            )
        records.append(record)
        measures.append(read_measures(folder))
    if measures[0].edition != measures[1].edition:
        raise BadInput(
            f"{folders[0]} stands under {measures[0].edition}, {folders[1]} under "
            f"{measures[1].edition}. Measure one again: overread measure RUN --edition …"
        )
    vision = frozenset(
        entry.name
        for record in records
        for entry in record.readers
        if entry.traits.modality == "vision"
    )
    bench = benchmark_of(records[0])
    found = bench.transferred(measures[0].measures, measures[1].measures, vision)
    if not found.pairs:
        raise BadInput(f"{folders[0]} and {folders[1]} have no reader in common by name.")
    names = (records[0].dataset, records[1].dataset)
    signature = "\n".join(m.signature for m in measures)
    return Transfer(
        first=str(folders[0]),
        second=str(folders[1]),
        edition=measures[0].edition,
        pairs=found.pairs,
        correlations=found.correlations,
        table=bench.transfer_table(found, names, signature),
    )


def transfer_figure(found: Transfer) -> Figure:
    """Each reader in the one run against the other, as the benchmark draws it."""
    bench = benchmark_of(read_record(Path(found.first)))
    of = Transferred(found.pairs, found.correlations)
    return bench.transfer_figure(of, (found.first, found.second))
