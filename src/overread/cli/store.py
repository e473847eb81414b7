"""`overread store`: what is kept, and having it forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.case import BadInput, Table, printable
from overread.cli import options

__all__ = ["app"]

app = typer.Typer(
    help="The reply store: what is kept, and having it forgotten.",
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _place(store: Path | None) -> Path:
    from overread.runs import default_store, load_config

    place = store if store is not None else default_store(load_config())
    if not place.exists():
        raise BadInput(f"{place}: there is no reply store. Give one with --store.")
    return place


@app.command("forget")
def forget(
    dataset: Annotated[str, typer.Argument(help="A data set, as `overread store list` names it.")],
    store: options.StoreFile = None,
    json: options.Json = False,
) -> int:
    """Delete every reply of a data set and vacuum the file.

    Example: overread store forget my-hospital@3f9a21bc
    """
    import msgspec

    from overread.engine import Store

    with Store(_place(store)) as kept:
        removed, names = kept.forget(dataset)
        if not names:
            known = ", ".join(sorted({row[1] for row in kept.datasets()})) or "nothing"
            raise BadInput(f'"{dataset}" is not in the store, which holds: {known}.')
    if json:
        print(msgspec.json.encode({"datasets": names, "removed": removed}).decode())
    else:
        print(printable(f"forgot {', '.join(names)}: {removed:,} replies deleted"))
    return 0


@app.command("list")
def list_(store: options.StoreFile = None, json: options.Json = False) -> int:
    """List the data sets whose replies are kept.

    Example: overread store list
    """
    import msgspec

    from overread.cli.show import print_table
    from overread.engine import Store

    place = _place(store)
    with Store(place) as kept:
        rows = kept.datasets()
    columns = ("benchmark", "dataset", "policy", "replies")
    if json:
        listed = [dict(zip(columns, row, strict=True)) for row in rows]
        print(msgspec.json.encode(listed).decode())
        return 0
    cells = tuple((a, b, c, f"{d:,}") for a, b, c, d in rows)
    title = "Kept replies"
    print_table(Table(name="store", title=title, columns=columns, rows=cells, signature=str(place)))
    return 0
