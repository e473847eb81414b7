"""What readers said of a few clips, in short lines.

Only what was said of a clip itself counts for it. That the published code stops at a seed for what
was said of other clips is left to the measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from overread.benchmarks.heartbeat.accuracy import decided, truncated_vote
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.errors import aggregate, mean_over
from overread.benchmarks.heartbeat.exhibits.numbers import number
from overread.benchmarks.heartbeat.exhibits.settings import PHASES
from overread.benchmarks.heartbeat.marks import Floats, Marks, Phase, facts_of, marks_of, phases_of
from overread.case import Said

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Heard", "right_alone"]

_ANSWERS: Final = 4  # different answers that are spelled out


def right_alone(marks: Marks, edition: Edition) -> Floats:
    """1 right, 0 wrong, NaN not counted, per video and seed."""
    said, truth = marks.said[marks.phases[0]], marks.truth[marks.phases[0]]
    if edition.unparsed_t2 == "wrong":
        return decided(said, truth, marks.heard, "wrong")
    votes = truncated_vote(said)
    return np.where(np.isnan(votes), np.nan, (votes == truth).astype(float))


class Heard:
    """What readers said of a few cases. A class, since both tasks are laid out once for all."""

    def __init__(
        self,
        readers: list[str],
        cases: pl.DataFrame,
        t1: pl.DataFrame,
        t2: pl.DataFrame,
        edition: Edition,
    ) -> None:
        self._readers = readers
        self._t1 = _by_case(t1)
        self._errors: dict[tuple[str, str], dict[Phase, float]] = {}
        self._hits: dict[tuple[str, str], dict[Phase, tuple[int, int]]] = {}
        facts = facts_of(cases)
        for marks in marks_of(t1, facts):
            for phase in marks.phases:
                held = marks.held(marks.said[phase], phase, edition.beat)
                answers = aggregate(held, edition.aggregation)
                each = mean_over(np.abs(marks.truth[phase] - answers), axis=1)
                for case, off in zip(facts.cases, each.tolist(), strict=True):
                    self._errors.setdefault((case, marks.reader), {})[phase] = off
        for marks in marks_of(t2, facts):
            for case, row in zip(facts.cases, right_alone(marks, edition), strict=True):
                counts = int((row == 1).sum()), int((~np.isnan(row)).sum())
                self._hits.setdefault((case, marks.reader), {})[marks.phases[0]] = counts

    def of(self, case: str) -> Iterator[Said]:
        for reader in self._readers:
            key = (case, reader)
            if key in self._t1 or key in self._hits:
                rows = self._t1.get(key, [])
                yield Said(
                    reader=reader,
                    lines=(*self._found(case, reader, rows), *self._told(case, reader)),
                    text=_words(rows),
                    right=self._right(case, reader),
                )

    def _found(
        self, case: str, reader: str, rows: Sequence[dict[str, Any]]
    ) -> Iterator[tuple[str, str]]:
        off = self._errors.get((case, reader), {})
        for phase, words in PHASES.items():
            own = [row for row in rows if phase in phases_of(row["format"])]
            if not own:
                continue
            named = _answers(own, phase)
            error = off.get(phase, np.nan)
            yield words, named if np.isnan(error) else f"{named}; {number(error)} frames off"

    def _told(self, case: str, reader: str) -> Iterator[tuple[str, str]]:
        for phase, (hits, seeds) in sorted(self._hits.get((case, reader), {}).items()):
            if seeds:
                said = f"right in {hits} of {seeds} seeds" if seeds > 1 else _said_once(hits)
                yield f"which of two frames is {PHASES[phase]}", said

    def _right(self, case: str, reader: str) -> bool | None:
        """As the index of cards has it."""
        counts = [pair for pair in self._hits.get((case, reader), {}).values() if pair[1]]
        if not counts:
            return None
        if all(hits == seeds for hits, seeds in counts):
            return True
        return None if any(hits for hits, _ in counts) else False


def _said_once(hits: int) -> str:
    return "right" if hits else "wrong"


def _by_case(t1: pl.DataFrame) -> dict[tuple[str, str], list[dict[str, Any]]]:
    columns = ("case", "reader", "format", "outcome", "pred_ed", "pred_es", "text")
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in t1.select(columns).iter_rows(named=True):
        found.setdefault((row["case"], row["reader"]), []).append(row)
    return found


def _answers(rows: Sequence[dict[str, Any]], phase: Phase) -> str:
    """The frames named, the commonest first, and how often: `12 (20 times), 13 (10 times)`."""
    said = Counter(
        str(row[f"pred_{phase}"])
        if row["outcome"] == "answered" and row[f"pred_{phase}"] is not None
        else "unparsed"
        if row["outcome"] == "answered"
        else str(row["outcome"])
        for row in rows
    )
    if len(rows) == 1:
        return next(iter(said))
    ranked = said.most_common()
    told = ", ".join(f"{word} ({times}×)" for word, times in ranked[:_ANSWERS])
    return told if len(ranked) <= _ANSWERS else f"{told}, {len(ranked) - _ANSWERS} others"


def _words(rows: Sequence[dict[str, Any]]) -> str:
    """A reply, where one could not be read: the first such."""
    odd = (row["text"] for row in rows if row["outcome"] != "answered" and row["text"])
    return next(odd, "").strip()
