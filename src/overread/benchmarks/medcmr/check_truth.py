"""What a fit judge must say of each control's open reply, score by score.

oracle    says what the caption says and gives the true answer: vision and truth are 3 or more
letter-a  says nothing of the image and gives a letter: vision and truth are 1 or less

A 2 is wrong of both. Clarity and coherence have no known truth: no judge is checked on them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.components import COMPONENTS_OF

__all__ = ["CHECKED", "KNOWN", "check_pairs", "check_truth"]

CHECKED: Final = ("oracle", "letter-a")
"""The controls whose replies are judged to see whether a judge is fit."""
KNOWN: Final = ("visual", "truth")
"""The scores of which something is known."""
_HIGH: Final = 3
_LOW: Final = 1
# A truth that is or names the letter: blood group A, vitamin A.
_LETTER: Final = re.compile(r"\W*A\W*|.*\w.*\bA\b.*", re.DOTALL)


def check_truth(control: str, case: MedCase, component: str) -> bool | None:
    """Whether a control's reply deserves a high score; None where fit judges may differ."""
    if component not in KNOWN or control not in CHECKED:
        return None
    if control == "oracle":
        return True
    return None if component == "truth" and _LETTER.fullmatch(case.truth) else False


def check_pairs(
    control: str, case: MedCase, question: str, value: Mapping[str, float] | None
) -> list[tuple[str, bool, bool | None]]:
    """Score by score: what is true, and what the judge said; None where it cannot be read."""
    found: list[tuple[str, bool, bool | None]] = []
    for component in COMPONENTS_OF[question]:
        truth = check_truth(control, case, component)
        if truth is not None:
            said = None if value is None else _high(value[component], truth)
            found.append((component, truth, said))
    return found


def _high(score: float, truth: bool) -> bool:
    return score >= _HIGH if truth else score > _LOW
