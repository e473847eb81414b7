"""Pieces of a set made to order, in this process or in others.

Drawing holds the interpreter's lock through many small steps, so threads gain nothing; worker
processes are plain subprocesses, because spawned pools re-run a caller's unguarded script.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from overread.case import BadInput

__all__ = ["Job", "make_all", "work", "worker_count"]

OrderT = TypeVar("OrderT")
MadeT = TypeVar("MadeT")

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from {module} import JOB; from overread.phantoms.workers import work; work(JOB)"
)

# The exit code of a worker that could not write; what the system said is its output.
_REFUSED_BY_THE_SYSTEM = 74


class Job(msgspec.Struct, Generic[OrderT, MadeT], frozen=True):
    """What workers of one kind do. Its module holds it as `JOB`, where another process finds it.

    `one` makes a piece below a folder, given the set's seed and the order, and says what it made.
    """

    name: str
    module: str
    order: type[OrderT]
    made: type[MadeT]
    one: Callable[[Path, int, OrderT], MadeT]


class Batch(msgspec.Struct, frozen=True):
    """A worker's share, each order as JSON."""

    folder: str
    seed: int
    orders: tuple[msgspec.Raw, ...]


def worker_count(asked: int | None, pieces: int, *, share: int, drawn: str) -> int:
    """As many as asked for; else one per core, each with at least `share` of the pieces.

    Starting a process takes about as long as making a share.
    """
    if asked is not None:
        if asked < 1:
            raise BadInput(f"{asked} workers cannot draw {drawn}; use 1 or more.")
        return asked
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(cores, pieces // share))


def make_all(
    job: Job[OrderT, MadeT], folder: Path, seed: int, orders: Sequence[OrderT], workers: int
) -> list[MadeT]:
    """Make every order below `folder`; what was made, worker by worker."""
    if workers == 1:
        return [job.one(folder, seed, order) for order in orders]
    shares = [orders[k::workers] for k in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        made = list(pool.map(partial(_elsewhere, job, folder, seed), shares))
    return [one for some in made for one in some]


def work(job: Job[OrderT, MadeT]) -> None:
    """A worker process: a batch comes in by standard input, its results go out as one line."""
    batch = msgspec.json.decode(sys.stdin.buffer.read(), type=Batch)
    try:
        made = list(_made(job, batch, os.getppid()))
    except OSError as error:  # a full disk, say: whoever asked for the set can tell the user
        sys.stdout.buffer.write(msgspec.json.encode((error.errno, error.strerror)))
        sys.exit(_REFUSED_BY_THE_SYSTEM)
    sys.stdout.buffer.write(msgspec.json.encode(made))


def _made(job: Job[OrderT, MadeT], batch: Batch, parent: int) -> Iterator[MadeT]:
    for order in batch.orders:
        if os.getppid() != parent:
            raise SystemExit("the set's writer is gone")  # nobody would take these pieces
        yield job.one(Path(batch.folder), batch.seed, msgspec.json.decode(order, type=job.order))


def _elsewhere(
    job: Job[OrderT, MadeT], folder: Path, seed: int, orders: Sequence[OrderT]
) -> list[MadeT]:
    root = str(Path(__file__).parents[2])
    batch = Batch(str(folder), seed, tuple(msgspec.Raw(msgspec.json.encode(o)) for o in orders))
    done = subprocess.run(  # noqa: S603 - our own interpreter, our own module
        [sys.executable, "-c", _START.format(module=job.module), root],
        input=msgspec.json.encode(batch),
        capture_output=True,
        check=False,
    )
    if done.returncode == _REFUSED_BY_THE_SYSTEM:
        number, words = msgspec.json.decode(done.stdout, type=tuple[int | None, str | None])
        raise OSError(number, words or "the system refused it", str(folder))
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = said[-1] if said else ""
        raise RuntimeError(f"a {job.name} worker stopped ({done.returncode}): {last}")
    made = msgspec.json.decode(done.stdout, type=list[msgspec.Raw])
    return [msgspec.json.decode(one, type=job.made) for one in made]
