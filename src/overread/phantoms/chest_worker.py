"""Films made to order, in this process or in others.

Drawing holds the interpreter's lock through many small steps, so threads gain nothing; worker
processes are plain subprocesses, because spawned pools re-run a caller's unguarded script.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image

from overread.case import Box
from overread.phantoms.chest_film import film
from overread.phantoms.chest_plan import Order

__all__ = ["Made", "make_films"]

QUALITY = 95
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from overread.phantoms.chest_worker import work; work()"
)


class Made(msgspec.Struct, frozen=True):
    """What is known of a finished film; `box` in source pixels."""

    name: str
    sex: str
    age: int
    phrase: str
    box: Box | None


class Batch(msgspec.Struct, frozen=True):
    """A worker's share."""

    folder: str
    seed: int
    orders: tuple[Order, ...]


def make_films(folder: Path, seed: int, orders: Sequence[Order], workers: int) -> dict[str, Made]:
    """Write every film below `folder` as a JPEG, and say what each shows."""
    batches = [Batch(str(folder), seed, tuple(orders[k::workers])) for k in range(workers)]
    if workers == 1:
        made = [_made(batches[0])]
    else:
        with ThreadPoolExecutor(workers) as pool:
            made = list(pool.map(_elsewhere, batches))
    return {one.name: one for some in made for one in some}


def work() -> None:
    """A worker process: a batch comes in by standard input, its results go out as one line."""
    batch = msgspec.json.decode(sys.stdin.buffer.read(), type=Batch)
    sys.stdout.buffer.write(msgspec.json.encode(_made(batch, parent=os.getppid())))


def _elsewhere(batch: Batch) -> list[Made]:
    root = str(Path(__file__).parents[2])
    done = subprocess.run(  # noqa: S603 - our own interpreter, our own module
        [sys.executable, "-c", _START, root],
        input=msgspec.json.encode(batch),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"a film worker stopped ({done.returncode}): {said[-1] if said else ''}")
    return msgspec.json.decode(done.stdout, type=list[Made])


def _made(batch: Batch, parent: int | None = None) -> list[Made]:
    return [_film(batch, order, parent) for order in batch.orders]


def _film(batch: Batch, order: Order, parent: int | None) -> Made:
    if parent is not None and os.getppid() != parent:
        raise SystemExit("the set's writer is gone")  # nobody would take these films
    one = film(
        np.random.default_rng([batch.seed, 1, order.number]),
        view=order.view,
        finding=order.finding if order.present else None,
        marker=order.marker,
    )
    path = Path(batch.folder) / f"{order.name}.jpg"
    Image.fromarray(one.pixels).save(path, "JPEG", quality=QUALITY)
    return Made(order.name, one.person.sex, one.person.age, one.phrase, one.box)
