"""Which cases a run takes: all of them, or a seeded stratified sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from overread.benchmarks.benchmark import Benchmark, SubSampled
from overread.case import BadInput

__all__ = ["stratified_sample", "survey"]


def survey(bench: Benchmark, limit: int | None) -> tuple[frozenset[str] | None, int]:
    """Validate every case before anything is asked; with a limit, choose the sample."""
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit}: it must be 1 or more.")
    strata: dict[tuple[str, ...], list[str]] = {}
    total = 0
    for case in bench.cases():
        total += 1
        if limit is not None:
            strata.setdefault(bench.stratum(case), []).append(case.case_id)
    if limit is None or limit >= total:
        return None, total
    chosen = stratified_sample(strata, limit)
    if isinstance(bench, SubSampled):
        bench.sample_from(chosen)
    return chosen, limit


def stratified_sample(
    strata: Mapping[tuple[str, ...], Sequence[str]], limit: int, seed: int = 0
) -> frozenset[str]:
    """`limit` ids, each stratum in proportion (largest remainders first), drawn with a seed."""
    total = sum(map(len, strata.values()))
    limit = min(limit, total)
    quota = {name: limit * len(ids) // total for name, ids in strata.items()}
    remainders = sorted(strata, key=lambda name: (-(limit * len(strata[name]) % total), name))
    for name in remainders[: limit - sum(quota.values())]:
        quota[name] += 1
    draw = Random(seed)
    samples = (draw.sample(sorted(strata[name]), quota[name]) for name in sorted(strata))
    return frozenset(chosen for sample in samples for chosen in sample)
