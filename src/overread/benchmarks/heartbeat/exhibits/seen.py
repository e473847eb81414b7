"""A window as it was shown, and what every reader said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from overread.benchmarks.exhibits.style import Spec
from overread.benchmarks.heartbeat.marks import Phase, phases_of

__all__ = ["Said", "Seen", "answer_rows"]

# How often a reader gave each answer, by phase.
Said: TypeAlias = Mapping[Phase, Mapping[int, int]]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A window as it was shown, and the answers to it; indices are local, from 0."""

    case: str
    context: str
    format: str
    ed: int
    es: int
    count: int
    said: Mapping[str, Said]

    @property
    def silent(self) -> list[str]:
        """The readers without an answer to anything that was asked."""
        asked = phases_of(self.format)
        return [name for name, said in self.said.items() if not any(said.get(p) for p in asked)]


def answer_rows(seen: Seen) -> Iterator[Spec]:
    """The numbers behind the drawing: every answer of every reader, and how often."""
    for reader, said in seen.said.items():
        for phase in phases_of(seen.format):
            for answer, times in sorted(said.get(phase, {}).items()):
                yield {
                    "reader": reader,
                    "phase": phase,
                    "true": seen.ed if phase == "ed" else seen.es,
                    "said": answer,
                    "times": times,
                    "shown": 0 <= answer < seen.count,
                }
