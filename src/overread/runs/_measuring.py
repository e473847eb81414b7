"""Tables become measures, a record and a page; results of the papers' scripts become runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from overread import records
from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Figure, Headline, Measure, Policy, Reader, Table
from overread.records import RunRecord
from overread.runs._environment import give_back
from overread.runs._kept import Kept, benchmark_of, records_of, reopened, tables_of
from overread.runs._opening import Tell, case_file, may_draw, open_cases, recorded_cases

if TYPE_CHECKING:
    import polars as pl

    from overread.engine import Tally
    from overread.runs._running import Watch

_TEXT = ("reader", "measure", "method", "family", "label", "note")
# What is more than a number or a text is JSON text in a frame.
_JSON = ("by", "how", "flags", "left_out", "as_wrong", "beside", "pooled")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run: its folder, its measures, its exhibits."""

    folder: Path
    record: RunRecord
    records: list[Measure]
    exhibits: dict[str, Table | Figure]
    headlines: list[Headline] = []
    tallies: dict[str, Tally] = {}

    def __repr__(self) -> str:
        names = ", ".join(reader.name for reader in self.record.readers)
        return f"<Run of {self.record.benchmark} in {self.folder}: {names}>"

    def _repr_html_(self) -> str:
        """The answers of the run in a notebook, and its first table."""
        from overread.runs._reporting import shown_in_a_notebook

        return shown_in_a_notebook(self)

    @property
    def measures(self) -> pl.DataFrame:
        """One row per record of `measures.json`; `by` and other mappings are JSON text."""
        import polars as pl

        rows = [
            msgspec.structs.asdict(m)
            | {name: msgspec.json.encode(getattr(m, name)).decode() for name in _JSON}
            for m in self.records
        ]
        schema: dict[str, Any] = dict.fromkeys(Measure.__struct_fields__, pl.Float64)
        schema |= dict.fromkeys(("n", "k"), pl.Int64) | dict.fromkeys((*_TEXT, *_JSON), pl.String)
        return pl.DataFrame(rows, schema=schema)

    @property
    def unanswered(self) -> int:
        return sum(reader.unanswered for reader in self.record.readers)

    @property
    def unjudged(self) -> int:
        """Questions to judges that no reply came to."""
        return sum(judge.unanswered for judge in self.record.judges)


def measure_into(
    scratch: Path,
    folder: Path,
    bench: Benchmark,
    record: RunRecord,
    opened: Benchmark | None = None,
    *,
    whole: bool = False,
    include_images: bool = False,
    tallies: dict[str, Tally] | None = None,
) -> Run:
    """Measure a run's tables; write measures, record and page into `scratch`.

    The tables of a `whole` run are in `scratch`; else in `folder`, where there are no new verdicts.
    `opened` is the benchmark over its cases where their pictures may be shown; `include_images`
    says that they may though the set is not open.
    """
    from overread.report import write_report
    from overread.runs._reporting import reported

    give_back()
    new = records.table_digests(scratch)
    tables = tables_of(
        scratch if whole else folder,
        bench,
        record,
        scratch if new and not whole else None,
        to_measure=True,
    )
    written = {} if whole else record.tables or records.table_digests(folder)
    signature = bench.signature(tables)
    measures = records.Measures(
        overread=record.overread,
        benchmark=bench.name,
        edition=bench.edition,
        signature=signature,
        measures=bench.measure(tables),
    )
    give_back()
    record = msgspec.structs.replace(
        record, edition=bench.edition, signature=signature, tables=written | new
    )
    kept = Kept(folder, record, measures, bench, tables)
    page = reported(kept, opened, include_images=include_images)
    record = msgspec.structs.replace(record, pictures=page.record.pictures)
    records.write_record(scratch / "run.toml", record)
    records.write_measures(scratch / "measures.json", measures)
    write_report(scratch / "report.html", [page])
    return Run(
        folder=folder,
        record=record,
        records=measures.measures,
        exhibits={exhibit.name: exhibit for exhibit in page.exhibits},
        headlines=list(page.headlines),
        tallies=tallies or {},
    )


def measure(
    folder: str | Path,
    *,
    edition: str | None = None,
    settings: Mapping[str, str] | None = None,
    include_images: bool = False,
    tell: Tell | None = None,
) -> Run:
    """Measure a run again from its kept answers, perhaps under another edition or setting.

    Nobody is asked. What was shown to the readers stays what it was: only reading and counting
    follow the edition, and a setting that says what is shown is refused. Settings of an earlier
    measuring are forgotten; those of the run itself stay. The page of an open set shows pictures of
    its cases, if they are still there; that of another set only with `include_images`.
    `tell` gets a line where the set's card has become stricter.
    """
    from overread.benchmarks.registry import class_of

    place = Path(folder)
    record = records.read_record(place)
    given = class_of(record.benchmark).absolute(settings)
    name = edition or record.edition.partition("+")[0]
    bench = reopened(record, name, record.settings | given)
    _check_shown(bench.shows, given, record.settings)
    record = msgspec.structs.replace(record, measured=given)
    record, opened = with_pictures(bench, record, include_images, tell)
    with records.folder_being_written(place, record.policy) as scratch:
        made = measure_into(scratch, place, bench, record, opened, include_images=include_images)
    if record.policy == "credentialed":  # its tables may be from a time when it was not
        records.make_private(place)
    return made


def load(folder: str | Path) -> Run:
    """A run as it lies in its folder: nothing is measured again, nothing rewritten.

    Examples
    --------
    >>> import overread as ov
    >>> ov.load("my-run").measures  # doctest: +SKIP
    """
    ((place, record, measures),) = records_of([Path(folder)])
    bench = benchmark_of(record)
    return Run(
        folder=place,
        record=record,
        records=measures.measures,
        exhibits=exhibits_of(bench, record, measures.measures),
        headlines=list(bench.headlines(measures.measures)),
    )


def exhibits_of(
    bench: Benchmark, record: RunRecord, measures: Sequence[Measure]
) -> dict[str, Table | Figure]:
    """The exhibits of a run by name; tables say the edition they stand under."""
    made: dict[str, Table | Figure] = {}
    for exhibit in bench.exhibits(measures, record.signature):
        if isinstance(exhibit, Table):
            exhibit = msgspec.structs.replace(exhibit, edition=record.edition)
        made[exhibit.name] = exhibit
    return made


def with_pictures(
    bench: Benchmark, record: RunRecord, include_images: bool, tell: Tell | None = None
) -> tuple[RunRecord, Benchmark | None]:
    """The record under the policy that holds today, and the benchmark over the run's own cases.

    The latter where their pictures may be shown and are there.
    """
    if include_images and not (bench.pictures and record.cases):
        raise BadInput(f"--include-images: this run of {bench.name} has no pictures to show.")
    policy, found = _today(bench, record, include_images)
    if policy != record.policy and tell is not None:
        tell(
            f"{record.cases} is {policy} by its cards today; when it was run it was "
            f"{record.policy}. The stricter holds."
        )
    record = msgspec.structs.replace(record, policy=policy)
    bench.policy = policy  # what groups may be called goes by it
    if not (policy == "open" or include_images) or not bench.pictures:
        return record, None
    if isinstance(found, BadInput) or found is None:
        fault = f"the cases cannot be opened again: {found}"
    elif found.dataset != record.dataset:
        fault = f"{record.cases} is no longer what was asked about ({record.dataset}). Run again."
    else:
        return record, found
    if include_images:
        raise BadInput(f"--include-images: {fault}")
    return record, None


def policy_today(bench: Benchmark, record: RunRecord) -> Policy:
    """Who may see a run: the strictest of its record and of its cases' cards as they are now."""
    return _today(bench, record, False)[0]


def _today(
    bench: Benchmark, record: RunRecord, wanted: bool
) -> tuple[Policy, Benchmark | BadInput | None]:
    """The policy that holds today, and the cases opened, or why they cannot be.

    They are not opened where nothing could be stricter, unless they are `wanted`. A set that is
    gone altogether has no cards: the record alone says. One that is there and whose cards cannot be
    read is credentialed.
    """
    if not record.cases or (record.policy == "credentialed" and not wanted):
        return record.policy, None
    if not may_draw(record.cases, record.n_cases):
        raise BadInput(
            f"run.toml: cases is {record.cases[:40]}, and the run had {record.n_cases}. "
            "Restore the file or run again."
        )
    found: Benchmark | BadInput
    try:
        # As it was asked: another edition may take other cases.
        asked = record.answers_edition.partition("+")[0]
        found = open_cases(record.benchmark, record.cases, asked, record.settings)
        now = found.policy
    except BadInput as error:
        found, now = error, record.policy
        if not record.cases.startswith("phantom:") and os.path.lexists(record.cases):
            # Images may be gone and were never needed for an import: cards are where items stand.
            try:
                now = bench.policy_at(record.cases)
            except BadInput:
                now = "credentialed"
    return max(record.policy, now, key=get_args(Policy).index), found


def _check_shown(shows: frozenset[str], given: Mapping[str, str], asked: Mapping[str, str]) -> None:
    for key, value in given.items():
        if key in shows and asked.get(key) != value:
            raise BadInput(
                f"--set {key}={value}: it says what readers are shown, and they were shown "
                "something else. Run again with it."
            )


def import_results(
    benchmark: str,
    *,
    cases: str | Path | None,
    replies: str | Path,
    out: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    settings: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
    judges: Sequence[str | Mapping[str, Any] | Reader] = (),
    store: str | Path | None = None,
    concurrency: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> tuple[Run, list[str]]:
    """Make a run of results that the papers' own scripts wrote. No reader is asked.

    `cases` may be None where the results carry their own truth. `also` names further results, such
    as "px=512:DIR". `judges` are asked about the results as in a run, with `fresh` everything
    again; `tell` gets a line for whatever a user should know of that. Returns the run and what a
    user should know of the results, such as a model folder that was left out.
    """
    from overread.benchmarks.registry import class_of, importer
    from overread.runs._judge import judged_answers, write_judged

    folder = Path(out)
    records.check_out(folder)
    bench, tables, warnings, words = importer(benchmark)(
        None if cases is None else case_file(benchmark, cases),
        Path(replies),
        Path(readers) if readers is not None else None,
        edition,
        class_of(benchmark).absolute(settings),
        reparse,
        also,
    )
    counts = dict(tables.answers.group_by("reader").len().iter_rows())
    record = RunRecord(
        benchmark=bench.name,
        edition=bench.edition,
        answers_edition=bench.edition,
        cases="" if cases is None else recorded_cases(cases),
        dataset=bench.dataset,
        policy=bench.policy,
        n_cases=tables.cases.height,
        imported=True,
        settings=words,
        readers=tuple(
            records.ReaderEntry(
                **msgspec.structs.asdict(reader),
                spec=f"imported:{reader.name}",
                asked=counts.get(reader.name, 0),
            )
            for reader in tables.readers
        ),
        judges=tuple(_imported_judges(tables.verdicts)),
        versions=versions(),
    )
    with ExitStack() as stack:
        judged = None
        if judges:
            asking = judged_answers(
                bench, tables, judges, record.judges,
                store=store, concurrency=concurrency, fresh=fresh, watch=watch, tell=tell,
            )  # fmt: skip
            judged = stack.enter_context(asking)
        scratch = stack.enter_context(
            records.folder_being_written(folder, bench.policy, whole=True)
        )
        tables.cases.write_parquet(scratch / "cases.parquet")
        tables.answers.write_parquet(scratch / "answers.parquet")
        if judged is not None:
            entries = write_judged(judged, scratch, tables.verdicts, record.judges)
            record = msgspec.structs.replace(record, judges=entries)
        elif tables.verdicts is not None:
            tables.verdicts.write_parquet(scratch / "verdicts.parquet")
        tallies = {} if judged is None else judged.tallies
        run = measure_into(scratch, folder, bench, record, whole=True, tallies=tallies)
    return run, warnings


def _imported_judges(verdicts: pl.DataFrame | None) -> Iterator[records.JudgeEntry]:
    """What the record says of judges whose verdicts came with the results."""
    if verdicts is None:
        return
    for (name,), own in verdicts.group_by("judge", maintain_order=True):
        yield records.JudgeEntry(
            name=str(name),
            spec=f"imported:{name}",
            identity="imported",
            roles=tuple(own["role"].unique().sort()),
            asked=own.height,
            unanswered=int((own["outcome"] == "unanswered").sum()),
            invalid=int((own["outcome"] == "invalid").sum()),
        )


def versions() -> dict[str, str]:
    """Of what a run stands on, and the revisions of its pixels and of the bytes they became."""
    from overread.imaging import ENCODER, RENDERER

    codecs = ("pillow", "isal", "pydicom", "av")
    names = ("numpy", "scipy", "polars", *codecs, "aiohttp", "json-repair")
    python = ".".join(map(str, sys.version_info[:3]))
    ours = {"renderer": str(RENDERER), "encoder": str(ENCODER)}
    return {"python": python} | {name: version(name) for name in names} | ours
