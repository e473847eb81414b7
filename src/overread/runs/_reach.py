"""What so many cases can show: said unasked by `plan`, and by `build` of what it built."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import Table


class RateReach(msgspec.Struct, frozen=True, kw_only=True):
    """How precisely so many cases give one rate: `n` is how many it could count at most, as if
    all were answered right; half-widths are of 95 % intervals of a share of 0.5 and of 0.9.
    """

    rate: str
    n: int
    half_width_at_50: float | None
    half_width_at_90: float | None


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """What so many cases can show: half-widths of 95 % intervals of a share of 0.5 and of 0.9, and
    the smallest difference of two readers they show with 80 % power (`stats.smallest_difference`).

    `patients` (images where a set names none, None without either) have cases that correlate by
    one half: `effect` is their design effect. `rates` has the same of every rate; `words`
    are the benchmark's own sentences on what else they can show.
    """

    cases: int
    patients: int | None
    effect: float
    half_width_at_50: float
    half_width_at_90: float
    smallest_difference: float | None
    rates: tuple[RateReach, ...] = ()
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = "" if self.patients is None else f" of {self.patients:,} patients"
        halves = [f"{100 * half:.1f}" for half in (self.half_width_at_50, self.half_width_at_90)]
        apart = self.smallest_difference
        shown = "no difference" if apart is None else f"{100 * apart:.1f} points"
        alike = ", a patient's cases correlating by 0.5" * (self.effect > 1)
        first = (
            f"{self.cases:,} cases{of} give a share of 50 % ± {halves[0]} points and one of 90 % "
            f"± {halves[1]}; between two models they show {shown} with 80 % power{alike}."
        )
        return first

    @property
    def table(self) -> Table:
        """What is to be expected of each rate, before anybody is asked."""
        rows = [
            (one.rate, f"{one.n:,}", *map(_points, (one.half_width_at_50, one.half_width_at_90)))
            for one in self.rates
        ]
        return Table(
            name="reach",
            title="What these cases can show",
            columns=("rate", "n at most", "half-width at 50 %", "half-width at 90 %"),
            rows=tuple(rows),
            notes=(*self.words, str(self)),
        )


def _points(half: float | None) -> str:
    return "n/a" if half is None else f"{100 * half:.1f}"


def reach(benchmark: str, folder: str | Path, edition: str = "corrected") -> Reach | None:
    """What the cases of a set can show, none of its pictures looked at; None of an empty one."""
    from overread.benchmarks.registry import class_of

    place = Path(folder)
    bench = class_of(benchmark)(dataset="", policy="credentialed", path=place, edition=edition)
    bench.dataset = bench.dataset_at(place)
    return reach_of(bench, None)


def reach_of(bench: Benchmark, chosen: frozenset[str] | None) -> Reach | None:
    """What the chosen cases can show, those of one patient counted together."""
    from overread.stats import LEAST_DISCORDANT, half_width, smallest_difference

    cases = bench.cases()
    if chosen is not None:
        cases = [case for case in cases if case.case_id in chosen]
    if not cases:
        return None
    patients, effect = _clustering(bench, cases)
    half, most = (half_width(rate, len(cases), effect=effect) for rate in (0.5, 0.9))
    apart = smallest_difference(len(cases), effect=effect)
    if patients is not None and patients < LEAST_DISCORDANT:
        apart = None  # signs are flipped by patient: so few are never told from chance
    return Reach(
        cases=len(cases),
        patients=patients,
        effect=effect,
        half_width_at_50=half,
        half_width_at_90=most,
        smallest_difference=apart,
        rates=tuple(
            _rate_reach(name, some, effect if some is cases else _effect(bench, some))
            for name, some in bench.stands_on(cases).items()
        ),
        words=tuple(bench.can_show(cases, partial(_effect, bench))),
    )


def _rate_reach(name: str, cases: Sequence[Any], effect: float) -> RateReach:
    from overread.stats import half_width

    halves = [
        half_width(rate, len(cases), effect=effect) if len(cases) > 1 else None
        for rate in (0.5, 0.9)
    ]
    return RateReach(
        rate=name, n=len(cases), half_width_at_50=halves[0], half_width_at_90=halves[1]
    )


def _effect(bench: Benchmark, cases: Sequence[Any]) -> float:
    return _clustering(bench, cases)[1] if cases else 1.0


def _clustering(bench: Benchmark, cases: Sequence[Any]) -> tuple[int | None, float]:
    """How many patients these are, None where nobody is named, and their design effect."""
    import numpy as np
    import polars as pl

    from overread.measuring.arrays import linked_clusters
    from overread.stats import USUAL

    ties = [
        (place, f"{field}:{name}")
        for place, case in enumerate(cases)
        for field in bench.owner_fields
        for name in _names(getattr(case, field))
    ]
    owners = pl.DataFrame(ties, schema={"place": pl.Int64, "owner": pl.String}, orient="row")
    sizes = np.bincount(linked_clusters(owners, len(cases)))
    effect = 1 + USUAL * (float(sizes @ sizes) / len(cases) - 1)
    return sizes.size if ties else None, effect


def _names(value: str | Sequence[str] | None) -> Sequence[str]:
    """One name or several, none that is empty."""
    several = (value,) if isinstance(value, str) else value or ()
    return [name for name in several if name]
