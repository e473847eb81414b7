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
from contextlib import suppress
from typing import Final, NoReturn

from overread import __version__
from overread.case import BadInput
from overread.cli.command_line import Commands, WrongWords
from overread.cli.options import tell
from overread.cli.show import write_no_more

__all__ = ["COMMANDS", "main"]

_OTHER_STORE = "Make room if the disk is full; else give another file with --store."

COMMANDS: Final = Commands(
    "overread",
    "The second reading for medical vision-language models.\n\n"
    "Evaluation software, not a medical device; a passed gate is not a clearance.",
    {
        "demo": "run:demo",
        "build": "build:build",
        "run": "run:run",
        "plan": "run:plan",
        "power": "power:power",
        "measure": "run:measure",
        "report": "finished:report",
        "serve": "finished:serve",
        "compare": "finished:compare",
        "import": "run:import_results",
        "import-batch": "run:import_batch",
        "judge": "run:judge",
        "judge-sample": "finished:judge_sample",
        "error-sample": "finished:error_sample",
        "rank-sample": "finished:rank_sample",
        "transfer": "finished:transfer",
        "gate": "finished:gate",
        "selfcheck": "checks:selfcheck",
        "sight": "checks:sight",
        "doctor": "checks:doctor",
        "published": "finished:published",
        "study": Commands(
            "overread study",
            "The reader study: people read what models read.",
            {
                "new": "study:new",
                "serve": "study:serve",
                "export": "study:export",
                "import": "study:import_sheet",
                "analyse": "study:analyse",
            },
        ),
        "curate": Commands(
            "overread curate",
            "New items, made step by step in one folder.",
            {
                "collect": "curate:collect",
                "ask": "curate:ask",
                "distract": "curate:distract",
                "steps": "curate:steps",
                "filter": "curate:filter_items",
                "review": "curate:review",
                "leakage": "curate:leakage",
                "publish": "curate:publish",
            },
        ),
        "settings": "reference:settings",
        "options": "reference:options",
        "completion": "completion:completion",
        "probe": Commands(
            "overread probe",
            "Models without words: a frozen encoder and a head for each finding.",
            {"fit": "probe:fit"},
        ),
        "store": Commands(
            "overread store",
            "The reply store: what is kept, having it forgotten; stores united, or served.",
            {
                "forget": "store:forget",
                "list": "store:list_kept",
                "merge": "store:merge",
                "serve": "store:serve",
            },
        ),
    },
    version=f"overread {__version__}",
)


BLAS_THREADS: Final = "1"
"""How many threads numpy's and SciPy's libraries of matrices keep: to wait for work that tables of
this size never give them costs each command a sixth of a second of processor time."""
RETURNED: Final = "dirty_decay_ms:0,muzzy_decay_ms:0"
"""How polars is told to give memory it let go of back to the system at once, not after seconds."""


def main() -> NoReturn:
    """Run a command; every foreseeable trouble ends as one line and an exit code."""
    # Cases and records hold no cycles, and looking for some among all of them takes a tenth of the
    # time of large runs: it is looked for less often.
    gc.set_threshold(100_000, 20, 20)
    os.environ.setdefault("_RJEM_MALLOC_CONF", RETURNED)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", BLAS_THREADS)
    _prepare_streams()
    if sys.argv[1:2] == ["--complete"]:  # a shell asks, with the words typed so far
        from overread.cli.completion import offered

        with suppress(Exception):  # whatever is wrong is said when the command is run
            print("\n".join(offered(COMMANDS, sys.argv[2:])))
        sys.exit(0)
    try:
        "".join(sys.argv).encode()
    except UnicodeEncodeError:
        _leave("an argument is not UTF-8. Use a UTF-8 locale, as LC_ALL=C.UTF-8.", 2)
    try:
        code: object = COMMANDS.call(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        again = "without --fresh" if "--fresh" in sys.argv else "again"
        _leave(
            "interrupted. Nothing is half written, and replies already received are kept. "
            f"Run the same command {again}.",
            3,
        )
    except SystemExit as left:
        # Rich turns a broken pipe into 1, which here means a failed check.
        code = 0 if isinstance(left.__context__, BrokenPipeError) else left.code
    except Exception as error:
        _explain(error)
        raise
    gc.freeze()  # to look through everything once more on leaving takes 60 ms after a run
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
    if isinstance(error, WrongWords):
        _leave(f"{error}. See --help.", 2)
    if kind == "Unfinished":
        _leave(str(error), 3)
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
