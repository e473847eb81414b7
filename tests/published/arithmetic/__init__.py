"""The arithmetic that finds what does not add up in the papers' printed figures.

What it finds is kept as data in `overread/published/NAME/flags.toml`, and a test holds the two
together. `PYTHONPATH=tests python -m published.arithmetic` writes those files anew, for whoever has
corrected a figure or taught the arithmetic something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from overread.case import Measure
from overread.published import Figures, Flag, figures
from published.arithmetic import (
    grounding_claims,
    grounding_counts,
    heartbeat_answers,
    heartbeat_spreads,
    m3cot,
    medcmr_claims,
    medcmr_counts,
    rates,
)

Check: TypeAlias = Callable[[Figures], Iterator[Flag]]
CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "grounding": (*rates.CHECKS, *grounding_counts.CHECKS, *grounding_claims.CHECKS),
    "heartbeat": (*heartbeat_answers.CHECKS, *heartbeat_spreads.CHECKS, rates.printed_twice),
    "m3cot": (*m3cot.CHECKS, rates.printed_twice),
    "medcmr": (
        *medcmr_counts.CHECKS,
        *medcmr_claims.CHECKS,
        rates.printed_twice,
        rates.differences,
    ),
}


def flags_of(printed: Figures) -> list[Flag]:
    """What every check of a benchmark finds in these figures."""
    return [flag for check in CHECKS[printed.benchmark] for flag in check(printed)]


def published(benchmark: str) -> list[Measure]:
    """The printed figures as records of measures.json: fractions, None where nothing is printed."""
    return [printed.record for printed in figures(benchmark).printed if not printed.repeat]
