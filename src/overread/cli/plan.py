"""`overread plan`: what a run would ask, before it asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.case import BadInput, Table
from overread.cli import options

if TYPE_CHECKING:
    from overread.runs import Forecast

__all__ = ["command"]


def command(
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
        Path | None,
        typer.Option("--requests", help="Also write every request here, for recorded: readers."),
    ] = None,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> int:
    """Print trials, kept replies, pictures, tokens and cost of a run; ask nothing.

    Example: overread plan grounding --cases phantom:480 --reader control:looks
    """
    options.check_engine(engine)
    if benchmark.endswith(".toml"):
        options.check_study(
            benchmark, cases, reader, judge, edition, out, limit, only, set_, concurrency
        )
        if requests is not None:
            raise BadInput("--requests does not go with a study file. Plan its runs one by one.")
        return _study(Path(benchmark), store, fresh, json)
    if cases is None:
        raise BadInput("--cases is missing. Give a case file, or phantom:480 to try it out.")

    import msgspec

    from overread.runs import plan

    forecasts = plan(
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
        print(msgspec.json.encode(forecasts).decode())
        return 0
    _print("What a run would ask", forecasts)
    return 0


def _study(path: Path, store: Path | None, fresh: bool, json: bool) -> int:
    import msgspec

    from overread.runs import plan_study

    planned = plan_study(path, store=store, fresh=fresh, tell=options.tell)
    if json:
        print(msgspec.json.encode(list(planned)).decode())
        return 0
    for run in planned:
        _print(f"What {run.benchmark} over {run.cases} would ask ({run.out})", run.forecasts)
    return 0


def _print(title: str, forecasts: list[Forecast]) -> None:
    from overread.cli.show import print_table

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
