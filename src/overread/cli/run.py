"""`overread run`, `plan`, `demo`, `import`, `judge`, `measure`: runs are made, or made again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from overread import runs
from overread.case import BadInput, Table
from overread.cli import options
from overread.cli.command_line import Argument, Option
from overread.cli.show import print_table, watch

if TYPE_CHECKING:
    from overread.runs import Forecast


def run(
    benchmark: options.BenchmarkOrStudy,
    cases: options.Cases = None,
    reader: options.Readers = None,
    judge: options.Judges = None,
    edition: options.Edition = "corrected",
    out: options.Out = None,
    store: options.StoreFile = None,
    limit: options.Limit = None,
    only: options.Only = None,
    set_: options.Settings = None,
    engine: options.Engine = None,
    address: options.Address = None,
    actors: options.Actors = None,
    concurrency: options.Concurrency = None,
    shard: options.Shard = None,
    fresh: options.Fresh = False,
    on_a_page: Annotated[
        bool, Option("--watch", help="Serve a page of the run on this machine while it goes.")
    ] = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Put a benchmark to one or more models and measure what they say.

    With --shard, ask a part of it into a store of its own and measure nothing; overread store merge
    unites the stores, and the same command without --shard finds everything answered.

    Example: overread run grounding --cases phantom:480 --reader control:looks
    """
    where = options.engine_of(locals())
    asked = options.of_a_run(locals())
    part = runs.part_of(shard, options.tell)
    done: Iterable[runs.Run | runs.PartDone]
    if part is not None and on_a_page:
        raise BadInput("--watch does not go with --shard: a part has no page. Leave it out.")
    if asked is None:
        if on_a_page:
            raise BadInput(
                "--watch does not go with a study file. overread serve OUT shows each of its runs "
                "while it goes."
            )
        study = Path(benchmark)
        done = runs.run_study(
            study,
            store=store,
            fresh=fresh,
            part=part,
            **({} if engine is None else where),
            watch=watch,
            tell=options.tell,
        )
    elif part is not None:
        done = [runs.run_part(**asked, **where, part=part, concurrency=concurrency, watch=watch)]
    else:
        live = runs.watch_from_outside if on_a_page else None
        done = [
            runs.run(**asked, **where, out=out, concurrency=concurrency, watch=watch, live=live)
        ]
    return options.finish(done, json=json, fresh=fresh, wide=wide)


def plan(
    benchmark: options.BenchmarkOrStudy,
    cases: options.Cases = None,
    reader: options.Readers = None,
    judge: options.Judges = None,
    edition: options.Edition = "corrected",
    out: options.Out = None,
    store: options.StoreFile = None,
    limit: options.Limit = None,
    only: options.Only = None,
    set_: options.Settings = None,
    engine: options.Engine = None,
    address: options.Address = None,
    actors: options.Actors = None,
    concurrency: options.Concurrency = None,
    shard: options.Shard = None,
    requests: Annotated[
        Path | None, Option(help="Also write every request here, for recorded: models.")
    ] = None,
    batch: Annotated[
        Path | None, Option(help="A new folder for batch files of what has no reply yet.")
    ] = None,
    batch_limits: Annotated[
        str | None,
        Option(help="openai (default), azure, anthropic, google, xai, vllm, or N,SIZEMB a file."),
    ] = None,
    fresh: options.Fresh = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Print trials, kept replies, pictures, tokens and cost of a run; ask nothing.

    With --batch, write what would be asked as files for a batch service; overread import-batch
    takes its results.

    Example: overread plan grounding --cases phantom:480 --reader control:looks
    """
    where = options.engine_of(locals())
    asked = options.of_a_run(locals())
    part = runs.part_of(shard, options.tell)
    if batch is not None:
        if part is not None:
            raise BadInput("--batch and --shard: a batch is of all cases. Leave --shard out.")
        return _plan_batch(asked, batch, batch_limits or "openai", requests, json=json)
    if batch_limits is not None:
        raise BadInput("--batch-limits: there is no --batch. Give a folder for the files.")
    if asked is not None:
        forecasts = runs.plan(**asked, requests=requests, part=part)
        asks = "What a run would ask" if part is None else f"What part {part} of a run would ask"
        tables = _forecast_table(asks, forecasts), *_reach_tables(forecasts)
        return options.print_found(forecasts, *tables, json=json, wide=wide)
    if requests is not None:
        raise BadInput("--requests does not go with a study file. Plan its runs one by one.")
    planned = runs.plan_study(
        Path(benchmark), store=store, fresh=fresh, part=part, tell=options.tell
    )
    if json:
        return options.print_json(list(planned))
    for run in planned:
        title = f"What {run.benchmark} over {run.cases} would ask ({run.out})"
        for table in (_forecast_table(title, run.forecasts), *_reach_tables(run.forecasts)):
            print_table(table, wide=wide)
    return 0


def _plan_batch(
    asked: dict[str, Any] | None, folder: Path, limits: str, requests: Path | None, *, json: bool
) -> int:
    if asked is None:
        raise BadInput("--batch does not go with a study file. Plan its runs one by one.")
    if requests is not None:
        raise BadInput("--batch and --requests: give one of the two.")
    if asked.pop("fresh"):
        raise BadInput(
            "--batch: what is asked anew cannot be told from old replies there. Leave --fresh out, "
            "and give the reader revision=NAME; or have its replies forgotten."
        )
    made = runs.plan_batch(**asked, folder=folder, limits=limits)
    if not json and not made.files:
        print("Nothing to write: everything that can be asked now has a reply.")
        return 0
    table = Table(
        name="batch",
        title=f"Requests in {folder}",
        columns=("file", "reader", "requests", "MB"),
        rows=tuple(
            (one.name, one.reader, f"{one.requests:,}", f"{one.size / 1e6:,.1f}")
            for one in made.files
        ),
        notes=tuple(
            f"{one.called}: {one.trials:,} trials planned, {one.written:,} requests written."
            for one in made.readers
        ),
        signature=f"nothing was sent; then: overread import-batch {folder} RESULTS...",
    )
    return options.print_found(made, table, json=json)


def import_batch(
    batch: Annotated[
        Path, Argument(metavar="RUN", help="The folder that overread plan --batch wrote.")
    ],
    results: Annotated[list[Path], Argument(metavar="FILE", help="What the service returned.")],
    store: options.StoreFile = None,
    json: options.Json = False,
) -> int:
    """Take the results of a batch into the reply store; nobody is asked.

    Exits 3 when requests of the batch failed, or have no result yet. Then the same overread run
    finds its replies there.

    Example: overread import-batch batch output-1.jsonl errors-1.jsonl
    """
    found = runs.import_batch(batch, results, store=store, tell=options.tell)
    rows = (
        ("taken", found.taken, "kept as replies"),
        ("already there", found.already, f"{found.differing:,} of them say something else"),
        ("doubled", found.doubled, "the same result again"),
        ("contradicting", found.contradicting, "another result of the same request"),
        ("failed", found.failed, options.counted(found.reasons) or "kept as errors"),
        ("foreign", found.foreign, "no request of this batch"),
        ("malformed", found.malformed, "no result line"),
        ("missing", found.missing, "requests without a result, beside the lines"),
    )
    table = Table(
        name="import-batch",
        title=f"{found.lines:,} lines",
        columns=("what", "count", ""),
        rows=tuple((what, f"{count:,}", said if count else "") for what, count, said in rows),
        signature=str(batch),
    )
    options.print_found(found, table, json=json)
    return 3 if found.missing or found.failed else 0


def _forecast_table(title: str, forecasts: list[Forecast]) -> Table:
    rows, notes = [], []
    for f in forecasts:
        counts = (f"{count:,}" for count in (f.trials, f.answered, f.calls, f.pictures))
        tokens = (f"{f.tokens_in:,}", f"{f.tokens_out:,}")
        rows.append((f.reader, *counts, *tokens, _cost(f), _duration(f)))
        if f.rate is not None:
            how = "measured when it last answered" if f.rate_is == "measured" else "as declared"
            notes.append(f"{f.reader}: {f.rate:.3g} calls a second, {how}.")
        if f.judges:
            notes.append(
                f"{f.reader}: an estimate, at most; what it is asked hangs on the replies, and "
                "what cannot be read is asked again."
            )
        if f.undigested:
            notes.append(
                f"{f.reader}: {f.undigested:,} calls have pictures not yet digested; some of their "
                "replies may already be kept."
            )
        if f.missing:
            notes.append(f"{f.reader}: {f.missing:,} trials have a picture that is not there.")
    if any(f.cost is None for f in forecasts):
        notes.append("A cost needs price_in, price_out and currency in the spec.")
    if any(f.rate is None and f.calls for f in forecasts):
        notes.append("A duration is known of models that have answered before, or by rpm or tpm.")
    return Table(
        name="plan",
        title=title,
        columns=(
            *("reader", "trials", "answered", "calls", "pictures"),
            *("tokens in", "tokens out at most", "cost", "duration"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        signature="tokens are an estimate; nothing was asked",
    )


def _reach_tables(forecasts: list[Forecast]) -> list[Table]:
    """What the cases can show: the same for every reader of a run."""
    return [forecast.reach.table for forecast in forecasts if forecast.reach is not None][:1]


def _cost(forecast: Forecast) -> str:
    if forecast.cost is None:
        return "–"
    return f"{forecast.cost:,.2f} {forecast.currency or ''}".rstrip()


def _duration(forecast: Forecast) -> str:
    """`2 h 10 min`, or a dash where no speed is known."""
    if forecast.duration is None:
        return "–"
    minutes = forecast.duration / 60
    if minutes < 1:
        return f"{forecast.duration:.0f} s"
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def demo(
    out: Annotated[Path, Option(help="The folder to write.")] = Path("overread-demo"),
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Run the benchmarks on phantoms with the built-in controls; ends with the report's path.

    Example: overread demo --out demo
    """
    code = options.finish(runs.demo(out, watch=watch, tell=options.tell), json=json, wide=wide)
    if not json:
        print(f"All of it on one page: {out / 'report.html'}", flush=True)
    return code


def measure(
    run: options.Folder,
    edition: Annotated[
        str | None, Option(help="corrected or authors; the run's own if absent.")
    ] = None,
    set_: options.Settings = None,
    include_images: options.IncludeImages = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Measure again, perhaps under another edition. Nobody is asked.

    Example: overread measure runs/grounding-phantom-chest-1a2b3c --edition authors
    """
    done = runs.measure(
        run,
        edition=edition,
        settings=options.settings_from(set_),
        include_images=include_images,
        tell=options.tell,
    )
    return options.finish([done], json=json, wide=wide)


def import_results(
    benchmark: options.Benchmark,
    replies: Annotated[
        Path | None, Option(help="What the paper's scripts wrote: a file or folder.")
    ] = None,
    cases: options.Cases = None,
    readers: Annotated[Path | None, Option(help="models.json: role of each model.")] = None,
    edition: options.Edition = "corrected",
    out: options.Out = None,
    set_: options.Settings = None,
    reparse: Annotated[
        bool, Option("--reparse", help="Read raw_answer again with the edition's parser.")
    ] = False,
    also: Annotated[
        list[str] | None,
        Option(help="Further results: px=512:FOLDER, phrasing=brief:FOLDER, or a path."),
    ] = None,
    judge: options.Judges = None,
    store: options.StoreFile = None,
    concurrency: options.Concurrency = None,
    fresh: options.Fresh = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Make a run of recorded results. No model is asked and no image need exist.

    Where records carry their truth --cases may be left out. Judges may judge the results at once;
    overread judge has them judged later.

    Example: overread import grounding --cases manifest.csv --replies results --out imported
    """
    if replies is None or out is None:
        name = "--replies" if replies is None else "--out"
        raise BadInput(f"{name} is missing. See overread import --help for an example.")
    if fresh and not judge:
        raise BadInput("--fresh: nobody is asked without --judge. Leave it out.")
    done, warnings = runs.import_results(
        benchmark,
        cases=cases,
        replies=replies,
        readers=readers,
        out=out,
        edition=edition,
        settings=options.settings_from(set_),
        reparse=reparse,
        also=also or (),
        judges=judge or (),
        store=store,
        concurrency=concurrency,
        fresh=fresh,
        watch=watch,
        tell=options.tell,
    )
    for warning in warnings:
        options.tell(warning)
    return options.finish([done], json=json, judged=bool(judge), fresh=fresh, wide=wide)


def judge(
    run: Annotated[Path, Argument(help="A run folder, of run or of import.")],
    judge: options.Judges = None,
    store: options.StoreFile = None,
    set_: options.Settings = None,
    engine: options.Engine = None,
    address: options.Address = None,
    actors: options.Actors = None,
    concurrency: options.Concurrency = None,
    fresh: options.Fresh = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Have a finished or imported run judged, and measure it again. Only judges are asked.

    Judges that judged it before stay; verdicts are kept, and resumed by the same command.

    Example: overread judge imported --judge control:lexical-judge
    """
    where = options.engine_of(locals())
    done = runs.judge(
        run,
        judge or [],
        store=store,
        settings=options.settings_from(set_),
        **where,
        concurrency=concurrency,
        fresh=fresh,
        watch=watch,
        tell=options.tell,
    )
    return options.finish([done], json=json, judged=True, fresh=fresh, wide=wide)
