"""The `overread` command as a user gives it, and in a process of its own to be stopped or killed."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from unittest.mock import patch

import pytest

from support.commands import main
from support.warm import MAIN, Forked, forked


def overread(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end: exit status, what it printed, what it said on standard error.

    It runs in this process, where everything is imported already; that a process of its own does
    the same is what `starting` and tests/cli/test_process.py show.
    """
    given = ["overread", *map(str, words)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", given),
        pytest.raises(SystemExit) as left,
    ):
        main()
    said = []
    for stream in (out, err):
        stream.seek(0)
        said.append(stream.read())
    return subprocess.CompletedProcess(given, left.value.code, *said)  # type: ignore[arg-type]


# For a run whose page nobody looks at: a third of its time.
NO_PAGE = "from overread import report; report.write_report = lambda path, *_, **__: path.touch()\n"


@contextmanager
def starting(*words: object, page: bool = True) -> Iterator[Forked]:
    """Start a command and go on; it is killed if it still runs at the end."""
    process = forked(*words, code=MAIN if page else NO_PAGE + MAIN)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
