"""`overread selfcheck`: the instrument checks itself."""

from __future__ import annotations

from typing import Annotated

import typer

from overread.case import Table
from overread.cli import options

__all__ = ["command"]


def command(
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of the phantom set.")
    ] = 0,
    json: options.Json = False,
) -> int:
    """Every control must be recovered as what it is; exits 1 when one is not.

    Example: overread selfcheck --seed 3
    """
    import msgspec

    from overread.cli.show import print_table, watch
    from overread.runs import selfcheck

    findings, signature = selfcheck(seed=seed, watch=watch)
    failed = [f for f in findings if not f.recovered]
    if json:
        print(msgspec.json.encode(findings).decode())
        return 1 if failed else 0
    notes = [
        f"The published rule misplaces {f.control}: it says {f.authors}."
        for f in findings
        if f.authors != f.expected
    ]
    print_table(
        Table(
            name="selfcheck",
            title="Controls, and what the instrument takes them for",
            columns=("control", "is", "found", "published rule", ""),
            rows=tuple(
                (f.control, f.expected, f.found, f.authors, "ok" if f.recovered else "WRONG")
                for f in findings
            ),
            notes=tuple(f"{f.control}: {f.note}" for f in findings if f.note) + tuple(notes),
            signature=signature,
        )
    )
    print(f"{len(findings) - len(failed)} of {len(findings)} controls recovered")
    return 1 if failed else 0
