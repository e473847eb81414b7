"""Cases and readers, opened from what a user wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from overread.benchmarks.benchmark import Benchmark
from overread.case import BadInput, Reader
from overread.readers import Guard, ReaderSpec, open_reader, parse_spec
from overread.runs._environment import Config, cache_folder, environment

__all__ = ["case_file", "open_cases", "open_readers", "phantom_cases"]

# A film takes some 200 kB: a slip of the finger must not fill the disk.
_MOST_PHANTOMS = 100_000
_LARGEST_SEED = 2**32 - 1
_MOST_CALLS = 10_000


def open_cases(
    benchmark: str, cases: str | Path, edition: str, settings: Mapping[str, str]
) -> Benchmark:
    """Open a benchmark over a case file, or over `phantom:N[:SEED]`, made once and kept."""
    from overread.benchmarks.registry import open_benchmark

    return open_benchmark(benchmark, case_file(benchmark, cases), edition, settings)


def case_file(benchmark: str, cases: str | Path) -> Path:
    """Where the cases stand; phantoms are made if they are not there."""
    text = str(cases)
    return phantom_cases(benchmark, text) if text.startswith("phantom:") else Path(text)


def phantom_cases(benchmark: str, spec: str) -> Path:
    """The case file of `phantom:N[:SEED]` for a benchmark, made in the cache if it is not there."""
    from overread.phantoms import write_set

    parts = spec.split(":")[1:]
    if not 1 <= len(parts) <= 2 or not all(part.isdecimal() and part.isascii() for part in parts):
        raise BadInput(
            f'--cases {spec}: expected phantom:N or phantom:N:SEED, as in "phantom:480".'
        )
    for word, most in zip(parts, (_MOST_PHANTOMS, _LARGEST_SEED), strict=False):
        if len(word) > len(str(most)) or int(word) > most:
            raise BadInput(f"--cases {spec}: {word[:20]} is too large; give at most {most}.")
    n, seed = int(parts[0]), int(parts[1]) if len(parts) == 2 else 0
    cache = cache_folder()
    try:
        return write_set(benchmark, cache, n, seed)
    except OSError as error:
        raise BadInput(
            f"{cache}: phantoms cannot be kept there ({error.strerror}). "
            "Name a writable folder with the variable OVERREAD_CACHE."
        ) from None


def open_readers(
    bench: Benchmark,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    config: Config,
    concurrency: int | None = None,
) -> tuple[list[ReaderSpec], list[Reader]]:
    """Open every reader behind the guard of this data set; two may not share a name."""
    if not readers:
        raise BadInput("no reader was given. Give at least one with --reader, as control:looks.")
    if concurrency is not None and not 1 <= concurrency <= _MOST_CALLS:
        raise BadInput(f"--concurrency {concurrency}: it must be from 1 to {_MOST_CALLS}.")
    guard = Guard(bench.policy, config.share_with)
    controls = bench.controls()
    specs: list[ReaderSpec] = []
    opened: list[Reader] = []
    for reader in readers:
        if isinstance(reader, str | Mapping):
            spec = parse_spec(reader)
            if concurrency and spec.concurrency is None and spec.kind == "openai":
                spec = msgspec.structs.replace(spec, concurrency=concurrency)
            opened.append(
                open_reader(spec, guard=guard, environment=environment(), controls=controls)
            )
        else:
            spec = ReaderSpec(kind="control", model=reader.name, label=reader.name)
            opened.append(reader)
        specs.append(spec)
    names = [reader.name for reader in opened]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadInput(f'two readers are called "{min(twice)}". Give one of them a label= option.')
    return specs, opened
