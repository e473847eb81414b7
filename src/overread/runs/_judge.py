"""Judges asked about answers that are there: those of a finished run, or of results brought along.

They are asked as in a run: the same questions, rounds and store. Who judged before stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overread.benchmarks.base import Benchmark, Tables
from overread.case import BadInput, Reader
from overread.judging import VERDICT_COLUMNS
from overread.records import JudgeEntry, RunRecord, folder_being_written, make_private, read_record
from overread.runs._asking import Seat, work_on
from overread.runs._choosing import Tell
from overread.runs._environment import default_store, load_config
from overread.runs._kept import as_asked, benchmark_of, tables_of
from overread.runs._measuring import Run, measure_into, policy_today, with_pictures
from overread.runs._opening import enrolments, open_judges
from overread.runs._running import Asking, Watch

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
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Run:
    """Have a finished or imported run judged, and measure it again under its edition.

    No reader is asked and no image is opened. Verdicts of other judges stay; a judge that judged
    here before is resumed, and what it said in the roles given now is replaced.
    `settings` may say what judges are asked (`checks`, `variants`, `rubrics`). `fresh` asks the
    judges everything again. `tell` gets a line for whatever a user should know.

    Examples
    --------
    >>> import overread as ov
    >>> run = ov.judge("imported", ["control:lexical-judge"])  # doctest: +SKIP
    """
    place = Path(folder)
    if not judges:
        raise BadInput("no judge was given. Give at least one with --judge.")
    record, given = read_record(place), dict(settings or {})
    bench = _as_asked(place, record, given)
    tables, asked_about = tables_of(place, bench, record), _stamp(place)
    with judged_answers(
        bench, tables, judges, record.judges,
        store=store, concurrency=concurrency, fresh=fresh, watch=watch, tell=tell,
    ) as judged:  # fmt: skip
        record = read_record(place)  # another command may have judged or measured meanwhile
        if _stamp(place) != asked_about:
            raise BadInput(f"{place}: its answers were written anew meanwhile. Judge it again.")
        measured = benchmark_of(record)
        before = tables_of(place, bench, record).verdicts
        with folder_being_written(place, bench.policy) as scratch:
            entries = write_judged(judged, scratch, before, record.judges)
            words = record.settings | given
            record = msgspec.structs.replace(record, judges=entries, settings=words)
            record, opened = with_pictures(measured, record, include_images=False)
            made = measure_into(scratch, place, measured, record, opened, tallies=judged.tallies)
    if made.record.policy == "credentialed":  # its tables may be from a time when it was not
        make_private(place)
    return made


@contextmanager
def judged_answers(
    bench: Benchmark,
    tables: Tables,
    judges: Sequence[str | Mapping[str, Any] | Reader],
    others: Sequence[JudgeEntry] = (),
    *,
    store: str | Path | None = None,
    concurrency: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Iterator[Asking]:
    """Ask judges about the answers of these tables; inside, what they said can be written."""
    config = load_config()
    panel = open_judges(bench, judges, config, concurrency)
    _check_names(panel, others)
    bench.judge_over(tables)

    def said() -> Iterator[Mapping[str, Any]]:
        return (row | {"check": 0} for row in tables.answers.iter_rows(named=True))

    with work_on(bench, None, default_store(config, store), tell) as work:
        asking = Asking(work, panel, said)
        asking.ask(enrolments(panel), watch, tell, fresh=fresh)
        yield asking
        if tell is not None:
            for line in asking.sayings():
                tell(line)


def write_judged(
    asking: Asking, scratch: Path, before: pl.DataFrame | None, others: Sequence[JudgeEntry]
) -> tuple[JudgeEntry, ...]:
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
    old: JudgeEntry, own: pl.DataFrame, added: JudgeEntry, roles: Sequence[str]
) -> JudgeEntry:
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


def _check_names(panel: Sequence[Seat], others: Sequence[JudgeEntry]) -> None:
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


def _as_asked(place: Path, record: RunRecord, given: Mapping[str, str]) -> Benchmark:
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
