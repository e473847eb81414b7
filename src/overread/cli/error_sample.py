"""`overread error-sample`: answers for a person to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    run: Annotated[Path, typer.Argument(help="A run folder of medcmr or grounding.")],
    reader: Annotated[str, typer.Option("--reader", help="Whose answers.")],
    out: Annotated[Path, typer.Option("--out", help="The folder for the sheet, and errors.html.")],
    per_dimension: Annotated[
        int,
        typer.Option("--per-dimension", help="How many of each dimension, or finding, at most."),
    ] = 100,
    right_for: Annotated[
        str | None, typer.Option("--right-for", help="Only items this other reader got right.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the sample.")] = 0,
    json: options.Json = False,
) -> int:
    """Write a sheet of errors, and a page on which a person labels them and saves the sheet.

    Then: overread measure RUN --set errors=SHEET. Of grounding: a sheet, ungrounded.csv, of right
    answers that stayed when the finding was hidden.

    Example: overread error-sample runs/medcmr-1a2b3c --reader qwen3-vl --out errors
    """
    import msgspec

    from overread.runs import error_sample

    made = error_sample(
        run, out, reader=reader, per_dimension=per_dimension, right_for=right_for, seed=seed
    )
    if json:
        print(msgspec.json.encode(made, enc_hook=str).decode())
        return 0
    if made.page is None:
        print(f"{made.rows} right answers stayed with their finding hidden: {made.sheet}")
        return 0
    print(f"{made.rows} errors to label: open {made.page} in a browser, or fill {made.sheet}.")
    print(f"Then: overread measure {run} --set errors={made.sheet}")
    return 0
