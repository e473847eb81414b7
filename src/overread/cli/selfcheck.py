"""`overread selfcheck`: the instrument checks itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from overread.case import Table
from overread.cli import options

if TYPE_CHECKING:
    from overread.runs import Checked

__all__ = ["command"]


def command(
    benchmark: Annotated[
        str | None, typer.Argument(help="A benchmark; all of them by default.")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of the phantom sets.")
    ] = 0,
    json: options.Json = False,
) -> int:
    """Every control must be recovered as what it is; exits 1 when one is not.

    Example: overread selfcheck --seed 3
    """
    import msgspec

    from overread.cli.show import print_table, watch
    from overread.runs import selfcheck

    findings: list[Checked] = []
    for part in selfcheck(benchmark, seed=seed, watch=watch, tell=options.tell):
        findings.extend(part)
        if not json:
            print_table(_table(part))
    failed = [f for f in findings if not f.recovered]
    if json:
        print(msgspec.json.encode(findings).decode())
    else:
        print(f"{len(findings) - len(failed)} of {len(findings)} controls recovered")
    return 1 if failed else 0


def _table(findings: list[Checked]) -> Table:
    notes = [f"{f.control}: {f.note}" for f in findings if f.note]
    notes += [
        f"The published rules misplace {f.control}: they say {f.authors}."
        for f in findings
        if f.authors != f.expected
    ]
    return Table(
        name="selfcheck",
        title=f"Controls of {findings[0].benchmark}, and what the instrument takes them for",
        columns=("control", "is", "found", "published rules", ""),
        rows=tuple(
            (f.control, f.expected, f.found, f.authors, "ok" if f.recovered else "WRONG")
            for f in findings
        ),
        notes=tuple(notes),
        signature=findings[0].signature,
    )
