"""`overread store`: what is kept, and having it forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from typer import Argument, Option

from overread import runs
from overread.case import BadInput, Table, printable
from overread.cli import options
from overread.cli.show import print_table

app = typer.Typer(
    help="The reply store: what is kept, and having it forgotten.",
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _place(store: Path | None) -> Path:
    place = store if store is not None else runs.default_store(runs.load_config())
    if not place.exists():
        raise BadInput(f"{place}: there is no reply store. Give one with --store.")
    return place


@app.command("forget")
def forget(
    dataset: Annotated[
        str | None, Argument(help="A data set, as `overread store list` names it.")
    ] = None,
    reader: Annotated[
        str | None, Option(help="Only the replies of this reader, by its label.")
    ] = None,
    store: options.StoreFile = None,
    json: options.Json = False,
) -> int:
    """Delete every reply of a data set, of a reader, or of both, and vacuum the file.

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


@app.command("list")
def list_(store: options.StoreFile = None, json: options.Json = False) -> int:
    """List whose replies are kept, about which data sets, and when they were given.

    Example: overread store list
    """
    from overread.engine import Listed, Store

    place = _place(store)
    with Store(place, options.tell) as kept:
        rows = kept.listing()
    if json:
        return options.print_json(rows)
    columns = Listed.__struct_fields__
    cells = tuple(
        tuple(
            f"{cell:,}" if isinstance(cell, int) else cell for cell in msgspec.structs.astuple(row)
        )
        for row in rows
    )
    title = "Kept replies"
    print_table(Table(name="store", title=title, columns=columns, rows=cells, signature=str(place)))
    return 0
