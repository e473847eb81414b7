"""What a fit judge must say of each control's reasoned reply: yes, no, or None.

answer     one truth: is the answer right?
precision  one truth: is at least half of the content steps right?
recall     one truth for each gold step: is it in the reply?
order      one truth: do the gold steps' types come in their order?

None is what two fit judges may disagree on (a bare answer may well state a conclusion): it is no
test, and pairs with it are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from overread.benchmarks.m3cot.cases import STEPS, M3Case
from overread.benchmarks.m3cot.control_replies import ControlName
from overread.benchmarks.m3cot.paths import path_of

__all__ = ["check_found", "check_pairs", "check_truth"]

_ANSWERS_RIGHT: Final = ("clinician", "answer-only", "scrambled")
_CATEGORY: Final = {**{step: str(step) for step in STEPS}, "analysis": "others"}


def check_truth(control: ControlName, case: M3Case, question: str) -> tuple[bool | None, ...]:
    """What is true of a control's reply in the mode cot, by one of the judge's four questions."""
    if question == "answer":
        return (control in _ANSWERS_RIGHT,)
    if question == "precision":
        return (None if control == "answer-only" else control != "rambler",)
    if question == "recall":
        return tuple(_recalled(control, case, place) for place in range(len(case.steps)))
    if question == "order":
        return (_ordered(control, case),)
    raise ValueError(f"a judge is asked answer, precision, recall or order, not {question}")


def _recalled(control: ControlName, case: M3Case, place: int) -> bool | None:
    if control == "rambler":
        return place == 0
    if control == "answer-only":
        # Examination, conclusion and analysis may all be what the answer says; a feature is not.
        return False if case.steps[place].type == "feature" else None
    return True


def _ordered(control: ControlName, case: M3Case) -> bool | None:
    types = [step.type for step in case.steps]
    if control in ("answer-only", "rambler") or len(set(types)) < 2:
        return None
    if len(set(types)) < len(types) or types != sorted(types, key=STEPS.index):
        return None  # a gold path that does not itself go by types
    return control != "scrambled"


def check_found(case: M3Case, question: str, value: Any) -> tuple[bool, ...]:
    """The same of a judge's verdict, in the canonical form of `verdicts`."""
    if question == "answer":
        return (bool(value["match"]),)
    if question == "recall":
        said = list(value)[: len(case.steps)]
        return (*map(bool, said), *[False] * (len(case.steps) - len(said)))
    if question == "precision":
        return (_half_right(value),)
    if question == "order":
        return (_in_order(case, value),)
    raise ValueError(f"a judge is asked answer, precision, recall or order, not {question}")


def _half_right(steps: Sequence[Mapping[str, Any]]) -> bool:
    content = [step for step in steps if step["type"] in STEPS]
    right = sum(step["judgment"] == "Match" for step in content)
    return bool(content) and 2 * right >= len(content)


def _in_order(case: M3Case, ranks: Mapping[str, Any]) -> bool:
    """Whether the categories that the gold steps have come in the gold order, none missing."""
    gold = tuple(_CATEGORY[step.type] for step in case.steps)
    return tuple(name for name in path_of(ranks) if name in gold) == gold


def check_pairs(
    control: ControlName, case: M3Case, question: str, value: Any
) -> list[tuple[bool, bool | None]]:
    """Pairs of truth and verdict, those left out on which fit judges may differ.

    A `value` of None is a verdict that could not be read: it says nothing of any truth.
    """
    truths = check_truth(control, case, question)
    said: tuple[bool | None, ...] = (None,) * len(truths)
    if value is not None:
        said = check_found(case, question, value)
    pairs = zip(truths, said, strict=True)
    return [(truth, found) for truth, found in pairs if truth is not None]
