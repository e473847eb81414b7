"""Folders in which something is made before it is moved to its place.

Whoever is killed leaves one behind. Each is locked for as long as its writer lives, so whoever next
writes beside it can tell what is left over from what is under way, and takes it away.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

UNFINISHED: Final = ".unfinished."
# As `tempfile` names them; the second is how phantoms were called while they were made.
_OURS: Final = re.compile(r"\.unfinished\.[a-z0-9_]{8}|\..+\.\d+-[0-9a-f]{8}\.part")


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """A new folder in `beside`, gone at the end, and with it what dead writers left there."""
    sweep(beside)
    scratch, lock = _locked_folder(beside)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(lock)


def _locked_folder(beside: Path) -> tuple[Path, int]:
    """A folder and the lock on it, which no sweeper held when we got it."""
    while True:
        scratch = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=beside))
        try:
            lock = os.open(scratch, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        _try_lock(lock, wait=True)
        if scratch.is_dir():
            return scratch, lock
        os.close(lock)  # taken for a dead writer's, between its making and its locking


def sweep(place: Path) -> None:
    """Remove what dead writers left. What is another user's, or no folder of ours, stays."""
    with suppress(OSError):
        for name in os.listdir(place):
            if _OURS.fullmatch(name):
                with suppress(OSError):
                    _remove(place / name)


def _remove(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid == os.geteuid() and _try_lock(lock):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_file():
                path.unlink()
    finally:
        os.close(lock)


def _try_lock(descriptor: int, *, wait: bool = False) -> bool:
    """Whether we have the lock. Some network file systems know none: there nothing is removed."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
