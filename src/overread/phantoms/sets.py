"""A set of phantoms on disk: its pieces made to order, its folder whole or not there at all.

Drawing holds the interpreter's lock through many small steps, so threads gain nothing; worker
processes are plain subprocesses, because spawned pools re-run a caller's unguarded script.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
import tomli_w

from overread.case import BadInput
from overread.files import read_toml
from overread.scratch import scratch_folder

if TYPE_CHECKING:
    import numpy as np

PlanT = TypeVar("PlanT")
OrderT = TypeVar("OrderT")
MadeT = TypeVar("MadeT")
T = TypeVar("T")


class Job(msgspec.Struct, Generic[OrderT, MadeT], frozen=True):
    """What workers of one kind do. Another process finds it as `JOB` in the module of `one`.

    `one` makes a piece below a folder, given the set's seed and the order, and says what it made.
    `drawn` is what pieces are called; making a `share` of them takes about as long as starting a
    process.
    """

    name: str
    order: type[OrderT]
    made: type[MadeT]
    one: Callable[[Path, int, OrderT], MadeT]
    drawn: str
    share: int


class SetMaker(msgspec.Struct, Generic[PlanT, OrderT, MadeT], frozen=True, kw_only=True):
    """Writes sets of one kind; `standard` is how many `cases` one has if nobody says.

    `revision` is raised whenever the same seed would give other bytes. `plan` says what a set of n
    cases and a seed holds, `orders` which pieces that needs, and `write` finishes a folder whose
    pieces the job has made in its `folders`; `index` is the file in it that lists the cases.
    """

    kind: str
    index: str
    revision: int
    standard: int
    least: int
    cases: str
    plan: Callable[[int, int], PlanT]
    orders: Callable[[PlanT], Sequence[OrderT]]
    job: Job[OrderT, MadeT]
    folders: tuple[str, ...]
    write: Callable[[Path, PlanT, list[MadeT]], None]

    def below(self, root: Path, n: int, seed: int = 0) -> Path:
        """The index of a set in a folder of its own below `root`, made if it is not there."""
        return self(root / f"phantom-{self.kind}-{n}-{seed}-r{self.revision}", n, seed)

    def __call__(
        self, folder: Path, n: int | None = None, seed: int = 0, workers: int | None = None
    ) -> Path:
        """Write n cases below `folder` and return the path of the set's index.

        The folder appears whole or not at all. A folder that already holds this very set is left as
        it is; one that holds anything else is refused.
        """
        n = self.standard if n is None else n
        if n < self.least:
            few = "none" if self.least == 1 else "too small"
            raise BadInput(
                f"a {self.kind} set of {n} {self.cases} is {few}; ask for at least {self.least}."
            )
        if seed < 0:
            raise BadInput(f"seed {seed} is negative; use 0 or above.")
        plan = self.plan(n, seed)
        orders = self.orders(plan)
        hands = worker_count(workers, len(orders), share=self.job.share, drawn=self.job.drawn)

        def fill(staging: Path) -> None:
            for part in self.folders:
                (staging / part).mkdir()
            self.write(staging, plan, make_all(self.job, staging, seed, orders, hands))

        return write_once(folder, Card(self.kind, self.index, n, seed, self.revision), fill)


def one_of(rng: np.random.Generator, choices: Sequence[T]) -> T:
    """One of some, each as likely as another."""
    return choices[int(rng.integers(len(choices)))]


def read_facts(name: str, kind: type[T]) -> T:
    """What phantoms say, from the file of that name beside this module."""
    return msgspec.toml.decode((Path(__file__).parent / name).read_bytes(), type=kind)


# ---------------------------------------------------------------- the folder


class Card(msgspec.Struct, frozen=True):
    """Which set a folder holds, as its dataset.toml says; `index` is the file that lists cases."""

    kind: str
    index: str
    n: int
    seed: int
    revision: int

    @property
    def facts(self) -> dict[str, str | int]:
        told = {"seed": self.seed, "n": self.n, "generator": self.revision}
        return {"name": f"phantom-{self.kind}", **told}


def write_once(folder: Path, card: Card, fill: Callable[[Path], None]) -> Path:
    """The path of the set's index below `folder`; where the set is missing, `fill` writes it.

    It is written beside its place, and moved there once it is whole.
    """
    folder = Path(folder)
    if _holds(folder, card):
        return folder / card.index
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            f"{folder} holds something other than the {card.kind} set n={card.n}, "
            f"seed={card.seed}; name a new folder or remove this one."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent) as scratch:
        staging = scratch / "set"
        staging.mkdir()
        fill(staging)
        terms = {"name": "", "policy": "open", "licence": "Apache-2.0"}
        text = tomli_w.dumps(terms | card.facts)
        (staging / "dataset.toml").write_text(text, encoding="utf-8", newline="\n")
        try:
            staging.rename(folder)
        except OSError:
            # Someone else finished the same set meanwhile: theirs is as good.
            if not _holds(folder, card):
                raise
    return folder / card.index


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> None:
    """A table of a set; what a row does not have is left empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _holds(folder: Path, card: Card) -> bool:
    try:
        found = read_toml(folder / "dataset.toml")
    except BadInput:
        return False
    same = all(found.get(key) == value for key, value in card.facts.items())
    return same and (folder / card.index).is_file()


# ---------------------------------------------------------------- workers

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from {module} import JOB; from overread.phantoms.sets import work; work(JOB)"
)

# The exit code of a worker that could not write; what the system said is its output.
_REFUSED_BY_THE_SYSTEM = 74


def worker_count(asked: int | None, pieces: int, *, share: int, drawn: str) -> int:
    """As many as asked for; else one per core, each with at least `share` of the pieces."""
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
        made = list(pool.map(partial(_made_elsewhere, job, folder, seed), shares))
    return [one for some in made for one in some]


def work(job: Job[OrderT, MadeT]) -> None:
    """A worker process: its share comes in by standard input, what it made goes out as one line."""
    parent = os.getppid()
    folder, seed, orders = msgspec.json.decode(sys.stdin.buffer.read())
    made = []
    try:
        for order in orders:
            if os.getppid() != parent:
                raise SystemExit("the set's writer is gone")  # nobody would take these pieces
            made.append(job.one(Path(folder), seed, msgspec.convert(order, job.order)))
    except OSError as error:  # a full disk, say: whoever asked for the set can tell the user
        sys.stdout.buffer.write(msgspec.json.encode((error.errno, error.strerror)))
        sys.exit(_REFUSED_BY_THE_SYSTEM)
    sys.stdout.buffer.write(msgspec.json.encode(made))


def _made_elsewhere(
    job: Job[OrderT, MadeT], folder: Path, seed: int, orders: Sequence[OrderT]
) -> list[MadeT]:
    root = str(Path(__file__).parents[2])
    done = subprocess.run(  # noqa: S603 - our own interpreter, our own module
        [sys.executable, "-c", _START.format(module=job.one.__module__), root],
        input=msgspec.json.encode((str(folder), seed, orders)),
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
    return [msgspec.convert(one, job.made) for one in msgspec.json.decode(done.stdout)]
