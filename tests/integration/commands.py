"""The `overread` command in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMAND = [sys.executable, "-c", "from overread.cli import main; main()"]


def overread(*words: object, patience: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Run a command to its end: exit status, what it printed, what it said on standard error."""
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(
        command, env=dict(os.environ), capture_output=True, text=True, timeout=patience
    )


@contextmanager
def starting(*words: object) -> Iterator[subprocess.Popen[str]]:
    """Start a command and go on; it is killed if it still runs at the end."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
