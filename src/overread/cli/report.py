"""`overread report`: run folders become one page, and files for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The page: report.html in the only run, or here."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="A folder for tables and measures as csv.")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option("--latex", help="A folder for tables with booktabs.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="A folder for figures: SVG, PDF, PNG.")
    ] = None,
    include_images: Annotated[
        bool,
        typer.Option(
            "--include-images",
            help="Show pictures of a set that is not open, and texts of a credentialed one.",
        ),
    ] = False,
    cases: Annotated[
        int | None, typer.Option("--cases", help="How many cases the page embeds (60).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the sample of cases.")] = 0,
    json: options.Json = False,
) -> int:
    """Write one page of some runs that opens from disk, and files for a paper.

    Example: overread report runs/grounding-phantom-chest-1a2b3c --latex tables --figures figures
    """
    import msgspec

    from overread.runs import report

    wanted = {} if cases is None else {"cards": cases}
    done = report(
        runs,
        out,
        include_images=include_images,
        csv=csv,
        latex=latex,
        figures=figures,
        seed=seed,
        tell=options.tell,
        **wanted,
    )
    if json:
        print(msgspec.json.encode(done, enc_hook=str).decode())
        return 0
    for kind, files in done.files.items():
        print(f"{kind}: {len(files)} files in {files[0].parent}")
    print(done.page, flush=True)
    return 0
