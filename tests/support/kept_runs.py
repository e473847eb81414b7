"""Run folders that hold a record and measures, without anybody having been asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from overread.case import Measure, Modality, Traits
from overread.records import (
    Measures,
    ReaderEntry,
    RunRecord,
    read_record,
    write_measures,
    write_record,
)

__all__ = ["changed_on_purpose", "kept_run"]


def changed_on_purpose(folder: Path) -> None:
    """Say of a run whose tables a test has changed that they are meant to be as they are."""
    record = read_record(folder)
    write_record(folder / "run.toml", msgspec.structs.replace(record, tables={}))


def kept_run(
    folder: Path,
    rates: Mapping[str, Mapping[str, float | None]],
    *,
    edition: str = "corrected",
    benchmark: str = "grounding",
    modality: Mapping[str, Modality] | None = None,
) -> Path:
    """A run whose readers have these rates: reader -> measure -> value."""
    folder.mkdir(parents=True)
    records = [
        Measure(reader=reader, measure=measure, value=value, n=100, low=0.0, high=1.0)
        for reader, own in rates.items()
        for measure, value in own.items()
    ]
    signature = f"{benchmark}|edition:{edition}|cases:100@{folder.name}"
    write_record(
        folder / "run.toml",
        RunRecord(
            benchmark=benchmark,
            edition=edition,
            answers_edition=edition,
            cases="manifest.csv",
            dataset=f"{folder.name}@0",
            policy="open",
            n_cases=100,
            signature=signature,
            readers=tuple(
                ReaderEntry(
                    name=reader,
                    spec=f"imported:{reader}",
                    identity="imported",
                    traits=Traits(modality=(modality or {}).get(reader, "multimodal")),
                )
                for reader in rates
            ),
        ),
    )
    write_measures(
        folder / "measures.json",
        Measures(
            overread="0",
            benchmark=benchmark,
            edition=edition,
            signature=signature,
            measures=records,
        ),
    )
    return folder
