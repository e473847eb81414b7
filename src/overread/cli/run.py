"""`overread run`, `plan` and `demo`: readers are asked, or it is said what asking would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from overread import runs
from overread.case import BadInput, Table
from overread.cli import options
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
    engine: options.Engine = "local",
    concurrency: options.Concurrency = None,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> int:
    """Put a benchmark to one or more readers and measure what they say.

    Example: overread run grounding --cases phantom:480 --reader control:looks
    """
    if options.is_study(locals()):
        done = runs.run_study(
            Path(benchmark), store=store, fresh=fresh, watch=watch, tell=options.tell
        )
        return options.finish(done, json=json, fresh=fresh)
    assert cases is not None
    made = runs.run(
        benchmark,
        cases,
        reader or [],
        judges=judge or [],
        edition=edition,
        out=out,
        store=store,
        limit=limit,
        only=only,
        settings=options.settings_from(set_),
        concurrency=concurrency,
        fresh=fresh,
        watch=watch,
        tell=options.tell,
    )
    return options.finish([made], json=json, fresh=fresh)


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
    engine: options.Engine = "local",
    concurrency: options.Concurrency = None,
    requests: Annotated[
        Path | None, Option(help="Also write every request here, for recorded: readers.")
    ] = None,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> int:
    """Print trials, kept replies, pictures, tokens and cost of a run; ask nothing.

    Example: overread plan grounding --cases phantom:480 --reader control:looks
    """
    if options.is_study(locals()):
        if requests is not None:
            raise BadInput("--requests does not go with a study file. Plan its runs one by one.")
        planned = runs.plan_study(Path(benchmark), store=store, fresh=fresh, tell=options.tell)
        if json:
            return options.print_json(list(planned))
        for run in planned:
            title = f"What {run.benchmark} over {run.cases} would ask ({run.out})"
            _print_forecasts(title, run.forecasts)
        return 0
    assert cases is not None
    forecasts = runs.plan(
        benchmark,
        cases,
        reader or [],
        judges=judge or [],
        edition=edition,
        store=store,
        limit=limit,
        only=only,
        settings=options.settings_from(set_),
        requests=requests,
        fresh=fresh,
        tell=options.tell,
    )
    if json:
        return options.print_json(forecasts)
    _print_forecasts("What a run would ask", forecasts)
    return 0


def _print_forecasts(title: str, forecasts: list[Forecast]) -> None:
    print_table(
        Table(
            name="plan",
            title=title,
            columns=("reader", "trials", "answered", "calls", "pictures", "tokens", "cost"),
            rows=tuple(
                (
                    f.reader,
                    f"{f.trials:,}",
                    f"{f.answered:,}",
                    f"{f.calls:,}",
                    f"{f.pictures:,}",
                    f"{f.tokens_in:,} in, up to {f.tokens_out:,} out",
                    "–" if f.cost is None else f"{f.cost:,.2f}",
                )
                for f in forecasts
            ),
            notes=tuple(_notes(forecasts)),
            signature="tokens are an estimate; nothing was asked",
        )
    )


def _notes(forecasts: list[Forecast]) -> list[str]:
    notes = []
    for f in forecasts:
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
    return notes


def demo(
    out: Annotated[Path, Option(help="The folder to write.")] = Path("overread-demo"),
    json: options.Json = False,
) -> int:
    """Run the benchmarks on phantoms with the built-in controls; ends with the report's path.

    Example: overread demo --out demo
    """
    code = options.finish(runs.demo(out, watch=watch, tell=options.tell), json=json)
    if not json:
        print(f"All of it on one page: {out / 'report.html'}", flush=True)
    return code
