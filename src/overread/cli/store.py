"""`overread store`: what is kept, having it forgotten, and stores united or served."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from overread import runs
from overread.case import BadInput, Table, printable
from overread.cli import options
from overread.cli.command_line import Argument, Option

if TYPE_CHECKING:
    from overread.engine import Merged


def _file(store: str | None, what: str) -> Path:
    place = runs.default_store(store)
    if isinstance(place, str):
        raise BadInput(f"{what} needs the file of a store: do it where the store is served from.")
    return place


def _place(store: str | None, what: str) -> Path:
    place = _file(store, what)
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

    with Store(_place(store, "forgetting"), options.tell) as kept:
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
    from overread.engine import Listed

    if not runs.is_link(runs.default_store(store)):
        _place(store, "listing")
    with runs.open_store(store, options.tell) as kept:
        rows, shown = kept.listing(), kept.shown
    table = Table(
        name="store",
        title="Kept replies",
        columns=Listed.__struct_fields__,
        rows=tuple(
            tuple(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells)
            for cells in map(msgspec.structs.astuple, rows)
        ),
        signature=shown,
    )
    return options.print_found(rows, table, json=json, wide=wide)


def merge(
    stores: Annotated[list[Path], Argument(metavar="STORE", help="The files of stores.")],
    into: Annotated[
        str | None, Option(help="The store to merge into (.overread/store.sqlite).")
    ] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Unite stores: everything that counts in them is taken into one, all of it or nothing.

    Where two have a reply to the same question, that given first stays; how many there are, and
    how many say something else, is shown: the noise of what served the model.

    Example: overread store merge .overread/store.shard-*.sqlite
    """
    from overread.engine import Store
    from overread.engine import merge as merge_stores

    with Store(_file(into, "--into"), options.tell) as kept:
        merged = merge_stores(kept, stores)
    return options.print_found(merged, *_merged_tables(merged), json=json, wide=wide)


def _merged_tables(merged: Merged) -> list[Table]:
    notes = []
    if any(one.older for one in merged.stores):
        notes.append("Count no more: the model was asked anew (--fresh) since, or in another.")
    if any(one.damaged for one in merged.stores):
        notes.append("Damaged replies were left out; they are asked for again.")
    taken = Table(
        name="merged",
        title=f"Merged into {merged.into}: {merged.replies:,} replies",
        columns=("store", "replies", "taken", "there already", "count no more", "damaged"),
        rows=tuple(
            (s.store, *(f"{n:,}" for n in (s.replies, s.taken, s.equal, s.older, s.damaged)))
            for s in merged.stores
        ),
        notes=tuple(notes),
        signature=merged.into,
    )
    if not merged.readers:
        return [taken]
    notes = []
    for one in merged.readers:
        for example in one.examples:
            said = f'"{example.stays}", and "{example.goes}"' * bool(example.stays or example.goes)
            notes.append(f"{one.reader}: {example.key}… {said}".rstrip())
    notes.append("Sampled replies differ by nature; greedy ones by the noise of what served them.")
    again = Table(
        name="equal",
        title="The same question asked in two stores",
        columns=("reader", "equal keys", "texts differ"),
        rows=tuple((o.reader, f"{o.equal:,}", f"{o.differing:,}") for o in merged.readers),
        notes=tuple(notes),
        signature="the reply given first stays",
    )
    return [taken, again]


def serve(
    store: options.StoreFile = None,
    host: Annotated[
        str, Option(help="A loopback or private address of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(help="0 takes one that is free.")] = 8717,
    name: Annotated[
        list[str] | None, Option(help="A name clients reach it by, as the certificate has it.")
    ] = None,
    tls_cert: Annotated[Path | None, Option(help="A certificate, PEM.")] = None,
    tls_key: Annotated[Path | None, Option(help="Its key, PEM.")] = None,
) -> int:
    """Serve a store to other hosts of this network until Ctrl-C; prints the link for --store.

    The same link opens it after a restart: the token is kept beside the store.

    Example: overread store serve --host 10.0.0.5
    """

    def listens(origin: str, token: str) -> None:
        print(f"{origin}/?token={token}", flush=True)
        options.tell(f"or --store {origin}, with the token in OVERREAD_STORE_TOKEN.")

    runs.serve_store(
        store,
        host=host,
        port=port,
        names=name or (),
        cert=tls_cert,
        key=tls_key,
        listens=listens,
        tell=options.tell,
    )
    options.tell("stopped. What was committed is kept; clients wait for it to come back.")
    return 0
