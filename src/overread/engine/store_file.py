"""The file a reply store is kept in: private, ours, and shared with living processes only."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

from overread.case import BadInput
from overread.files import open_file

__all__ = [
    "APPLICATION",
    "alive",
    "create_private",
    "make_private",
    "only_writer",
    "refuse_foreign",
]

APPLICATION = 0x0E4EAD  # marks a database as ours


def refuse_foreign(path: Path) -> None:
    """What is not ours is left as it is: it is looked at before anything is set in it."""
    if path.is_dir():
        raise BadInput(f"{path}: a folder stands there. Give a file with --store.")
    with open_file(path, named=f"--store {path}") as file:
        beginning = file.read(16)
    if not beginning:
        return
    tables, application = 1, 0
    if beginning == b"SQLite format 3\0":
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != APPLICATION:
        raise BadInput(f"{path}: this is not a reply store. Give another file with --store.")


def create_private(path: Path) -> None:
    """Make the file 0600 and its folder 0700 where we make them: replies may be confidential."""
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise BadInput(
            f"{path}: the reply store cannot be made ({error.strerror}). "
            "Give a writable place with --store."
        ) from None


def make_private(path: Path) -> None:
    """A store that others may read, as one copied here may be, is closed to them if it is ours."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_mode & 0o077:
            path.chmod(0o600)


def only_writer(path: Path) -> IO[bytes]:
    """Hold a lock for as long as the store is open: on a network file system, one process only."""
    import fcntl

    lock = path.with_name(path.name + ".lock").open("ab")
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise BadInput(
            f"{path}: the store lies on a network file system and another process has it open. "
            "Wait for that run, or keep the store on a local disk with --store."
        ) from None
    return lock


def alive(pid: int, beat: float) -> bool:
    """Whether the process that gave this sign of life still lives: its number may be another's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _began(pid) < beat + 2  # the kernel's clock and ours may differ a little


def _began(pid: int) -> float:
    """When a process began, in seconds since 1970; 0 where that cannot be told."""
    try:
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        lines = Path("/proc/stat").read_text().splitlines()
        boot = next(line.split()[1] for line in lines if line.startswith("btime "))
        return int(boot) + int(ticks) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0
