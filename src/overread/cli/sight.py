"""`overread sight`: does this reader really receive pixels?"""

from __future__ import annotations

from typing import Annotated

import typer

from overread.case import printable
from overread.cli import options

__all__ = ["command"]


def command(
    reader: Annotated[str, typer.Argument(help="A reader spec, as openai:MODEL@URL.")],
    seed: Annotated[int, typer.Option("--seed", help="Seed of the digits.")] = 0,
    clips: Annotated[
        bool, typer.Option("--clips", help="Show clips: does every frame arrive?")
    ] = False,
    json: options.Json = False,
) -> int:
    """Show a reader random digits and say whether pictures arrive.

    Says one of: arrives and reads, arrives, does not arrive, cannot tell. With --clips, a digit
    in each frame: all frames arrive, thinned, does not arrive, cannot tell. Exits 0 when pictures,
    or all frames, arrive and 1 otherwise.

    Example: overread sight openai:qwen3-vl@http://127.0.0.1:8000/v1
    """
    import msgspec

    from overread.runs import sight, sight_of_clips

    result = sight_of_clips(reader, seed=seed) if clips else sight(reader, seed=seed)
    if json:
        print(msgspec.json.encode(result).decode())
    else:
        print(printable(f"{result.reader}: {result.verdict}"))
        for line in result.evidence:
            print(printable(f"  {line}"))
    return 0 if result.verdict.startswith(("arrives", "all frames arrive")) else 1
