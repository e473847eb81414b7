"""`overread serve`: the page of some runs, with every case behind it, for a browser here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli import options

if TYPE_CHECKING:
    from overread.report.serving.server import Serving

__all__ = ["command"]


def command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    port: Annotated[int, typer.Option("--port", help="0 takes one that is free.")] = 0,
    host: Annotated[
        str | None,
        typer.Option("--host", help="An address others may reach; without it, this machine only."),
    ] = None,
    include_images: Annotated[
        bool,
        typer.Option(
            "--include-images",
            help="Show pictures of a set that is not open, and texts of a credentialed one.",
        ),
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address and open no browser.")
    ] = False,
) -> int:
    """Serve the page of some runs with all of their cases, until Ctrl-C.

    The printed address opens once: the browser that used it keeps a cookie.

    Example: overread serve runs/grounding-phantom-chest-1a2b3c
    """
    from overread.runs import open_in_browser, serve

    def listens(server: Serving) -> None:
        if server.public:
            options.tell(
                "warning: whoever reaches this machine may see that it serves, and the connection "
                "is not encrypted. Leave --host out, and forward the port by ssh."
            )
        print(server.url, flush=True)
        if not no_open:
            open_in_browser(server.url)

    serve(
        runs,
        host=host,
        port=port,
        include_images=include_images,
        listens=listens,
        trouble=options.tell,
    )
    options.tell("stopped.")
    return 0
