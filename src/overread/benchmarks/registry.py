"""The benchmarks there are. Adding one is a folder and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from overread.benchmarks.base import Benchmark, Imported, place_of
from overread.benchmarks.ranges import Range
from overread.case import BadInput, Policy

__all__ = [
    "BENCHMARKS",
    "class_of",
    "importer",
    "metrics",
    "open_benchmark",
    "range_of",
    "reopen_benchmark",
]

# The name on the command line, and where its class stands; imported only when it is used.
BENCHMARKS: Final[Mapping[str, str]] = {
    "grounding": "overread.benchmarks.grounding:Grounding",
    "heartbeat": "overread.benchmarks.heartbeat:Heartbeat",
    "m3cot": "overread.benchmarks.m3cot:M3CoT",
    "medcmr": "overread.benchmarks.medcmr:MedCMR",
}


def open_benchmark(
    name: str,
    cases_path: str | Path,
    edition: str = "corrected",
    settings: Mapping[str, str] | None = None,
) -> Benchmark:
    """A benchmark over a set of cases, ready to ask."""
    return class_of(name).open(cases_path, edition, settings)


def reopen_benchmark(
    name: str,
    dataset: str,
    policy: Policy,
    edition: str = "corrected",
    settings: Mapping[str, str] | None = None,
) -> Benchmark:
    """A benchmark over the kept tables of a run: it measures again, and asks nothing."""
    return class_of(name).of_run(dataset, policy, edition, settings)


Importer: TypeAlias = Callable[..., Imported]


def importer(name: str) -> Importer:
    """What reads results made with the paper's own scripts.

    It takes (cases or None, replies, readers or None, edition, settings, reparse, also).
    """
    place = class_of(name).importer
    if not place:
        raise BadInput(f"{name} has no results to import. Use overread run.")
    return cast(Importer, place_of(place))


def range_of(name: str, measure: str) -> Range | None:
    """What values a measure of a benchmark can have; None of one that it does not declare."""
    return class_of(name).ranges.get(measure)


def metrics() -> Iterator[tuple[str, Any]]:
    """Every registered metric of every benchmark as (benchmark, metric), for the law tests."""
    for name in BENCHMARKS:
        if place := class_of(name).metrics:
            found = place_of(place)
            for metric in found.values() if isinstance(found, Mapping) else found:
                yield name, metric


def class_of(name: str) -> type[Benchmark]:
    """A benchmark's class: what it declares is known before any set is opened."""
    if name not in BENCHMARKS:
        raise BadInput(f'benchmark is "{name}"; the benchmarks are {", ".join(BENCHMARKS)}.')
    return cast(type[Benchmark], place_of(BENCHMARKS[name]))
