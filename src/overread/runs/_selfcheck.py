"""The instrument checked against readers whose behaviour is known by construction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from overread.benchmarks.base import Benchmark
from overread.benchmarks.registry import BENCHMARKS
from overread.case import BadInput
from overread.runs._opening import open_cases
from overread.runs._running import Watch, run

__all__ = ["STANDARD_PHANTOMS", "Checked", "own_judges", "selfcheck"]

# The sets of `demo`, `selfcheck` and the tests with a real model.
STANDARD_PHANTOMS: Final[Mapping[str, str]] = {
    "grounding": "phantom:480",
    "heartbeat": "phantom:40",
    "m3cot": "phantom:60",
    "medcmr": "phantom:84",
}


# Controls leave little to chance: a few seeds show as much as thirty turns.
_SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "heartbeat": {"seeds": "2020-2022", "passes": "1"},
}


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What one control is, what it was found to be, and what the authors' edition takes it for.

    `recovered` is whether each edition found what it must; `signature` is that of `found`.
    """

    benchmark: str
    control: str
    expected: str
    found: str
    authors: str
    note: str | None = None
    recovered: bool
    signature: str


def selfcheck(
    benchmark: str | None = None, *, seed: int = 0, watch: Watch | None = None
) -> Iterator[list[Checked]]:
    """Put every control to fresh phantoms with an empty store; one list for each benchmark.

    Both editions are asked, so that a control the published rules misplace is seen.
    """
    if benchmark is not None and benchmark not in BENCHMARKS:
        raise BadInput(f'benchmark is "{benchmark}"; the benchmarks are {", ".join(BENCHMARKS)}.')
    for name in BENCHMARKS if benchmark is None else (benchmark,):
        yield _checked(name, f"{STANDARD_PHANTOMS[name]}:{seed}", watch)


def own_judges(bench: Benchmark) -> list[str]:
    """The judges that need no server, where a benchmark is judged."""
    return [f"control:{name}" for name in bench.judges()]


def _checked(name: str, cases: str, watch: Watch | None) -> list[Checked]:
    found = {}
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        for edition in ("corrected", "authors"):
            settings = _SETTINGS.get(name, {})
            bench = open_cases(name, cases, edition, settings)
            done = run(
                name,
                cases,
                [f"control:{control}" for control in bench.expected()],
                judges=own_judges(bench),
                edition=edition,
                settings=settings,
                out=place / edition,
                store=place / "store.sqlite",
                watch=watch,
            )
            found[edition] = (bench.recovered(done.records), done.record.signature)
    ours, signature = found["corrected"]
    theirs = {one.control: one for one in found["authors"][0]}
    return [
        Checked(
            benchmark=name,
            control=one.control,
            expected=one.expected,
            found=one.found,
            authors=theirs[one.control].found,
            note=one.note,
            recovered=one.ok and theirs[one.control].ok,
            signature=signature,
        )
        for one in ours
    ]
