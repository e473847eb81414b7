"""Runs of one benchmark over one set, put together as if all their readers had been in one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from overread.benchmarks.base import Tables
from overread.runs._kept import Kept


def labels_of(runs: Sequence[Kept]) -> list[dict[str, str]]:
    """By run each reader's name here: its own, with the run where another run has it too."""
    met = Counter(reader.name for run in runs for reader in run.record.readers)
    return [
        {
            reader.name: reader.name if met[reader.name] == 1 else f"{reader.name} ({run.folder})"
            for reader in run.record.readers
        }
        for run in runs
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
    verdicts = [
        run.tables.verdicts.with_columns(
            pl.col("reader").replace(dict(own)), pl.col("judge").replace(judges)
        )
        for run, own, judges in zip(runs, labels, _judges(runs), strict=True)
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


def _judges(runs: Sequence[Kept]) -> list[dict[str, str]]:
    known: dict[str, set[str]] = {}
    for run in runs:
        for judge in run.record.judges:
            known.setdefault(judge.name, set()).add(judge.identity)
    return [
        {
            judge.name: judge.name
            if len(known[judge.name]) == 1
            else f"{judge.name} ({run.folder})"
            for judge in run.record.judges
        }
        for run in runs
    ]


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
