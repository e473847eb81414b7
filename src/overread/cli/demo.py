"""`overread demo`: what the instrument shows, on patients that never lived."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")] = Path(
        "overread-demo"
    ),
    json: options.Json = False,
) -> int:
    """Run the benchmarks on phantoms with the built-in controls; ends with the report's path.

    Example: overread demo --out demo
    """
    from overread.cli.show import watch
    from overread.records import check_out
    from overread.runs import STANDARD_PHANTOMS, open_cases, run

    check_out(out)
    print("making phantom radiographs (once) …", file=sys.stderr)
    controls = open_cases("grounding", STANDARD_PHANTOMS, "corrected", {}).controls()
    done = run(
        "grounding",
        STANDARD_PHANTOMS,
        [f"control:{name}" for name in controls],
        out=out,
        watch=watch,
    )
    return options.finish([done], json=json)
