"""`overread rank-sample`: replies for people to rank, to be held against the judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    run: Annotated[Path, typer.Argument(help="A run folder of medcmr with open answers.")],
    out: Annotated[Path, typer.Option("--out", help="The folder for ranks.csv.")],
    reader: Annotated[
        list[str] | None, typer.Option("--reader", help="Whose replies; all readers by default.")
    ] = None,
    n: Annotated[int, typer.Option("--n", help="How many items.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Of the sample.")] = 0,
    json: options.Json = False,
) -> int:
    """Write a sheet of replies side by side, with nobody named, for people to rank.

    Then: overread measure RUN --set ranks=SHEET.

    Example: overread rank-sample runs/medcmr-1a2b3c --n 200 --out ranks
    """
    import msgspec

    from overread.runs import rank_sample

    made = rank_sample(run, out, readers=reader or (), n=n, seed=seed)
    if made.items < n:
        options.tell(f"the run has {made.items} items that all of them answered; all are in it.")
    if json:
        print(msgspec.json.encode(made, enc_hook=str).decode())
        return 0
    print(f"{made.rows} replies to {made.items} items to rank: {made.sheet}.")
    print(f"Then: overread measure {run} --set ranks={made.sheet}")
    return 0
