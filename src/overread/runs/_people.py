"""Sheets for people: errors to be labelled, and replies to be ranked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from overread.benchmarks.benchmark import Benchmark, ForPeople, ReaderRecord, Reviewed, Tables
from overread.case import BadInput
from overread.judging import VERDICT_COLUMNS
from overread.records import RunRecord, folder_being_written, read_frame, read_record
from overread.runs._measuring import policy_today

__all__ = ["ErrorSample", "RankSample", "error_sample", "rank_sample"]


class ErrorSample(msgspec.Struct, frozen=True, kw_only=True):
    """The sheet, the page that fills it if there is one, and how many answers are in them."""

    sheet: Path
    page: Path | None
    rows: int


class RankSample(msgspec.Struct, frozen=True, kw_only=True):
    """The sheet, and how many items and replies are in it."""

    sheet: Path
    items: int
    rows: int


def error_sample(
    folder: str | Path,
    out: str | Path,
    *,
    reader: str,
    per_dimension: int = 100,
    right_for: str | None = None,
    seed: int = 0,
) -> ErrorSample:
    """Write `errors.csv` and `errors.html` of a reader's wrong answers; neither may be there yet.

    Of a run of grounding it is `ungrounded.csv`, the right answers that stayed when the finding was
    hidden.

    With `right_for` only items that this other reader got right. The same run and seed give the
    same sample. That of a credentialed set is the user's alone.
    """
    from overread.report import error_page

    place, record = Path(folder), read_record(Path(folder))
    reopened = _reopened(record)
    if isinstance(reopened, Reviewed):
        if right_for is not None:
            raise BadInput(f"--right-for goes with medcmr; {place} is of {record.benchmark}.")
        return _review(reopened, place, record, Path(out), reader, per_dimension, seed)
    bench, tables = _for_people(place, record)
    sheet, labelling = Path(out) / "errors.csv", Path(out) / "errors.html"
    check_free(Path(out), sheet, labelling)
    rows = bench.errors(tables, reader, per_dimension, seed, right_for)
    if not rows:
        beside = f" that {right_for} got right" if right_for is not None else ""
        raise BadInput(f"{place}: {reader} has no wrong answer{beside}; nothing to label.")
    with folder_being_written(Path(out), policy_today(bench, record)) as scratch:
        bench.write_errors(scratch / sheet.name, rows)
        page = error_page(rows, record.signature)
        (scratch / labelling.name).write_text(page, encoding="utf-8")
    return ErrorSample(sheet=sheet, page=labelling, rows=len(rows))


def _review(
    bench: Reviewed, place: Path, record: RunRecord, out: Path, reader: str, n: int, seed: int
) -> ErrorSample:
    sheet = out / "ungrounded.csv"
    check_free(out, sheet)
    rows = bench.review(_read(bench, place, record), reader, n, seed)
    if not rows:
        raise BadInput(f"{place}: no right answer of {reader} stayed with its finding hidden.")
    with folder_being_written(out, policy_today(bench, record)) as scratch:
        bench.write_review(scratch / sheet.name, rows)
    return ErrorSample(sheet=sheet, page=None, rows=len(rows))


def rank_sample(
    folder: str | Path, out: str | Path, *, readers: Sequence[str] = (), n: int = 200, seed: int = 0
) -> RankSample:
    """Write `ranks.csv`: the replies of these readers (or all) to n open items, nobody named.

    What people fill in, `measure --set ranks=FILE` holds against the judges.
    """
    place, record = Path(folder), read_record(Path(folder))
    bench, tables = _for_people(place, record)
    sheet = Path(out) / "ranks.csv"
    check_free(Path(out), sheet)
    named = tuple(readers) or tuple(reader.name for reader in record.readers)
    with folder_being_written(Path(out), policy_today(bench, record)) as scratch:
        items, rows = bench.write_ranks(scratch / sheet.name, tables, named, n, seed)
    return RankSample(sheet=sheet, items=items, rows=rows)


def check_free(out: Path, *files: Path) -> None:
    """A person may have filled what is there."""
    if (out.exists() or out.is_symlink()) and not out.is_dir():
        raise BadInput(f"--out {out}: a file stands there. Give a folder.")
    for path in files:
        if path.exists() or path.is_symlink():
            raise BadInput(f"{path} is there already. Move it away, or give another folder.")


def _for_people(place: Path, record: RunRecord) -> tuple[ForPeople, Tables]:
    """The benchmark as the run was last measured, and the tables read as they were then."""
    bench = _reopened(record)
    if not isinstance(bench, ForPeople):
        raise BadInput(
            f"{place} is a run of {record.benchmark}, which has no such sheet. Give one of medcmr, "
            "or for error-sample one of grounding."
        )
    return bench, _read(bench, place, record)


def _reopened(record: RunRecord) -> Benchmark:
    from overread.benchmarks.registry import reopen_benchmark

    edition = record.edition.partition("+")[0]
    words = record.settings | record.measured
    return reopen_benchmark(record.benchmark, record.dataset, record.policy, edition, words)


def _read(bench: Any, place: Path, record: RunRecord) -> Tables:
    tables = _tables(place, record)
    reread: Tables = tables if bench.edition == record.answers_edition else bench.reread(tables)
    return reread


def _tables(place: Path, record: RunRecord) -> Tables:
    verdicts = place / "verdicts.parquet"
    return Tables(
        cases=read_frame(place / "cases.parquet", ("case",)),
        answers=read_frame(place / "answers.parquet", ("reader", "case")),
        verdicts=read_frame(verdicts, VERDICT_COLUMNS) if record.judges else None,
        readers=tuple(
            ReaderRecord(name=reader.name, traits=reader.traits) for reader in record.readers
        ),
    )
