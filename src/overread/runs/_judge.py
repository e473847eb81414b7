"""Judges asked about answers that are there, and sheets for people.

Judges are asked as in a run: the same questions, rounds and store; who judged before stays. People
label errors and rank replies; a sample of the verdicts goes to a person, and comes back as
agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overread import records
from overread.benchmarks.base import Benchmark, Tables
from overread.case import BadInput, Reader, Table
from overread.judging import VERDICT_COLUMNS
from overread.judging.agreement import Agreement
from overread.runs._asking import work_on
from overread.runs._engines import LOCAL, Engine
from overread.runs._kept import as_asked, benchmark_of, tables_of
from overread.runs._measuring import Run, measure_into, policy_today, with_pictures
from overread.runs._opening import Seat, Tell, enrolments, open_judges
from overread.runs._running import Asking, Watch
from overread.stats import Interval

if TYPE_CHECKING:
    import polars as pl


def judge(
    folder: str | Path,
    judges: Sequence[str | Mapping[str, Any] | Reader],
    *,
    store: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    concurrency: int | None = None,
    fresh: bool = False,
    engine: str = "local",
    address: str | None = None,
    actors: int | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Run:
    """Have a finished or imported run judged, and measure it again under its edition.

    No reader is asked and no image is opened. Verdicts of other judges stay; a judge that judged
    here before is resumed, and what it said in the roles given now is replaced.
    `settings` may say what judges are asked (`checks`, `variants`, `rubrics`). `fresh` asks the
    judges everything again. `engine` is as in a run. `tell` gets a line for whatever a user should
    know.

    Examples
    --------
    >>> import overread as ov
    >>> run = ov.judge("imported", ["control:lexical-judge"])  # doctest: +SKIP
    """
    place, where = Path(folder), Engine(engine, address, actors)
    where.check()
    if not judges:
        raise BadInput("no judge was given. Give at least one with --judge.")
    record, given = records.read_record(place), dict(settings or {})
    bench = _as_asked(place, record, given)
    tables, asked_about = tables_of(place, bench, record), _stamp(place)
    with judged_answers(
        bench, tables, judges, record.judges,
        store=store, concurrency=concurrency, fresh=fresh, engine=where, watch=watch, tell=tell,
    ) as judged:  # fmt: skip
        record = records.read_record(place)  # another command may have judged or measured meanwhile
        if _stamp(place) != asked_about:
            raise BadInput(f"{place}: its answers were written anew meanwhile. Judge it again.")
        measured = benchmark_of(record)
        before = tables_of(place, bench, record).verdicts
        with records.folder_being_written(place, bench.policy) as scratch:
            entries = write_judged(judged, scratch, before, record.judges)
            words = record.settings | given
            record = msgspec.structs.replace(record, judges=entries, settings=words)
            record, opened = with_pictures(measured, record, include_images=False)
            made = measure_into(scratch, place, measured, record, opened, tallies=judged.tallies)
    if made.record.policy == "credentialed":  # its tables may be from a time when it was not
        records.make_private(place)
    return made


@contextmanager
def judged_answers(
    bench: Benchmark,
    tables: Tables,
    judges: Sequence[str | Mapping[str, Any] | Reader],
    others: Sequence[records.JudgeEntry] = (),
    *,
    store: str | Path | None = None,
    concurrency: int | None = None,
    fresh: bool = False,
    engine: Engine = LOCAL,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Iterator[Asking]:
    """Ask judges about the answers of these tables; inside, what they said can be written."""
    panel = open_judges(bench, judges, concurrency)
    _check_names(panel, others)
    bench.judge_over(tables)

    def said() -> Iterator[Mapping[str, Any]]:
        return (row | {"check": 0} for row in tables.answers.iter_rows(named=True))

    with work_on(bench, None, store, tell) as work:
        asking = Asking(work, panel, said, engine=engine)
        asking.ask(enrolments(panel), watch, tell, fresh=fresh)
        yield asking
        if tell is not None:
            for line in asking.sayings():
                tell(line)


def write_judged(
    asking: Asking, scratch: Path, before: pl.DataFrame | None, others: Sequence[records.JudgeEntry]
) -> tuple[records.JudgeEntry, ...]:
    """Write verdicts.parquet: what stays of what was there before, then what they said."""
    import polars as pl

    _check_names(asking.panel, others)
    if before is None:  # nobody judged
        return asking.write_verdicts(scratch)
    again = pl.lit(False)
    for judge in asking.panel:
        roles = pl.col("role").is_in(list(judge.roles))
        again |= (pl.col("judge") == judge.reader.name) & roles
    stays = before.select(VERDICT_COLUMNS).filter(~again)
    new = {entry.name: entry for entry in asking.write_verdicts(scratch, stays.iter_rows())}
    found = []
    for old in others:
        own = stays.filter(stays["judge"] == old.name)
        added = new.pop(old.name, None)
        if added is None:
            found.append(old)
        else:
            found.append(added if own.is_empty() else _both(old, own, added, asking.roles))
    return (*found, *new.values())


def _both(
    old: records.JudgeEntry, own: pl.DataFrame, added: records.JudgeEntry, roles: Sequence[str]
) -> records.JudgeEntry:
    """A judge whose verdicts of one role are there, and of another are new.

    The record does not tell which of its old replies stay: it goes on naming where all came from.
    """
    counts = dict(own["outcome"].value_counts().iter_rows())
    held = {*own["role"].unique(), *added.roles}
    names = ("models", "fingerprints", "listed", "labels")
    return msgspec.structs.replace(
        added,
        roles=tuple(role for role in roles if role in held),
        asked=added.asked + own.height,
        unanswered=added.unanswered + counts.get("unanswered", 0),
        invalid=added.invalid + counts.get("invalid", 0),
        first_reply=min(filter(None, (old.first_reply, added.first_reply)), default=None),
        last_reply=max(filter(None, (old.last_reply, added.last_reply)), default=None),
        **{name: tuple(sorted({*getattr(old, name), *getattr(added, name)})) for name in names},
    )


def _check_names(panel: Sequence[Seat], others: Sequence[records.JudgeEntry]) -> None:
    """Two judges under one name would be one in every number."""
    there = {entry.name: entry for entry in others}
    for judge in panel:
        old = there.get(judge.reader.name)
        if old is None:
            continue
        stay = set(old.roles) - set(judge.roles)
        if old.identity != judge.reader.identity:
            raise BadInput(
                f"--judge {judge.reader.name}: another judge of this run has that name "
                f"({old.spec}). Add ?label=NAME to tell them apart."
            )
        if stay and (old.rubric or "") != judge.rubric:
            had, has = (
                f"the rubric {name}" if name else "the usual rubric"
                for name in (old.rubric, judge.rubric)
            )
            raise BadInput(
                f"--judge {judge.reader.name}: as {' and '.join(sorted(stay))} judge of this "
                f"run it has {had}, and now {has}. Add ?label=NAME to tell the two apart."
            )


def _as_asked(place: Path, record: records.RunRecord, given: Mapping[str, str]) -> Benchmark:
    """The benchmark of a run as its answers were asked for and read."""
    # A card may have been corrected since: texts go to judges under the policy that holds now.
    policy = policy_today(benchmark_of(record), record)
    now = msgspec.structs.replace(record, policy=policy, settings=record.settings | dict(given))
    bench = as_asked(now)
    if not bench.roles:
        raise BadInput(f"{place} is a run of {record.benchmark}, in which nobody judges.")
    for key in given:
        if key not in bench.for_judges:
            known = ", ".join(sorted(bench.for_judges))
            raise BadInput(f"--set {key}: a run is judged as it was asked; here are {known}.")
    return bench


def _stamp(place: Path) -> tuple[int, int]:
    found = (place / "answers.parquet").stat()
    return found.st_mtime_ns, found.st_size


# ---------------------------------------------------------------- people


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

    place, record = Path(folder), records.read_record(Path(folder))
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
    with records.folder_being_written(Path(out), policy_today(bench, record)) as scratch:
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
    place, record = Path(folder), records.read_record(Path(folder))
    bench = benchmark_of(record)
    if not bench.rank_sheet:
        raise _no_sheet(place, record, lambda one: one.rank_sheet)
    tables = tables_of(place, bench, record)
    sheet = Path(out) / bench.rank_sheet
    check_free(Path(out), sheet)
    named = tuple(readers) or tuple(reader.name for reader in record.readers)
    with records.folder_being_written(Path(out), policy_today(bench, record)) as scratch:
        items, rows = bench.write_ranks(scratch / sheet.name, tables, named, n, seed)
    return RankSample(sheet=sheet, items=items, rows=rows)


def check_free(out: Path, *files: Path) -> None:
    """A person may have filled what is there."""
    records.check_folder(f"--out {out}", out, ours=lambda _: True)
    for path in files:
        if path.exists() or path.is_symlink():
            raise BadInput(f"{path} is there already. Move it away, or give another folder.")


def _no_sheet(
    place: Path, record: records.RunRecord, has: Callable[[type[Benchmark]], object]
) -> BadInput:
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
    place, record = Path(folder), records.read_record(Path(folder))
    bench = _sampled(place, record)
    made = JudgeSample(sheet=Path(out) / "sheet.csv", key=Path(out) / "key.csv", rows=0)
    check_free(Path(out), made.sheet, made.key)
    taken = sample(bench.units(tables_of(place, bench, record)), n, seed)
    if not taken:
        raise BadInput(f"{place}: no verdict of its judges could be read; nothing to sample.")
    with records.folder_being_written(Path(out), policy_today(bench, record)) as scratch:
        write_sheet(taken, scratch / made.sheet.name, scratch / made.key.name)
    return msgspec.structs.replace(made, rows=len(taken))


def person_agreement(
    folder: str | Path, sheet: str | Path, key: str | Path, *, seed: int = 0
) -> PersonAgreement:
    """Compare a filled sheet with the judges of the run it was drawn from. Writes nothing."""
    from overread.judging.sheet import person_agreement

    place, record = Path(folder), records.read_record(Path(folder))
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
        table=Table(
            name="person_agreement",
            title="Do the judges agree with the person?",
            columns=("judge", "question", "agreement %", "kappa", "n", "left empty", "note"),
            rows=tuple(map(_row, found)),
            signature=record.signature,
            notes=(
                "Agreement with Wilson's interval; Cohen's kappa, rows resampled. Several rows on "
                "one reply count as if they were independent.",
            ),
        ),
    )


def _sampled(place: Path, record: records.RunRecord) -> Benchmark:
    bench = as_asked(record)  # as the verdicts were read when they were given
    if not bench.choices:
        raise BadInput(f"{place} is a run of {record.benchmark}, in which nobody judges.")
    if not record.judges:
        raise BadInput(f"{place} has no verdicts: nobody judged. See overread judge --help.")
    return bench


def _row(one: Agreement) -> tuple[str, ...]:
    share, kappa = _interval(one.percent, 100, 1), _interval(one.kappa, 1, 2)
    return one.second, one.group or "", share, kappa, str(one.n), str(one.missing), one.note


def _interval(of: Interval, times: int, digits: int) -> str:
    if of.point is None:
        return "n/a"
    point = f"{times * of.point:.{digits}f}"
    if of.low is None or of.high is None:
        return point
    return f"{point} [{times * of.low:.{digits}f}, {times * of.high:.{digits}f}]"
