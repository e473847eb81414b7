"""`overread import`: results made with the papers' own scripts become a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from overread.case import BadInput
from overread.cli import options

__all__ = ["command"]


def command(
    benchmark: Annotated[str, typer.Argument(help="A benchmark: grounding.")],
    replies: Annotated[
        Path | None, typer.Option("--replies", help="Folder with MODEL/CONDITION.csv.")
    ] = None,
    cases: options.Cases = None,
    readers: Annotated[
        Path | None, typer.Option("--readers", help="models.json: role of each model.")
    ] = None,
    edition: options.Edition = "corrected",
    out: options.Out = None,
    set_: options.Settings = None,
    reparse: Annotated[
        bool, typer.Option("--reparse", help="Read raw_answer again with the edition's parser.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", help="Further results: px=512:FOLDER or phrasing=brief:FOLDER."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Make a run of recorded results. No model is asked and no image need exist.

    Example: overread import grounding --cases manifest.csv --replies results --out imported
    """
    for name, value in (("--cases", cases), ("--replies", replies), ("--out", out)):
        if value is None:
            raise BadInput(f"{name} is missing. See overread import --help for an example.")
    assert cases is not None
    assert replies is not None
    assert out is not None

    from overread.runs import import_results

    done, warnings = import_results(
        benchmark,
        cases=cases,
        replies=replies,
        readers=readers,
        out=out,
        edition=edition,
        settings=options.settings_from(set_),
        reparse=reparse,
        also=also or (),
    )
    for warning in warnings:
        print(f"overread: {warning}", file=sys.stderr)
    return options.finish([done], json=json)
