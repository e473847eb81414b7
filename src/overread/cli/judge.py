"""`overread judge`: judges judge a run that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli import options

__all__ = ["command"]


def command(
    run: Annotated[Path, typer.Argument(help="A run folder, of run or of import.")],
    judge: options.Judges = None,
    store: options.StoreFile = None,
    set_: options.Settings = None,
    concurrency: options.Concurrency = None,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> int:
    """Have a finished or imported run judged, and measure it again. No reader is asked.

    Judges that judged it before stay; verdicts are kept, and resumed by the same command.

    Example: overread judge imported --judge control:lexical-judge
    """
    from overread.cli.show import watch
    from overread.runs import judge as have_judged

    done = have_judged(
        run,
        judge or [],
        store=store,
        settings=options.settings_from(set_),
        concurrency=concurrency,
        fresh=fresh,
        watch=watch,
        tell=options.tell,
    )
    return options.finish([done], json=json, judged=True, fresh=fresh)
