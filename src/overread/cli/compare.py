"""`overread compare`: readers against readers on the same cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.case import printable
from overread.cli import options

__all__ = ["command"]


def command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; one has pairs of its own.")],
    measure: Annotated[
        list[str] | None, typer.Option("--measure", help="Only this measure. Repeatable.")
    ] = None,
    reader: Annotated[
        list[str] | None,
        typer.Option("--reader", help="Only these readers; one alone is held against all others."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Compare readers case by case, within a run and across runs of one data set.

    Example: overread compare runs/before runs/after --measure accuracy
    """
    import msgspec

    from overread.cli.show import print_table
    from overread.runs import compare

    found = compare(runs, measures=measure or [], readers=reader or []).found
    if json:
        plain = [msgspec.structs.asdict(one) for one in found]
        for one in plain:
            del one["table"]  # the same numbers, ready to print
        print(msgspec.json.encode({"found": plain}).decode())
        return 0
    for comparison in found:
        print_table(comparison.table)
        for line in comparison.lines:
            print(printable(line))
    return 0
