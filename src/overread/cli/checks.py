"""`overread selfcheck`, `sight`, `doctor`: the instrument, a reader, the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from overread import runs
from overread.case import Table, printable
from overread.cli import options
from overread.cli.command_line import Argument, Option
from overread.cli.show import print_table, watch

if TYPE_CHECKING:
    from overread.runs import Checked


def selfcheck(
    benchmark: Annotated[str | None, Argument(help="A benchmark; all of them by default.")] = None,
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="Seed of the phantom sets.")] = 0,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Every control must be recovered as what it is; exits 1 when one is not.

    Example: overread selfcheck --seed 3
    """
    findings: list[Checked] = []
    for part in runs.selfcheck(benchmark, seed=seed, watch=watch, tell=options.tell):
        findings.extend(part)
        if not json:
            print_table(_recovery_table(part), wide=wide)
    failed = [f for f in findings if not f.recovered]
    if json:
        options.print_json(findings)
    else:
        print(f"{len(findings) - len(failed)} of {len(findings)} controls recovered")
    return 1 if failed else 0


def _recovery_table(findings: list[Checked]) -> Table:
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


def sight(
    reader: Annotated[str, Argument(help="A model's spec, as openai:MODEL@URL.")],
    seed: Annotated[int, Option(help="Seed of the digits.")] = 0,
    clips: Annotated[bool, Option("--clips", help="Show clips: does every frame arrive?")] = False,
    json: options.Json = False,
) -> int:
    """Show a model random digits and say whether pictures arrive.

    Says one of: arrives and reads, arrives, does not arrive, cannot tell. With --clips, a digit
    in each frame: all frames arrive, thinned, does not arrive, cannot tell. Exits 0 when pictures,
    or all frames, arrive and 1 otherwise.

    Example: overread sight openai:qwen3-vl@http://127.0.0.1:8000/v1
    """
    result = (runs.sight_of_clips if clips else runs.sight)(reader, seed=seed)
    if json:
        options.print_json(result)
    else:
        print(printable(f"{result.reader}: {result.verdict}"))
        for line in result.evidence:
            print(printable(f"  {line}"))
    return 0 if result.verdict.startswith(("arrives", "all frames arrive")) else 1


def doctor(
    reader: options.Readers = None,
    cases: Annotated[
        list[str] | None, Option(help="Cases to look at, pictures and clips too. Repeatable.")
    ] = None,
    benchmark: Annotated[
        str | None, Option(help="Whose cases they are; else the first that takes them.")
    ] = None,
    set_: options.Settings = None,
    store: options.StoreFile = None,
    json: options.Json = False,
) -> int:
    """Check the installation, the store, data folders and servers; exits 1 if something is wrong.

    Example: overread doctor --cases EchoNet-Dynamic --reader openai:m@http://127.0.0.1:8000/v1
    """
    findings = runs.examine(
        readers=reader or [],
        cases=cases or [],
        store=store,
        benchmark=benchmark,
        settings=options.settings_from(set_),
    )
    if json:
        options.print_json(findings)
    else:
        for finding in findings:
            mark = {"ok": "ok     ", "note": "note   ", "wrong": "WRONG  "}[finding.state]
            print(printable(f"{mark}{finding.what}: {finding.detail}"))
    return 1 if any(f.state == "wrong" for f in findings) else 0
