"""What does not add up in a paper's printed figures, and who looks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final, TypeAlias

from overread.published import grounding, heartbeat, m3cot, medcmr
from overread.published._figures import figures
from overread.published._flag import Flag
from overread.published._printed import Figures

__all__ = ["CHECKS", "Check", "flags_of", "inconsistencies"]

Check: TypeAlias = Callable[[Figures], Iterator[Flag]]
CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "grounding": grounding.CHECKS,
    "heartbeat": heartbeat.CHECKS,
    "m3cot": m3cot.CHECKS,
    "medcmr": medcmr.CHECKS,
}


def flags_of(printed: Figures) -> list[Flag]:
    """What every check of a benchmark finds in these figures."""
    return [flag for check in CHECKS[printed.benchmark] for flag in check(printed)]


def inconsistencies(benchmark: str) -> list[Flag]:
    """Every printed figure that other printed figures, or the authors' code, contradict."""
    return list(_of_the_paper(benchmark))


@cache
def _of_the_paper(benchmark: str) -> tuple[Flag, ...]:
    return tuple(flags_of(figures(benchmark)))
