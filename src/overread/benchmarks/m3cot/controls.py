"""Controls: readers whose behaviour is known by construction, so the benchmark can be checked.

Unlike most controls these know the truth: they are made of the cases. Each gets the same prompt as
any reader, is told by the engine which case it is about, and says what `reply_of` has for it: a set
may put one question to many images. None looks at the image: under a blank or another's image it
says the very same, which is what a reader would that reasons from the text alone.

clinician    the gold steps in their order, the right answer
answer-only  the right answer and not a word more
rambler      the first gold step, seven that have nothing to do with the case, a wrong answer
scrambled    the gold steps in another order, drawn for each item, and the right answer
contradicts  the gold steps in their order, a wrong answer; asked directly, the right one

Asked directly, each gives its answer alone. Contradicts has no reasons to contradict there, so that
its impact is as low as impact can be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from math import factorial
from typing import Any, Final, Literal, TypeAlias

from overread.benchmarks import controls
from overread.benchmarks.base import Recovered
from overread.benchmarks.controls import Control, Criterion, Said, by_criteria, known_of
from overread.benchmarks.draws import lot
from overread.benchmarks.m3cot.cases import WORDS, M3Case
from overread.benchmarks.m3cot.trials import ANSWER_FIRST, ANSWER_NOW, INSTRUCTIONS
from overread.case import Measure, Prompt, Reader, Traits

ControlName: TypeAlias = Literal["clinician", "answer-only", "rambler", "scrambled", "contradicts"]
CONTROLS: Final[tuple[ControlName, ...]] = (
    "clinician",
    "answer-only",
    "rambler",
    "scrambled",
    "contradicts",
)
# What a prompt wants: the answer alone, reasons and then the answer, the answer and then reasons;
# or the answer alone after reasoning was cut off.
Wanted: TypeAlias = Literal["direct", "cot", "answer_first", "truncated"]

RAMBLES: Final = 7
"""Steps of the rambler that have nothing to do with the case."""

_WRONG: Final[Sequence[str]] = WORDS["wrong"]
_FLIPPED: Final = {"true": "False", "false": "True", "yes": "No", "no": "Yes"}
_OPTION: Final = re.compile(r"(?:^|\s)\(?([A-H])[.):]\s*\S")
_LETTERS: Final = re.compile(r"\(?[A-H]\)?(?:(?:\s|,|;|&|and)+\(?[A-H]\)?)*\.?")
_LETTERED: Final = re.compile(r"\(?([A-H])[.):]")


def reply_of(control: ControlName, case: M3Case, wanted: Wanted) -> str:
    """What a control says of a case when this is wanted of it."""
    answer = answer_of(control, case, wanted)
    if wanted in ("direct", "truncated"):
        return answer
    said = [f"{number}. {step}" for number, step in enumerate(steps_of(control, case), start=1)]
    last = f"Final answer: {answer}"
    return "\n".join([last, *said] if wanted == "answer_first" else [*said, last])


def answer_of(control: ControlName, case: M3Case, wanted: Wanted = "cot") -> str:
    """The answer a control gives."""
    wrong = control == "rambler" or (control == "contradicts" and wanted != "direct")
    return wrong_answer(case) if wrong else case.answer


def steps_of(control: ControlName, case: M3Case) -> tuple[str, ...]:
    """The steps a control writes down when it is to reason."""
    gold = tuple(step.text for step in case.steps)
    if control == "answer-only":
        return ()
    if control == "rambler":
        return gold[:1] + _irrelevant(case)
    if control == "scrambled" and len(gold) > 1:
        # The first order is the gold one itself.
        # By the item and not by its words, which may be those of others.
        place = lot("scrambled", 0, f"{case.case_id}\n{case.question}")
        drawn = place % (factorial(len(gold)) - 1)
        return _order_at(gold, 1 + drawn)
    return gold


def _order_at(texts: Sequence[str], place: int) -> tuple[str, ...]:
    """The order that stands at a place, from 0, if all are listed by the places of the texts."""
    rest, drawn = list(texts), []
    while rest:
        at, place = divmod(place, factorial(len(rest) - 1))
        drawn.append(rest.pop(at))
    return tuple(drawn)


def _irrelevant(case: M3Case) -> tuple[str, ...]:
    told = _long_words(" ".join((case.question, case.answer, *(step.text for step in case.steps))))
    ranked = sorted(
        WORDS["irrelevant"],
        key=lambda text: (len(_long_words(text) & told), lot("rambler", 0, case.question + text)),
    )
    return tuple(ranked[:RAMBLES])


def _long_words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}


# ---------------------------------------------------------------- a wrong answer


def wrong_answer(case: M3Case) -> str:
    """An answer that no fit judge takes for the right one, in the form of the right one.

    True for false, another option for one, the other options for several (the first alone where all
    are right), a number that is seven off, or a thing the case has nothing to do with.
    """
    answer = case.answer.strip()
    flipped = _FLIPPED.get(answer.casefold().rstrip("."))
    if flipped is not None:
        return flipped
    if case.kind in ("single", "multiple"):
        chosen, offered = _letters(answer), _OPTION.findall(case.question)
        others = [letter for letter in dict.fromkeys(offered) if letter not in chosen]
        if chosen and others:
            return others[0] if case.kind == "single" else ", ".join(others)
        if len(chosen) > 1:
            return chosen[0]
    if re.fullmatch(r"\d{1,9}", answer):
        return str(int(answer) + 7)
    told = _long_words(f"{case.answer} {case.question}")
    return min(_WRONG, key=lambda text: len(_long_words(text) & told))


def _letters(answer: str) -> Sequence[str]:
    """The letters of the options an answer names: "B", "A, C", "A and C", "B) text; C) text"."""
    if _LETTERS.fullmatch(answer):
        return re.findall("[A-H]", answer)
    return _LETTERED.findall(answer) if _LETTERED.match(answer) else ()


REVISION: Final = 2
"""Raised whenever a control may answer differently; it enters the key of every reply."""
UNKNOWN: Final = "I do not know this question."


def wanted_of(text: str) -> Wanted:
    """What a prompt wants, by how it ends."""
    end = text.rstrip()
    if end.endswith(INSTRUCTIONS["direct"]):
        return "direct"
    if end.endswith(ANSWER_NOW):
        return "truncated"
    return "answer_first" if end.endswith(ANSWER_FIRST) else "cot"


def m3cot_controls(cases: Sequence[M3Case]) -> Mapping[str, Reader]:
    """The five controls of a set, each by the word that follows `control:`."""
    known = known_of(cases, lambda c: (c.case_id, c.question, c.answer, c.kind, c.steps))
    # They do not look, so that blank and swapped images cost nothing.
    traits = Traits(modality="text", temperature=0.0, knows_truth=True, told_case=True)

    def says(key: ControlName, prompt: Prompt) -> Said:
        case = known.by_id.get(prompt.case)
        return Said(UNKNOWN if case is None else reply_of(key, case, wanted_of(prompt.text)))

    return {
        key: Control(
            key=key, says=partial(says, key), revision=f"{REVISION}:{known.digest}", traits=traits
        )
        for key in CONTROLS
    }


# ---------------------------------------------------------------- what must come out

EXPECTED: Final[Mapping[str, str]] = {
    "clinician": "reasons as the gold steps do",
    "answer-only": "answers without reasons",
    "rambler": "reasons at length and mostly beside the point",
    "scrambled": "right steps in no steady order",
    "contradicts": "right steps, wrong answer",
}
"""What each control is by construction."""


_IN_COT: Final = (("mode", "cot"),)


def _above(measure: str, least: float, reason: str, **more: Any) -> Criterion:
    """The whole interval is at or above a bound."""
    return Criterion(measure=measure, end="low", least=least, reason=reason, **more)


def _below(measure: str, most: float, reason: str, **more: Any) -> Criterion:
    """The whole interval is at or below a bound."""
    return Criterion(measure=measure, end="high", most=most, reason=reason, **more)


_ALL_RIGHT: Final = _above("accuracy", 0.8, "every answer is right", by=_IN_COT, said="accuracy")
_ALL_STEPS: Final = _above("recall", 0.8, "every gold step is there")
_GOLD_STEPS_ONLY: Final = _above("precision", 0.6, "no step but gold ones")
CRITERIA: Final[Mapping[str, tuple[Criterion, ...]]] = {
    "clinician": (
        _ALL_RIGHT,
        _GOLD_STEPS_ONLY,
        _ALL_STEPS,
        _above("f1", 0.7, "precision and recall are both high"),
        Criterion(
            measure="impact", least=-0.1, most=0.1, needed=False, reason="right in both modes"
        ),
    ),
    "answer-only": (
        _ALL_RIGHT,
        _below("recall", 0.35, "there are no steps; an answer may state one"),
    ),
    "rambler": (
        _below("precision", 0.5, "one step in eight is right", versus="clinician"),
        _below("recall", 0.6, "only the first gold step", versus="clinician"),
        _below("f1", 0.6, "neither of the two is high", versus="clinician"),
    ),
    "scrambled": (
        _ALL_RIGHT,
        _GOLD_STEPS_ONLY,
        _ALL_STEPS,
        Criterion(
            measure="consistency",
            most=0.9,
            versus="clinician",
            reason="every item has an order of its own",
        ),
    ),
    "contradicts": (
        _below("accuracy", 0.2, "no answer is right", by=_IN_COT, said="accuracy"),
        _GOLD_STEPS_ONLY,
        _ALL_STEPS,
        # Impact is looked at only where both modes were asked.
        _below("impact", -0.5, "right when asked directly, wrong else", needed=False),
    ),
}
"""What must hold of each control, whatever judge is fit."""


def recovered(measures: Sequence[Measure]) -> list[Recovered]:
    """One line for each control that was asked. A measure that is not known recovers nothing."""
    return controls.recovered(measures, EXPECTED, by_criteria(CRITERIA))
