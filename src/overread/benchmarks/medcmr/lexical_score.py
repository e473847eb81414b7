"""`control:lexical-judge` for open answers: scores by shared words, in the lines asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from overread.benchmarks.medcmr.components import COMPONENTS_OF, QUESTIONS
from overread.benchmarks.medcmr.verdicts import lines_of
from overread.judging.lexical import LexicalJudge
from overread.judging.lexical_score import scores

__all__ = ["SCORERS", "lexical_judge"]


def _scorer(question: str) -> Callable[[Mapping[str, str]], str]:
    def scored(sections: Mapping[str, str]) -> str:
        found = scores(sections)
        return lines_of({part: found.get(part, 0) for part in COMPONENTS_OF[question]})

    return scored


SCORERS: Final = {question: _scorer(question) for question in QUESTIONS}
"""What answers each question, as `LexicalJudge` takes it."""


def lexical_judge() -> LexicalJudge:
    """The judge with what this benchmark asks."""
    return LexicalJudge(more=SCORERS)
