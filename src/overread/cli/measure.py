"""`overread measure` and `import`: numbers from answers that are there; nobody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.case import BadInput
from overread.cli import options


def measure(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    edition: Annotated[
        str | None, typer.Option("--edition", help="corrected or authors; the run's own if absent.")
    ] = None,
    set_: options.Settings = None,
    include_images: options.IncludeImages = False,
    json: options.Json = False,
) -> int:
    """Measure again, perhaps under another edition. Nobody is asked.

    Example: overread measure runs/grounding-phantom-chest-1a2b3c --edition authors
    """
    from overread.runs import measure

    done = measure(
        run,
        edition=edition,
        settings=options.settings_from(set_),
        include_images=include_images,
        tell=options.tell,
    )
    return options.finish([done], json=json)


def import_results(
    benchmark: options.Benchmark,
    replies: Annotated[
        Path | None,
        typer.Option("--replies", help="What the paper's scripts wrote: a file or folder."),
    ] = None,
    cases: options.Cases = None,
    readers: Annotated[
        Path | None, typer.Option("--readers", help="models.json: role of each model.")
    ] = None,
    edition: options.Edition = "corrected",
    out: options.Out = None,
    set_: options.Settings = None,
    reparse: Annotated[
        bool, typer.Option("--reparse", help="Read raw_answer again with the edition's parser.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            help="Further results: px=512:FOLDER, phrasing=brief:FOLDER, or a path.",
        ),
    ] = None,
    judge: options.Judges = None,
    store: options.StoreFile = None,
    concurrency: options.Concurrency = None,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> int:
    """Make a run of recorded results. No reader is asked and no image need exist.

    Where records carry their truth --cases may be left out. Judges may judge the results at once;
    overread judge has them judged later.

    Example: overread import grounding --cases manifest.csv --replies results --out imported
    """
    for name, value in (("--replies", replies), ("--out", out)):
        if value is None:
            raise BadInput(f"{name} is missing. See overread import --help for an example.")
    if fresh and not judge:
        raise BadInput("--fresh: nobody is asked without --judge. Leave it out.")
    assert replies is not None
    assert out is not None

    from overread.cli.show import watch
    from overread.runs import import_results

    done, warnings = import_results(
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
    return options.finish([done], json=json, judged=bool(judge), fresh=fresh)
