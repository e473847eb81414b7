"""A run folder opened again: its record, its measures, its tables, and the rules they are under.

Files may have been mended by hand, or broken. What is read out of tables later is checked here,
once, so that nothing further on has to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from overread import records
from overread.benchmarks.base import Benchmark, ReaderRecord, Tables
from overread.case import BadInput, printable
from overread.judging import VERDICT_COLUMNS
from overread.judging.question import Question, verdict_fault

if TYPE_CHECKING:
    import polars as pl


class Kept(msgspec.Struct, frozen=True):
    """A finished run as it lies in its folder, measured under the edition its record names."""

    folder: Path
    record: records.RunRecord
    measures: records.Measures
    bench: Benchmark
    tables: Tables


def records_of(folders: Sequence[Path]) -> list[tuple[Path, records.RunRecord, records.Measures]]:
    """The records and measures of some runs; none may be given twice."""
    if not folders:
        raise BadInput("no run was given. Give at least one run folder.")
    found = []
    seen: set[Path] = set()
    for folder in folders:
        record = records.read_record(folder)
        if folder.resolve() in seen:
            raise BadInput(f"{folder}: the run is given twice. Give it once.")
        seen.add(folder.resolve())
        measures = records.read_measures(folder)
        about = (measures.benchmark, measures.edition, measures.signature)
        if about != (record.benchmark, record.edition, record.signature):
            raise BadInput(
                f"{folder}: run.toml and measures.json are of different measurings. "
                f"Run `overread measure {folder}`."
            )
        found.append((folder, record, measures))
    return found


def kept_runs(folders: Sequence[Path]) -> list[Kept]:
    """Open several runs, or say in one line why one cannot be; all records before any table."""
    found = []
    for folder, record, measures in records_of(folders):
        bench = benchmark_of(record)
        if bench.edition != record.edition:
            raise BadInput(
                f"{folder}: its edition is {record.edition}, its settings give {bench.edition}. "
                f"Run `overread measure {folder}`."
            )
        found.append(Kept(folder, record, measures, bench, tables_of(folder, bench, record)))
    return found


def benchmark_of(record: records.RunRecord) -> Benchmark:
    """The benchmark under the rules of the last measuring; it asks nothing."""
    words = record.settings | record.measured
    return reopened(record, record.edition.partition("+")[0], words)


def as_asked(record: records.RunRecord) -> Benchmark:
    """The benchmark as the run's answers were asked for and read."""
    return reopened(record, record.answers_edition.partition("+")[0], record.settings)


def reopened(record: records.RunRecord, edition: str, settings: Mapping[str, str]) -> Benchmark:
    """The benchmark of a run under an edition."""
    from overread.benchmarks.registry import class_of

    return class_of(record.benchmark).of_run(record.dataset, record.policy, edition, settings)


def tables_of(
    folder: Path,
    bench: Benchmark,
    record: records.RunRecord,
    verdicts_in: Path | None = None,
    *,
    to_measure: bool = False,
) -> Tables:
    """A run's tables, its replies read as this benchmark's edition reads them.

    `verdicts_in` is the folder of its verdicts where they are new and not yet in the run's. Only
    `to_measure`, some columns stay in their files (`Benchmark.left_in_files`).
    """
    new = () if verdicts_in is None else ("verdicts.parquet",)
    records.check_untouched(folder, {k: v for k, v in record.tables.items() if k not in new})
    same = bench.edition == record.answers_edition
    left = bench.left_in_files if to_measure and same else {}
    files = {name: folder / f"{name}.parquet" for name in left}
    answers = records.read_frame(
        folder / "answers.parquet", ("reader",), bench.answer_schema,
        without=left.get("answers", frozenset()),
    )  # fmt: skip
    if set(answers["reader"].unique()) != {r.name for r in record.readers if r.asked}:
        raise BadInput(f"{folder}: answers.parquet and run.toml name different readers. Run again.")
    cases = records.read_frame(
        folder / "cases.parquet", (), bench.case_schema, without=left.get("cases", frozenset())
    )
    verdicts = None
    if record.judges:
        verdicts = records.read_frame(
            (verdicts_in or folder) / "verdicts.parquet", VERDICT_COLUMNS,
            without=left.get("verdicts", frozenset()),
        )  # fmt: skip
    check_tables(folder, bench.questions, cases, answers, verdicts)
    tables = Tables(
        cases=cases,
        answers=answers,
        verdicts=verdicts,
        readers=tuple(
            msgspec.convert(entry, ReaderRecord, from_attributes=True) for entry in record.readers
        ),
        partial=record.partial,
        only=(record.only or "").rpartition("@")[2],
        asked_under="" if record.imported else record.answers_edition,
        files=files,
    )
    return tables if same else bench.reread(tables)


_MEND: Final = "Restore the file or run again."
_LONGEST: Final = 60


def check_tables(
    folder: Path,
    questions: Sequence[Question],
    cases: pl.DataFrame,
    answers: pl.DataFrame,
    verdicts: pl.DataFrame | None,
) -> None:
    """Refuse, in a line that names the file and its row, what no run of a benchmark wrote.

    Cases have names of their own, every answer is about one of them, and every verdict is JSON of
    the form its question has; without questions any JSON is taken.
    """
    import polars as pl

    known, asked = cases["case"], answers["case"]
    for file, names in (("cases.parquet", known), ("answers.parquet", asked)):
        if names.dtype != pl.String:
            _refuse(folder / file, None, f"case is {names.dtype}, not text")
        if names.null_count():
            _refuse(folder / file, names.is_null().arg_max(), "case is missing")
    if known.n_unique() != known.len():
        twice = ~known.is_first_distinct()
        fault = f"case {_short(known.filter(twice)[0])} is there twice"
        _refuse(folder / "cases.parquet", twice.arg_max(), fault)
    # Distinct names first: they are few, rows are many.
    strange = asked.unique()
    strange = strange.filter(~strange.is_in(known.implode()))
    if strange.len():
        those = asked.is_in(strange.implode())
        fault = f"case {_short(asked.filter(those)[0])} is not in cases.parquet"
        _refuse(folder / "answers.parquet", those.arg_max(), fault)
    if verdicts is not None and (of_a_verdict := verdict_fault(questions, verdicts)) is not None:
        _refuse(folder / "verdicts.parquet", *of_a_verdict)


def _short(text: str) -> str:
    """Others' words in a line: a few of them, and none that steers a terminal."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f'"{printable(shown)}"'


def _refuse(file: Path, row: int | None, fault: str) -> NoReturn:
    """Rows count from 1."""
    where = "" if row is None else f" row {row + 1}"
    raise BadInput(f"{file}{where}: {fault}. {_MEND}")
