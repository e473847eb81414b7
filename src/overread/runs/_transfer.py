"""Two runs of the same readers over different cases: do the numbers hold?"""

from __future__ import annotations

from pathlib import Path

import msgspec

from overread.case import BadInput, Measure, Table
from overread.records import read_measures, read_record

__all__ = ["Transfer", "transfer"]


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """The readers both runs have, side by side, and the rank correlations over them."""

    first: str
    second: str
    edition: str
    pairs: list[tuple[str, str, Measure, Measure]]
    correlations: list[Measure]
    table: Table


def transfer(first: str | Path, second: str | Path) -> Transfer:
    """Compare two grounding runs by reader name. Both must stand under one edition."""
    from overread.benchmarks.grounding.exhibits.tables import (
        side_by_side,
        transfer,
        transfer_table,
    )

    folders = (Path(first), Path(second))
    records, measures = [], []
    for folder in folders:
        record = read_record(folder)
        if record.benchmark != "grounding":
            raise BadInput(
                f"{folder} is a run of {record.benchmark}; transfer takes grounding runs."
            )
        records.append(record)
        measures.append(read_measures(folder))
    if measures[0].edition != measures[1].edition:
        raise BadInput(
            f"{folders[0]} stands under {measures[0].edition}, {folders[1]} under "
            f"{measures[1].edition}. Measure one again: overread measure RUN --edition …"
        )
    pairs = list(side_by_side(measures[0].measures, measures[1].measures))
    if not pairs:
        raise BadInput(f"{folders[0]} and {folders[1]} have no reader in common by name.")
    vision = frozenset(
        entry.name
        for record in records
        for entry in record.readers
        if entry.traits.modality == "vision"
    )
    exact = not measures[0].edition.startswith("authors")
    found = transfer(measures[0].measures, measures[1].measures, vision, exact=exact)
    names = (records[0].dataset, records[1].dataset)
    signature = "\n".join(m.signature for m in measures)
    return Transfer(
        first=str(folders[0]),
        second=str(folders[1]),
        edition=measures[0].edition,
        pairs=pairs,
        correlations=found,
        table=transfer_table(pairs, found, names, signature),
    )
