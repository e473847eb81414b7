"""`overread measure`: measure a run again from its kept answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    edition: Annotated[
        str | None, typer.Option("--edition", help="corrected or authors; the run's own if absent.")
    ] = None,
    set_: options.Settings = None,
    include_images: Annotated[
        bool,
        typer.Option(
            "--include-images",
            help="Show pictures of a set that is not open, and texts of a credentialed one.",
        ),
    ] = False,
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
