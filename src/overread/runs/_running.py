"""A run: ask first, read afterwards.

`ask` fills the store in whatever order replies arrive; then the trials are planned a second time
and read back in plan order, so that the files of two runs over one store are the same to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from overread.benchmarks.benchmark import Benchmark, LeavesOut
from overread.case import Reader
from overread.engine import Sources, Store, Studio, Tally, read_back
from overread.readers import ReaderSpec
from overread.records import ReaderEntry, RunRecord, check_out, folder_being_written, write_rows
from overread.runs._asking import ask_all, count_trials, run_async, trials_of
from overread.runs._choosing import survey
from overread.runs._environment import default_store, load_config
from overread.runs._left_out import Tell, remarks_of, write_left_out
from overread.runs._measuring import Run, measure_into, versions
from overread.runs._opening import open_cases, open_readers

__all__ = ["Unfinished", "Watch", "run"]

# A display of the readers' tallies for as long as they are asked: (name, tally, total, spec).
Watch = Callable[[list[tuple[str, Tally, int, ReaderSpec]]], AbstractContextManager[None]]


class Unfinished(Exception):
    """The run ended before its end. What was answered is kept; the message says how to go on."""


def run(
    benchmark: str,
    cases: str | Path,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    *,
    edition: str = "corrected",
    out: str | Path | None = None,
    store: str | Path | None = None,
    limit: int | None = None,
    settings: Mapping[str, str] | None = None,
    concurrency: int | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Run:
    """Ask the readers about the cases, measure, and write a run folder.

    `tell` gets a line for whatever a user should know before anybody is asked.

    Examples
    --------
    >>> import overread as ov
    >>> run = ov.run("grounding", cases="phantom:480", readers=["control:looks"])  # doctest: +SKIP
    """
    config = load_config()
    bench = open_cases(benchmark, cases, edition, settings or {})
    specs, opened = open_readers(bench, readers, config, concurrency)
    chosen, n_cases = survey(bench, limit)
    folder = Path(out) if out is not None else _default_folder(bench, specs, limit, settings or {})
    check_out(folder)
    remarks = remarks_of(bench)
    if tell is not None:
        for line in remarks:
            tell(line)
    totals = [count_trials(bench, chosen, reader) for reader in opened]
    tallies = [Tally() for _ in opened]
    shown = [
        (reader.name, tally, total, spec)
        for reader, tally, total, spec in zip(opened, tallies, totals, specs, strict=True)
    ]
    with Store(store if store is not None else default_store(config)) as kept:
        dataset = kept.dataset_id(bench.name, bench.dataset, bench.policy)
        studio = Studio(Sources(kept, dataset))
        try:
            with watch(shown) if watch else nullcontext():
                interrupted = run_async(
                    ask_all(bench, chosen, opened, kept, studio, dataset, tallies)
                )
            _check_finished(opened, tallies, interrupted)
            with folder_being_written(folder, bench.policy) as scratch:
                write_left_out(scratch, bench)
                entries = _write_tables(bench, chosen, opened, specs, kept, studio, scratch)
                record = RunRecord(
                    benchmark=bench.name,
                    edition=bench.edition,
                    answers_edition=bench.edition,
                    cases=str(cases),
                    dataset=bench.dataset,
                    policy=bench.policy,
                    n_cases=n_cases,
                    limit=limit,
                    left_out=len(bench.left_out) if isinstance(bench, LeavesOut) else 0,
                    remarks=remarks,
                    settings=dict(settings or {}),
                    readers=entries,
                    versions=versions(),
                )
                record, records, exhibits = measure_into(
                    scratch, scratch, bench, record, bench if bench.policy == "open" else None
                )
        finally:
            studio.close()
    names = [reader.name for reader in opened]
    return Run(
        folder=folder,
        record=record,
        records=records,
        exhibits=exhibits,
        tallies=dict(zip(names, tallies, strict=True)),
    )


def _check_finished(readers: Sequence[Reader], tallies: Sequence[Tally], interrupted: bool) -> None:
    kept = sum(tally.answered + tally.kept for tally in tallies)
    if interrupted:
        raise Unfinished(
            f"interrupted; {kept} replies are kept. Run the same command again to resume."
        )
    stopped = [
        f"{reader.name}: {tally.stopped.rstrip('.')}"
        for reader, tally in zip(readers, tallies, strict=True)
        if tally.stopped
    ]
    if stopped:
        raise Unfinished(
            "; ".join(stopped)
            + ". Nothing was measured. Mend that and run the same command again; "
            f"the {kept} replies already there are kept."
        )


def _write_tables(
    bench: Benchmark,
    chosen: frozenset[str] | None,
    readers: Sequence[Reader],
    specs: Sequence[ReaderSpec],
    store: Store,
    studio: Studio,
    scratch: Path,
) -> tuple[ReaderEntry, ...]:
    """Stream cases.parquet and answers.parquet, in the order of the plan."""
    import polars as pl

    cases = (
        bench.case_row(case) for case in bench.cases() if chosen is None or case.case_id in chosen
    )
    write_rows(scratch / "cases.parquet", bench.case_schema, cases)
    asked = dict.fromkeys((reader.name for reader in readers), 0)
    unanswered = dict(asked)

    def rows() -> Iterable[Sequence[Any]]:
        for reader in readers:
            plan = trials_of(bench, chosen, reader)
            for trial, reply, reason in read_back(plan, reader, store, studio):
                asked[reader.name] += 1
                unanswered[reader.name] += reply is None
                yield (reader.name, *bench.answer(trial, reply, reader.traits, reason))

    write_rows(scratch / "answers.parquet", {"reader": pl.String, **bench.answer_schema}, rows())
    return tuple(
        ReaderEntry(
            name=reader.name,
            spec=f"{spec.kind}:{spec.model}" + (f"@{spec.base_url}" if spec.base_url else ""),
            identity=reader.identity,
            traits=reader.traits,
            asked=asked[reader.name],
            unanswered=unanswered[reader.name],
        )
        for reader, spec in zip(readers, specs, strict=True)
    )


def _default_folder(
    bench: Benchmark, specs: Sequence[ReaderSpec], limit: int | None, settings: Mapping[str, str]
) -> Path:
    """`runs/…`: the same recipe gives the same folder, another recipe another one."""
    from hashlib import blake2b

    asked = (bench.name, bench.edition, bench.dataset, specs, limit, settings)
    recipe = msgspec.json.encode(asked, order="deterministic")
    short = blake2b(recipe, digest_size=3).hexdigest()
    return Path("runs") / f"{bench.name}-{bench.dataset.partition('@')[0]}-{short}"
