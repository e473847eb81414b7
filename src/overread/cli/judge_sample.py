"""`overread judge-sample`: a person judges some of what the judges judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.case import BadInput
from overread.cli import options

__all__ = ["command"]


def command(
    run: Annotated[Path, typer.Argument(help="A run folder with judges.")],
    n: Annotated[int, typer.Option("--n", help="How many things to judge.")] = 50,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder for sheet.csv and key.csv.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the sample, and of resampling.")] = 0,
    filled: Annotated[
        Path | None, typer.Option("--filled", help="The sheet, filled by the person.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The key of that sheet.")] = None,
    json: options.Json = False,
) -> int:
    """Write a sheet for a person; or, with --filled and --key, print how the judges agree with it.

    Example: overread judge-sample runs/m3cot-phantom-questions-1a2b3c --n 50 --out sample
    """
    import msgspec

    from overread.cli.show import print_table
    from overread.runs import judge_sample, person_agreement

    if out is not None and (filled is not None or key is not None):
        raise BadInput("--out writes a sheet, --filled and --key compare one. Give one of the two.")
    if out is not None:
        made = judge_sample(run, out, n=n, seed=seed)
        if made.rows < n:
            options.tell(f"the run has {made.rows} things judged; all of them are in the sheet.")
        if json:
            print(msgspec.json.encode(made, enc_hook=str).decode())
            return 0
        print(f"{made.rows} rows to judge: {made.sheet}. Leave {made.key} closed until it is done.")
        return 0
    if filled is None or key is None:
        raise BadInput(
            "give --out FOLDER to write a sheet, or --filled SHEET and --key KEY to compare one."
        )
    found = person_agreement(run, filled, key, seed=seed)
    if json:
        print(msgspec.json.encode(found).decode())
        return 0
    print_table(found.table)
    return 0
