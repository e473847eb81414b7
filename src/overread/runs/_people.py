"""Sheets for people: errors to be labelled, replies to be ranked, and verdicts to be checked.

A sample of a run's verdicts goes to a person, and comes back as agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Table
from overread.judging.agreement import Agreement
from overread.records import RunRecord, folder_being_written, read_record
from overread.runs._kept import as_asked, benchmark_of, tables_of
from overread.runs._measuring import policy_today
from overread.stats import Interval


class ErrorSample(msgspec.Struct, frozen=True, kw_only=True):
    """The sheet, the page that fills it if there is one, and how many answers are in them."""

    sheet: Path
    page: Path | None
    rows: int
    holds: str = ""


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
    """Write a sheet of a reader's answers, and the page that fills it; neither may be there yet.

    What the sheet is called, which answers it has and whether a page goes with it the benchmark
    says. With `right_for` only items that this other reader got right. The same run and seed give
    the same sample. That of a credentialed set is the user's alone.
    """
    from overread.report import error_page

    place, record = Path(folder), read_record(Path(folder))
    bench = benchmark_of(record)
    about = bench.error_sheet()
    if about is None:
        raise _no_sheet(place, record, lambda one: one.error_sheet())
    if right_for is not None and not about.beside:
        raise BadInput(f"--right-for: the sheet of {record.benchmark} goes by one reader alone.")
    sheet, labelling = Path(out) / about.file, (Path(out) / about.file).with_suffix(".html")
    page = labelling if about.words else None
    check_free(Path(out), *filter(None, (sheet, page)))
    tables = tables_of(place, bench, record)
    rows = bench.errors(tables, reader, per_dimension, seed, right_for)
    if not rows:
        beside = f" that {right_for} got right" if right_for is not None else ""
        raise BadInput(f"{place}: {about.nothing.format(reader=reader, beside=beside)}")
    with folder_being_written(Path(out), policy_today(bench, record)) as scratch:
        bench.write_errors(scratch / sheet.name, rows)
        if page is not None:
            text = error_page(about, rows, record.signature)
            (scratch / page.name).write_text(text, encoding="utf-8")
    return ErrorSample(sheet=sheet, page=page, rows=len(rows), holds=about.holds)


def rank_sample(
    folder: str | Path, out: str | Path, *, readers: Sequence[str] = (), n: int = 200, seed: int = 0
) -> RankSample:
    """Write `ranks.csv`: the replies of these readers (or all) to n open items, nobody named.

    What people fill in, `measure --set ranks=FILE` holds against the judges.
    """
    place, record = Path(folder), read_record(Path(folder))
    bench = benchmark_of(record)
    if not bench.rank_sheet:
        raise _no_sheet(place, record, lambda one: one.rank_sheet)
    tables = tables_of(place, bench, record)
    sheet = Path(out) / bench.rank_sheet
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


def _no_sheet(place: Path, record: RunRecord, has: Callable[[type[Benchmark]], object]) -> BadInput:
    from overread.benchmarks.registry import classes

    known = " or ".join(one.name for one in classes() if has(one))
    return BadInput(
        f"{place} is a run of {record.benchmark}, which has no such sheet. Give one of {known}."
    )


class JudgeSample(msgspec.Struct, frozen=True, kw_only=True):
    """The sheet for the person, the key that stays closed, and how many things are to be judged."""

    sheet: Path
    key: Path
    rows: int


class PersonAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How each judge agrees with the person, question by question."""

    run: str
    signature: str
    found: list[Agreement]
    table: Table


def judge_sample(folder: str | Path, out: str | Path, *, n: int = 50, seed: int = 0) -> JudgeSample:
    """Write `sheet.csv` and `key.csv` of n things judged into `out`; neither may be there yet.

    The same run, n and seed give the same sample. That of a credentialed set is the user's alone.
    """
    from overread.judging.sheet import sample, write_sheet

    if n < 1:
        raise BadInput(f"--n {n}: it must be 1 or more.")
    place, record = Path(folder), read_record(Path(folder))
    bench = _sampled(place, record)
    made = JudgeSample(sheet=Path(out) / "sheet.csv", key=Path(out) / "key.csv", rows=0)
    check_free(Path(out), made.sheet, made.key)
    taken = sample(bench.units(tables_of(place, bench, record)), n, seed)
    if not taken:
        raise BadInput(f"{place}: no verdict of its judges could be read; nothing to sample.")
    with folder_being_written(Path(out), policy_today(bench, record)) as scratch:
        write_sheet(taken, scratch / made.sheet.name, scratch / made.key.name)
    return msgspec.structs.replace(made, rows=len(taken))


def person_agreement(
    folder: str | Path, sheet: str | Path, key: str | Path, *, seed: int = 0
) -> PersonAgreement:
    """Compare a filled sheet with the judges of the run it was drawn from. Writes nothing."""
    from overread.judging.sheet import person_agreement

    place, record = Path(folder), read_record(Path(folder))
    bench = _sampled(place, record)
    found = person_agreement(Path(sheet), Path(key), bench.choices, seed=seed)
    judges = {judge.name for judge in record.judges}
    strange = [one.second for one in found if one.second not in judges]
    if strange:
        raise BadInput(
            f"{key} has the judge {strange[0]}, which {place} has not. Give the run that the "
            "sample was drawn from."
        )
    order = list(bench.choices)
    other = [one.group for one in found if one.group not in order]
    if other:
        raise BadInput(
            f'{key}: question is "{other[0]}"; expected {", ".join(order)}. Leave the key as it '
            "was written."
        )
    found.sort(key=lambda one: (one.second, order.index(one.group or "")))
    return PersonAgreement(
        run=str(place),
        signature=record.signature,
        found=found,
        table=_agreement_table(found, record),
    )


def _sampled(place: Path, record: RunRecord) -> Benchmark:
    bench = as_asked(record)  # as the verdicts were read when they were given
    if not bench.choices:
        raise BadInput(f"{place} is a run of {record.benchmark}, in which nobody judges.")
    if not record.judges:
        raise BadInput(f"{place} has no verdicts: nobody judged. See overread judge --help.")
    return bench


def _agreement_table(found: list[Agreement], record: RunRecord) -> Table:
    rows = [
        (
            one.second,
            one.group or "",
            _interval(one.percent, 100, 1),
            _interval(one.kappa, 1, 2),
            str(one.n),
            str(one.missing),
            one.note,
        )
        for one in found
    ]
    return Table(
        name="person_agreement",
        title="Do the judges agree with the person?",
        columns=("judge", "question", "agreement %", "kappa", "n", "left empty", "note"),
        rows=tuple(rows),
        signature=record.signature,
        notes=(
            "Agreement with Wilson's interval; Cohen's kappa, rows resampled. Several rows on one "
            "reply count as if they were independent.",
        ),
    )


def _interval(of: Interval, times: int, digits: int) -> str:
    if of.point is None:
        return "n/a"
    point = f"{times * of.point:.{digits}f}"
    if of.low is None or of.high is None:
        return point
    return f"{point} [{times * of.low:.{digits}f}, {times * of.high:.{digits}f}]"
