"""`overread run`: ask, measure, write a run folder, print the table."""

from __future__ import annotations

from pathlib import Path

from overread.case import BadInput
from overread.cli import options

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
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> int:
    """Put a benchmark to one or more readers and measure what they say.

    Example: overread run grounding --cases phantom:480 --reader control:looks
    """
    options.check_engine(engine)
    if benchmark.endswith(".toml"):
        options.check_study(
            benchmark, cases, reader, judge, edition, out, limit, only, set_, concurrency
        )
        return _study(Path(benchmark), store, fresh, json)
    if cases is None:
        raise BadInput("--cases is missing. Give a case file, or phantom:480 to try it out.")

    from overread.cli.show import watch
    from overread.runs import run

    done = run(
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
    return options.finish([done], json=json, fresh=fresh)


def _study(path: Path, store: Path | None, fresh: bool, json: bool) -> int:
    from overread.cli.show import watch
    from overread.runs import run_study

    runs = run_study(path, store=store, fresh=fresh, watch=watch, tell=options.tell)
    return options.finish(runs, json=json, fresh=fresh)
