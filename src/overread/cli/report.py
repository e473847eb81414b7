"""`overread report` and `serve`: run folders become a page, files, a page with all cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

import overread.runs
from overread.cli import options

if TYPE_CHECKING:
    from overread.report.serving.server import Serving


def report(
    runs: options.Folders,
    out: Annotated[
        Path | None, Option(help="The page: report.html in the only run, or here.")
    ] = None,
    csv: Annotated[Path | None, Option(help="A folder for tables and measures as csv.")] = None,
    latex: Annotated[Path | None, Option(help="A folder for tables with booktabs.")] = None,
    figures: Annotated[Path | None, Option(help="A folder for figures: SVG, PDF, PNG.")] = None,
    include_images: options.IncludeImages = False,
    cases: Annotated[int | None, Option(help="How many cases the page embeds (60).")] = None,
    seed: Annotated[int, Option(help="Of the sample of cases.")] = 0,
    json: options.Json = False,
) -> int:
    """Write one page of some runs that opens from disk, and files for a paper.

    Example: overread report runs/grounding-phantom-chest-1a2b3c --latex tables --figures figures
    """
    wanted = {} if cases is None else {"cards": cases}
    done = overread.runs.report(
        runs,
        out,
        include_images=include_images,
        csv=csv,
        latex=latex,
        figures=figures,
        seed=seed,
        tell=options.tell,
        **wanted,
    )
    if json:
        return options.print_json(done)
    for kind, files in done.files.items():
        print(f"{kind}: {len(files)} files in {files[0].parent}")
    print(done.page, flush=True)
    return 0


def serve(
    runs: options.Folders,
    port: Annotated[int, Option(help="0 takes one that is free.")] = 0,
    host: Annotated[
        str | None, Option(help="An address others may reach; without it, this machine only.")
    ] = None,
    include_images: options.IncludeImages = False,
    no_open: Annotated[
        bool, Option("--no-open", help="Print the address and open no browser.")
    ] = False,
) -> int:
    """Serve the page of some runs with all of their cases, until Ctrl-C.

    The printed address opens once: the browser that used it keeps a cookie.

    Example: overread serve runs/grounding-phantom-chest-1a2b3c
    """

    def listens(server: Serving) -> None:
        if server.public:
            options.tell(
                "warning: whoever reaches this machine may see that it serves, and the connection "
                "is not encrypted. Leave --host out, and forward the port by ssh."
            )
        print(server.url, flush=True)
        if not no_open:
            overread.runs.open_in_browser(server.url)

    overread.runs.serve(
        runs,
        host=host,
        port=port,
        include_images=include_images,
        listens=listens,
        trouble=options.tell,
    )
    options.tell("stopped.")
    return 0
