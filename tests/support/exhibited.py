"""Measures made by hand, for tests of what is shown of them."""

from __future__ import annotations

from typing import Any

from overread.benchmarks.grounding.exhibits import exhibits
from overread.case import Measure

__all__ = ["SIGNATURE", "audit", "made", "rate", "record"]

SIGNATURE = "grounding|edition:corrected|made-up"


def record(reader: str, measure: str, value: float | None = None, **facts: Any) -> Measure:
    """A record with what these tests need of it."""
    return Measure(reader=reader, measure=measure, value=value, **facts)


def rate(reader: str, measure: str, k: int, n: int, **by: str) -> Measure:
    """k of n, with an interval around it that is wide enough to be seen."""
    value = k / n
    return Measure(
        reader=reader,
        measure=measure,
        by=by,
        value=value,
        k=k,
        n=n,
        low=max(0.0, value - 0.04),
        high=min(1.0, value + 0.04),
    )


def audit(
    reader: str,
    *,
    cgr: int = 33,
    stable: int = 96,
    uar: int = 80,
    word: str = "uses image",
    note: str | None = None,
    flags: tuple[str, ...] = (),
) -> list[Measure]:
    """The headline of one reader, out of a hundred cases each."""
    return [
        rate(reader, "accuracy", 66, 100),
        rate(reader, "sensitivity", 70, 100),
        rate(reader, "specificity", 60, 100),
        rate(reader, "parse_rate", 99, 100),
        rate(reader, "cgr", cgr, 100),
        rate(reader, "uar", uar, 100),
        rate(reader, "is", stable, 100),
        rate(reader, "image_contingent", 100 - uar, 100),
        record(reader, "gsp", (cgr + stable - 100) / 100, low=-0.1, high=0.5, n=98),
        record(reader, "category", n=100, label=word, note=note, flags=flags),
    ]  # fmt: skip


def made(measures: list[Measure], name: str) -> Any:
    """The exhibit of this name, or None where these measures make none."""
    return {e.name: e for e in exhibits(measures, SIGNATURE)}.get(name)
