"""The questions as a reader gets them, word for word (MEDCMR, "Asking")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from overread.benchmarks.medcmr.cases import LETTERS

__all__ = ["ANSWER_ONLY", "OPEN", "OPENING", "STEP_BY_STEP", "mcq", "open_ended", "stem"]

OPENING: Final = (
    "Please carefully observe this medical image and answer the following question:\nQuestion: "
)
# The last letter is that of the last option shown.
ANSWER_ONLY: Final = "Answer only with the option letter (A–{}).".format
STEP_BY_STEP: Final = (
    "Think step by step, integrating both visual features and medical knowledge to reach your "
    "conclusion. Then provide the final answer to the question in one short sentence or a single "
    "medical term."
)
OPEN: Final = (
    f"{STEP_BY_STEP}\n"
    "Output format (Must follow strictly):\n"
    "Reasoning: <visual and diagnostic reasoning process>\n"
    "Answer: <final answer to the question>"
)


def mcq(question: str, options: Sequence[str]) -> str:
    """The prompt of a multiple-choice item; the options in the order in which they are shown."""
    named = [f"{letter}) {text.strip()}" for letter, text in zip(LETTERS, options, strict=False)]
    last = ANSWER_ONLY(LETTERS[len(options) - 1])
    return "\n".join((OPENING + question.strip(), "Options:", *named, last))


def open_ended(question: str) -> str:
    """The prompt of an open item."""
    return f"{OPENING}{question.strip()}\n{OPEN}"


def stem(question: str, options: Sequence[str]) -> str:
    """The question of a multiple-choice item without its options.

    Some sets write the options into the question too. Where all of them stand there by their
    letters and in order, that list is cut out; otherwise the question is left as it is.

    >>> stem("What is it? A. cat B. dog", ["cat", "dog"])
    'What is it?'
    """
    asked = " ".join(question.casefold().split())
    if not options or not all(" ".join(text.casefold().split()) in asked for text in options):
        return question.strip()  # the search below is slow, and seldom needed
    listed = r"\W*".join(
        rf"(?<!\w)\(?{letter}\s*[.):]\s*{_spaced(text)}(?!\w)"
        for letter, text in zip(LETTERS, options, strict=False)
    )
    found = re.search(rf"(?:\b(?:options|choices)\s*:\s*)?{listed}", question, re.IGNORECASE)
    if found is None:
        return question.strip()
    before, after = question[: found.start()].rstrip(), question[found.end() :].lstrip(" .;,)")
    return f"{before}\n{after}".strip() if after.strip() else before


def _spaced(text: str) -> str:
    return r"\s+".join(map(re.escape, text.split()))
