"""`overread measure` and `import`: numbers from answers that are there; nobody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from overread import runs
from overread.case import BadInput
from overread.cli import options
from overread.cli.show import watch


def measure(
    run: options.Folder,
    edition: Annotated[
        str | None, Option(help="corrected or authors; the run's own if absent.")
    ] = None,
    set_: options.Settings = None,
    include_images: options.IncludeImages = False,
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
    return options.finish([done], json=json)


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
    json: options.Json = False,
) -> int:
    """Make a run of recorded results. No reader is asked and no image need exist.

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
    return options.finish([done], json=json, judged=bool(judge), fresh=fresh)
