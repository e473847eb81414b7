"""`overread demo`: what the instrument shows, on patients that never lived."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")] = Path(
        "overread-demo"
    ),
    json: options.Json = False,
) -> int:
    """Run the benchmarks on phantoms with the built-in controls; ends with the report's path.

    Example: overread demo --out demo
    """
    from overread.cli.show import watch
    from overread.runs import demo

    code = options.finish(demo(out, watch=watch, tell=options.tell), json=json)
    if not json:
        print(f"All of it on one page: {out / 'report.html'}", flush=True)
    return code
