"""`overread`: the commands gathered, and the one place where errors become exit codes.

0 done, 1 a check failed, 2 bad input or usage (one line, nothing written), 3 finished with
unanswered trials. Modules that compute are imported inside the commands, so that help is instant.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

from overread import __version__
from overread.case import BadInput
from overread.cli import (
    demo,
    doctor,
    imports,
    measure,
    plan,
    run,
    selfcheck,
    sight,
    store,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="overread",
    help="The second reading for medical vision-language models.\n\n"
    "Evaluation software, not a medical device; a passed gate is not a clearance.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"overread {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    pass


app.command("demo")(demo.command)
app.command("run")(run.command)
app.command("plan")(plan.command)
app.command("measure")(measure.command)
app.command("import")(imports.command)
app.command("selfcheck")(selfcheck.command)
app.command("sight")(sight.command)
app.command("doctor")(doctor.command)
app.add_typer(store.app, name="store")


def main() -> NoReturn:
    """Run a command; every foreseeable trouble ends as one line and an exit code."""
    try:
        code = app(standalone_mode=False)
    except BadInput as error:
        _leave(str(error), 2)
    except KeyboardInterrupt:
        _leave("interrupted. Replies already received are kept; run the same command again.", 3)
    except BrokenPipeError:
        sys.exit(0)  # the reader of our output had enough
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the command-line library
            _leave(f"{error.format_message().rstrip('.')}. See --help.", 2)
        if type(error).__name__ == "Unfinished":
            _leave(str(error), 3)
        if type(error).__name__ == "Abort":
            _leave("aborted.", 3)
        raise
    sys.exit(code if isinstance(code, int) else 0)


def _leave(message: str, code: int) -> NoReturn:
    print(f"overread: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
