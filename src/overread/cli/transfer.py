"""`overread transfer`: do the numbers of one set of cases hold on another?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    first: Annotated[Path, typer.Argument(help="A grounding run folder.")],
    second: Annotated[Path, typer.Argument(help="Another, of the same readers.")],
    json: options.Json = False,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Also draw UAR against UAR (svg, png, pdf).")
    ] = None,
) -> int:
    """Each reader's rates in two runs, and their rank correlation over the readers.

    Example: overread transfer runs/mimic runs/chexpert
    """
    import msgspec

    from overread.cli.show import print_table
    from overread.runs import transfer

    found = transfer(first, second)
    if figure is not None:
        from overread.benchmarks.grounding.exhibits import transfer_figure

        drawn = [(reader, x, y) for reader, name, x, y in found.pairs if name == "uar"]
        transfer_figure(drawn, names=(str(first), str(second))).save(figure)
    if json:
        print(msgspec.json.encode(found).decode())
        return 0
    print_table(found.table)
    return 0
