"""The file a reply store is kept in: private, ours, and shared with living processes only."""

from __future__ import annotations

import errno
import os
import platform
import secrets
import sqlite3
import stat
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, NamedTuple

from overread.case import BadInput
from overread.files import open_file

APPLICATION = 0x0E4EAD  # marks a database as ours
PATIENCE = 8.0  # seconds until somebody is told that another process holds the store
_WORKSPACE = ".overread"  # the folder that is ours alone, whoever made it first


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
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            # In this order: a process that makes the store now commits both at once.
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            application = connection.execute("PRAGMA application_id").fetchone()[0]
    if tables and application != APPLICATION:
        raise BadInput(f"{path}: this is not a reply store. Give another file with --store.")


# ---------------------------------------------------------------- for its owner alone


def create_private(path: Path) -> None:
    """Make the file 0600 and its folder 0700 where we make them: replies may be confidential."""
    try:
        if not path.parent.exists():
            private_folder(path.parent)
        made = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        os.fchmod(made, 0o600)  # whatever the umask took away
        os.close(made)
    except OSError as error:
        raise BadInput(
            f"{path}: the reply store cannot be made ({error.strerror}). "
            "Give a writable place with --store."
        ) from None


def make_private(path: Path) -> None:
    """A store that others may read, as one copied here may be, is closed to them if it is ours.

    So is the workspace it lies in, which something else may have made.
    """
    with suppress(OSError):
        if path.is_file() and path.stat().st_mode & 0o077:
            path.chmod(0o600)
        if path.parent.name == _WORKSPACE:
            private_folder(path.parent)


def private_folder(folder: Path) -> None:
    """Make a folder that is its owner's alone, whatever the umask; one that is there becomes so."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
        return
    if not folder.is_symlink() and stat.S_IMODE(folder.stat().st_mode) != 0o700:
        folder.chmod(0o700)


# ---------------------------------------------------------------- who else has it open


def only_writer(path: Path) -> IO[bytes]:
    """Hold a lock for as long as the store is open: on a network file system, one process only."""
    import fcntl

    lock = path.with_name(path.name + ".lock").open("ab")
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise BadInput(
                f"{path}: the store lies on a network file system that has no locks "
                f"({error.strerror}), so nobody can tell who else has it open. Keep it on a local "
                "disk with --store."
            ) from None
        raise BadInput(
            f"{path}: the store lies on a network file system and another process has it open. "
            "Wait for that run, or keep the store on a local disk with --store."
        ) from None
    return lock


def held_elsewhere(path: Path) -> str:
    """The line for a store that another process keeps locked, which one where the system says."""
    files, holder = set(), "another process"
    for name in (path, f"{path}-shm", f"{path}-wal"):
        with suppress(OSError):
            files.add(os.stat(name).st_ino)
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text().splitlines():
            # 1: POSIX  ADVISORY  WRITE 4711 08:01:123456 120 120; who waits has an arrow after 1:
            words = line.split()
            if words[1] == "->":
                continue
            pid = int(words[4])
            inode = int(words[5].rpartition(":")[2])
            if words[3] == "WRITE" and inode in files and pid not in (0, os.getpid()):
                named = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
                holder = f"process {pid} ({named})"
                break
    return (
        f"{path}: {holder} holds the reply store. Wait for it or end it; or give another file with "
        "--store."
    )


class Life(NamedTuple):
    """What tells a process from every other: its number means something at its own place only.

    The place is a boot of a machine and a namespace of process numbers within it; `began` is when
    the process did, in the kernel's ticks since that boot: no clock that anybody can set.
    """

    place: str
    pid: int
    began: int


def this_process() -> Life:
    pid = os.getpid()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        # Elsewhere a number is looked for on the same host, and on Linux, where /proc is hidden,
        # nowhere: a place that no other process shares.
        alone = secrets.token_hex(8) if sys.platform == "linux" else ""
        return Life(f"{platform.node()} {alone}", pid, 0)
    return Life(f"{boot} {space}", pid, _began(pid))


def alive(other: Life, here: Life) -> bool | None:
    """Whether another process lives; None where that cannot be told from here."""
    if other.place != here.place:
        return None
    try:
        os.kill(other.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    began = _began(other.pid)
    return began == other.began if began and other.began else None


def _began(pid: int) -> int:
    """When a process of this place began, in ticks since the boot; 0 where that is not told.

    One that has ended and only waits for its parent to notice began never: -1.
    """
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return -1 if words[0] in "ZX" else int(words[19])
    except (OSError, ValueError, IndexError):
        return 0


# --------------- Whether a path lies on a network file system, where SQLite's WAL must not be used

_NETWORK = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "afs", "9p")
_FUSE = ("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.gcsfuse", "fuse.ceph")


def is_network_mount(path: Path) -> bool:
    """True when the longest mount point above `path` is of a network type; False if unknowable."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return False
    resolved = path.resolve()
    kind, depth = "", -1
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        mount = Path(fields[4].replace("\\040", " "))
        if resolved.is_relative_to(mount) and len(mount.parts) >= depth:
            kind, depth = right.split(" ")[0], len(mount.parts)
    return kind.startswith(_NETWORK) or kind in _FUSE
