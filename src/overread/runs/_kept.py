"""A run folder opened again: its record, its measures, its tables, and the rules they are under."""

from __future__ import annotations

from pathlib import Path

import msgspec

from overread.benchmarks.base import Benchmark, ReaderRecord, Tables
from overread.case import BadInput
from overread.judging import VERDICT_COLUMNS
from overread.records import (
    Measures,
    RunRecord,
    check_untouched,
    read_frame,
    read_measures,
    read_record,
)
from overread.runs._sound import check_tables


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run as it lies in its folder, measured under the edition its record names."""

    folder: Path
    record: RunRecord
    measures: Measures
    bench: Benchmark
    tables: Tables


def kept_runs(folders: list[Path]) -> list[Kept]:
    """Open several runs; none may be given twice. All records are read before any table is."""
    if not folders:
        raise BadInput("no run was given. Give at least one run folder.")
    seen: set[Path] = set()
    for folder in folders:
        read_record(folder)
        if folder.resolve() in seen:
            raise BadInput(f"{folder}: the run is given twice. Give it once.")
        seen.add(folder.resolve())
    return [kept_run(folder) for folder in folders]


def kept_run(folder: Path) -> Kept:
    """Open a run folder, or say in one line why it cannot be."""
    record, measures = read_record(folder), read_measures(folder)
    about = (measures.benchmark, measures.edition, measures.signature)
    if about != (record.benchmark, record.edition, record.signature):
        raise BadInput(
            f"{folder}: run.toml and measures.json are of different measurings. "
            f"Run `overread measure {folder}`."
        )
    bench = benchmark_of(record)
    if bench.edition != record.edition:
        raise BadInput(
            f"{folder}: its edition is {record.edition}, its settings give {bench.edition}. "
            f"Run `overread measure {folder}`."
        )
    tables = tables_of(folder, bench, record)
    return Kept(folder=folder, record=record, measures=measures, bench=bench, tables=tables)


def benchmark_of(record: RunRecord) -> Benchmark:
    """The benchmark under the rules of the last measuring; it asks nothing."""
    from overread.benchmarks.registry import reopen_benchmark

    name = record.edition.partition("+")[0]
    words = record.settings | record.measured
    return reopen_benchmark(record.benchmark, record.dataset, record.policy, name, words)


def tables_of(
    folder: Path, bench: Benchmark, record: RunRecord, verdicts_in: Path | None = None
) -> Tables:
    """A run's tables, its replies read as this benchmark's edition reads them.

    `verdicts_in` is the folder of its verdicts where they are new and not yet in the run's.
    """
    new = () if verdicts_in is None else ("verdicts.parquet",)
    check_untouched(folder, {k: v for k, v in record.tables.items() if k not in new})
    answers = read_frame(folder / "answers.parquet", ("reader",), bench.answer_schema)
    if set(answers["reader"].unique()) != {r.name for r in record.readers if r.asked}:
        raise BadInput(f"{folder}: answers.parquet and run.toml name different readers. Run again.")
    cases = read_frame(folder / "cases.parquet", (), bench.case_schema)
    kept = (verdicts_in or folder) / "verdicts.parquet"
    verdicts = read_frame(kept, VERDICT_COLUMNS) if record.judges else None
    check_tables(folder, bench.questions, cases, answers, verdicts)
    tables = Tables(
        cases=cases,
        answers=answers,
        verdicts=verdicts,
        readers=tuple(
            ReaderRecord(
                name=r.name,
                traits=r.traits,
                identity=r.identity,
                params_b=r.params_b,
                group=r.group,
            )
            for r in record.readers
        ),
        partial=record.partial,
        only=(record.only or "").rpartition("@")[2],
        asked_under="" if record.imported else record.answers_edition,
    )
    return tables if bench.edition == record.answers_edition else bench.reread(tables)
