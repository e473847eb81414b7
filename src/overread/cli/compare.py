"""`overread compare`, `transfer`, `gate`, `published`: runs beside runs, a policy, a paper."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from typer import Argument, Option

import overread.runs
from overread.case import BadInput, printable
from overread.cli import options
from overread.cli.show import print_table

if TYPE_CHECKING:
    from overread.report.gate import Gated


def compare(
    runs: Annotated[list[Path], Argument(help="Run folders; one has pairs of its own.")],
    measure: Annotated[list[str] | None, Option(help="Only this measure. Repeatable.")] = None,
    reader: Annotated[
        list[str] | None, Option(help="Only these readers; one alone is held against all others.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Compare readers case by case, within a run and across runs of one data set.

    Example: overread compare runs/before runs/after --measure accuracy
    """
    found = overread.runs.compare(runs, measures=measure or [], readers=reader or []).found
    if json:
        plain = [msgspec.structs.asdict(one) for one in found]
        for one in plain:
            del one["table"]  # the same numbers, ready to print
        return options.print_json({"found": plain})
    for comparison in found:
        print_table(comparison.table)
        for line in comparison.lines:
            print(printable(line))
    return 0


def transfer(
    first: options.Folder,
    second: Annotated[Path, Argument(help="Another, of the same readers.")],
    json: options.Json = False,
    figure: Annotated[
        Path | None, Option(help="Also draw the one against the other (svg, png, pdf).")
    ] = None,
) -> int:
    """Each reader's rates in two runs, and their rank correlation over the readers.

    Example: overread transfer runs/mimic runs/chexpert
    """
    found = overread.runs.transfer(first, second)
    if figure is not None:
        overread.runs.transfer_figure(found).save(figure)
    if json:
        return options.print_json(found)
    print_table(found.table)
    return 0


def gate(
    runs: Annotated[list[Path], Argument(metavar="RUN", help="Run folders.")],
    policy: Annotated[Path, Option(help="The rules, a TOML file.")],
    reader: Annotated[
        list[str] | None, Option(help='A reader that "*" stands for; all of them if absent.')
    ] = None,
    junit: Annotated[Path | None, Option(help="Write JUnit XML to this file, too.")] = None,
    json: options.Json = False,
) -> int:
    """Hold runs against a policy: exit 0 pass, 1 fail, 4 the data cannot tell.

    A passed gate is not a clearance. docs/gate.example.toml says how a policy is written.

    Example: overread gate runs/grounding runs/heartbeat --policy gate.toml --junit gate.xml
    """
    gated = overread.runs.gate(runs, policy, readers=reader or [], junit_file=junit)
    try:
        _print_gated(gated, json=json)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the second is what rich makes of the first
        # Elsewhere a reader that had enough of our output is no trouble and leaves 0. Here 0 says
        # that the gate is passed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return gated.exit_code


def _print_gated(gated: Gated, *, json: bool) -> None:
    from overread.report.gate import one_line, rulings_tables, verdict

    if json:
        options.print_json(gated)
        return
    print(one_line(gated.title))
    for table in rulings_tables(gated):
        print()
        print_table(table)
    print()
    print(gated.disclaimer)
    print(verdict(gated))


def published(
    benchmark: Annotated[
        str | None, Argument(help="A benchmark; without one, those that have figures.")
    ] = None,
    table: Annotated[str | None, Option(help="One printed table, as 2, S5 or systems.")] = None,
    beside: Annotated[
        list[Path] | None, Option(help="A run folder whose readers are put beside. Repeatable.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Print the figures of a benchmark's paper; rows that do not add up are flagged.

    Example: overread published grounding --beside runs/my-run
    """
    if benchmark is None and (table is not None or beside):
        raise BadInput("name a benchmark. Example: overread published grounding --table S5")
    if benchmark is None:
        listed = overread.runs.published_list()
        if json:
            return options.print_json([row[0] for row in listed.rows])
        print_table(listed)
        return 0
    found = overread.runs.published_figures(benchmark, table=table, beside=beside or [])
    if json:
        plain = msgspec.structs.asdict(found)
        del plain["exhibits"]  # the same numbers, ready to print
        return options.print_json(plain)
    for exhibit in found.exhibits:
        print_table(exhibit)
    return 0
