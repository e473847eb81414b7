"""Measures looked up by what they say."""

from __future__ import annotations

from collections.abc import Sequence

from overread.case import Measure

__all__ = ["Records"]


class Records:
    """Measures looked up as a person would name them: `found("cgr", "a reader", finding="edema")`."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = list(measures)
        self._found = {(r.reader, r.measure, *sorted(r.by.items())): r for r in measures}
        assert len(self._found) == len(self.measures), "two records say the same thing"

    def __call__(self, measure: str, reader: str, **by: str) -> Measure:
        return self._found[(reader, measure, *sorted(by.items()))]

    def get(self, measure: str, reader: str, **by: str) -> Measure | None:
        return self._found.get((reader, measure, *sorted(by.items())))
