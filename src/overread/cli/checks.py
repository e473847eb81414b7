"""`overread selfcheck`, `sight`, `doctor`, `store`: the instrument, a reader, what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from overread import runs
from overread.case import BadInput, Table, printable
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


def _place(store: str | None) -> Path:
    place = runs.default_store(store)
    if isinstance(place, str):
        raise BadInput(f"{place}: FIXME")
    if not place.exists():
        raise BadInput(f"{place}: there is no reply store. Give one with --store.")
    return place


def forget(
    dataset: Annotated[
        str | None, Argument(help="A data set, as `overread store list` names it.")
    ] = None,
    reader: Annotated[
        str | None, Option(help="Only the replies of this model, by its label.")
    ] = None,
    store: options.StoreFile = None,
    json: options.Json = False,
) -> int:
    """Delete every reply of a data set, of a model, or of both, and vacuum the file.

    Example: overread store forget my-hospital@3f9a21bc
    """
    if dataset is None and reader is None:
        raise BadInput("nothing to forget was named. Give a data set, or a reader with --reader.")
    from overread.engine import Store

    with Store(_place(store), options.tell) as kept:
        removed, names = kept.forget(dataset, reader)
        if not names:
            rows = kept.listing()
            held = {row.dataset for row in rows} if reader is None else {row.reader for row in rows}
            known = ", ".join(sorted(held - {""})) or "nothing"
            missing = " of ".join(f'"{one}"' for one in (reader, dataset) if one is not None)
            raise BadInput(f"{missing} is not in the store, which holds: {known}.")
    if json:
        what = "datasets" if reader is None else "readers"
        options.print_json({what: names, "removed": removed})
    else:
        print(printable(f"forgot {', '.join(names)}: {removed:,} replies deleted"))
    return 0


def list_kept(
    store: options.StoreFile = None, wide: options.Wide = False, json: options.Json = False
) -> int:
    """List whose replies are kept, about which data sets, and when they were given.

    Example: overread store list
    """
    from overread.engine import Listed, Store

    place = _place(store)
    with Store(place, options.tell) as kept:
        rows = kept.listing()
    table = Table(
        name="store",
        title="Kept replies",
        columns=Listed.__struct_fields__,
        rows=tuple(
            tuple(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells)
            for cells in map(msgspec.structs.astuple, rows)
        ),
        signature=str(place),
    )
    return options.print_found(rows, table, json=json, wide=wide)
