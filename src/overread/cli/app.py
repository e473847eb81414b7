"""`overread`: the commands gathered, and the one place where errors become exit codes.

0 done, 1 a check failed, 2 bad input or usage (one line, nothing written), 3 finished with
unanswered trials, 4 the data cannot tell. Modules that compute are imported inside the commands,
so that help is instant.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

import typer

from overread import __version__
from overread.case import BadInput
from overread.cli import build, checks, finished, power, probe, run
from overread.cli.options import tell
from overread.cli.show import write_no_more

__all__ = ["app", "main"]

_OTHER_STORE = "Make room if the disk is full; else give another file with --store."

app = typer.Typer(
    name="overread",
    help="The second reading for medical vision-language models.\n\n"
    "Evaluation software, not a medical device; a passed gate is not a clearance.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"overread {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


_COMMANDS: Final[Mapping[str, Callable[..., int]]] = {
    "demo": run.demo,
    "build": build.build,
    "run": run.run,
    "plan": run.plan,
    "power": power.power,
    "measure": run.measure,
    "report": finished.report,
    "serve": finished.serve,
    "compare": finished.compare,
    "import": run.import_results,
    "judge": run.judge,
    "judge-sample": finished.judge_sample,
    "error-sample": finished.error_sample,
    "rank-sample": finished.rank_sample,
    "transfer": finished.transfer,
    "gate": finished.gate,
    "selfcheck": checks.selfcheck,
    "sight": checks.sight,
    "doctor": checks.doctor,
    "published": finished.published,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
app.add_typer(checks.store_app, name="store")
app.add_typer(probe.probe_app, name="probe")


def main() -> NoReturn:
    """Run a command; every foreseeable trouble ends as one line and an exit code."""
    # Cases and records hold no cycles, and looking for some among all of them takes a tenth of the
    # time of large runs: it is looked for less often.
    gc.set_threshold(100_000, 20, 20)
    _prepare_streams()
    try:
        "".join(sys.argv).encode()
    except UnicodeEncodeError:
        _leave("an argument is not UTF-8. Use a UTF-8 locale, as LC_ALL=C.UTF-8.", 2)
    try:
        code = app(standalone_mode=False)
        if code == 130:  # what the command-line library makes of a KeyboardInterrupt
            raise KeyboardInterrupt
        sys.stdout.flush()
    except KeyboardInterrupt:
        again = "without --fresh" if "--fresh" in sys.argv else "again"
        _leave(
            "interrupted. Nothing is half written, and replies already received are kept. "
            f"Run the same command {again}.",
            3,
        )
    except SystemExit as left:
        # The command-line library turns a broken pipe into 1, which here means a failed check.
        code = 0 if isinstance(left.__context__, BrokenPipeError) else left.code
    except Exception as error:
        _explain(error)
        raise
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: BaseException) -> None:
    """Leave with one line if the error is of a kind that has one.

    Kinds whose modules are slow to import are known by their names.
    """
    while isinstance(error, BaseExceptionGroup):  # from readers that were asked at once
        error = error.exceptions[0]
    kind = type(error).__name__
    if isinstance(error, BrokenPipeError):  # the reader of our output had enough
        write_no_more()
        sys.exit(0)
    if isinstance(error, BadInput):
        _leave(str(error), 2)
    if hasattr(error, "format_message"):  # a usage error of the command-line library
        _leave(f"{error.format_message().rstrip('.')}. See --help.", 2)
    if kind in ("Unfinished", "Abort"):
        _leave(str(error) or "aborted.", 3)
    if type(error).__module__ == "sqlite3" and "locked" in str(error):
        _leave("another process holds the reply store. Wait for it or end it, and run again.", 2)
    if type(error).__module__ == "sqlite3":
        _leave(f"the reply store failed ({error}). {_OTHER_STORE}", 2)
    if isinstance(error, OSError) and error.strerror:
        place = error.filename2 or error.filename
        where = f"{place}: " if place else ""
        if not place:  # our own output: what is left of it would fail again when Python ends
            write_no_more()
        _leave(f"{where}{error.strerror}. Mend that and run the same command again.", 2)


def _prepare_streams() -> None:
    """A stream that was closed before we began (`>&-`) is None: what is written to it is lost.
    One that is not UTF-8 gets escapes for what it cannot say.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave(message: str, code: int) -> NoReturn:
    tell(message)
    sys.exit(code)
