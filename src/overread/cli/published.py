"""`overread published`: what the papers print, with what does not add up flagged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.case import BadInput
from overread.cli import options

__all__ = ["command"]


def command(
    benchmark: Annotated[
        str | None, typer.Argument(help="A benchmark; without one, those that have figures.")
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="One printed table, as 2, S5 or systems.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--beside", help="A run folder whose readers are put beside. Repeatable."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Print the figures of a benchmark's paper; rows that do not add up are flagged.

    Example: overread published grounding --beside runs/my-run
    """
    if benchmark is None and (table is not None or beside):
        raise BadInput("name a benchmark, as in: overread published grounding --table S5")

    import msgspec

    from overread.cli.show import print_table
    from overread.runs import published_figures, published_list

    if benchmark is None:
        listed = published_list()
        if json:
            print(msgspec.json.encode([row[0] for row in listed.rows]).decode())
        else:
            print_table(listed)
        return 0
    found = published_figures(benchmark, table=table, beside=beside or [])
    if json:
        plain = msgspec.structs.asdict(found)
        del plain["exhibits"]  # the same numbers, ready to print
        print(msgspec.json.encode(plain).decode())
        return 0
    for exhibit in found.exhibits:
        print_table(exhibit)
    return 0
