"""`overread gate`: does a reader meet a policy?"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli import options

if TYPE_CHECKING:
    from overread.report.gate import Gated

__all__ = ["command"]


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders.")],
    policy: Annotated[Path, typer.Option("--policy", help="The rules, a TOML file.")],
    reader: Annotated[
        list[str] | None,
        typer.Option("--reader", help='A reader that "*" stands for; all of them if absent.'),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write JUnit XML to this file, too.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Hold runs against a policy: exit 0 pass, 1 fail, 4 the data cannot tell.

    A passed gate is not a clearance. docs/gate.example.toml says how a policy is written.

    Example: overread gate runs/grounding runs/heartbeat --policy gate.toml --junit gate.xml
    """
    from overread.runs import gate

    gated = gate(runs, policy, readers=reader or [], junit_file=junit)
    try:
        _print(gated, json=json)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the second is what rich makes of the first
        # Elsewhere a reader that had enough of our output is no trouble and leaves 0. Here 0 says
        # that the gate is passed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return gated.exit_code


def _print(gated: Gated, *, json: bool) -> None:
    import msgspec

    from overread.cli.show import print_table
    from overread.report.gate import one_line, rulings_tables, verdict

    if json:
        print(msgspec.json.encode(gated).decode())
        return
    print(one_line(gated.title))
    for table in rulings_tables(gated):
        print()
        print_table(table)
    print()
    print(gated.disclaimer)
    print(verdict(gated))
