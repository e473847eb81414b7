"""`overread doctor`: what is here, what is missing, and what to do about it."""

from __future__ import annotations

from typing import Annotated

import typer

from overread.case import printable
from overread.cli import options

__all__ = ["command"]


def command(
    reader: options.Readers = None,
    cases: Annotated[
        list[str] | None,
        typer.Option("--cases", help="Cases to look at, pictures and clips too. Repeatable."),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option("--benchmark", help="Whose cases they are; else the first that takes them."),
    ] = None,
    set_: options.Settings = None,
    store: options.StoreFile = None,
    json: options.Json = False,
) -> int:
    """Check the installation, the store, data folders and servers; exits 1 if something is wrong.

    Example: overread doctor --cases EchoNet-Dynamic --reader openai:m@http://127.0.0.1:8000/v1
    """
    import msgspec

    from overread.runs import examine

    findings = examine(
        readers=reader or [],
        cases=cases or [],
        store=store,
        benchmark=benchmark,
        settings=options.settings_from(set_),
    )
    if json:
        print(msgspec.json.encode(findings).decode())
    else:
        for finding in findings:
            mark = {"ok": "ok     ", "note": "note   ", "wrong": "WRONG  "}[finding.state]
            print(printable(f"{mark}{finding.what}: {finding.detail}"))
    return 1 if any(f.state == "wrong" for f in findings) else 0
