"""What judges are asked about an open answer (MEDCMR, "Judging"): `questions` has all of it.

One question with the experts' caption, one without: their words, what is put to a judge, how its
verdict is read, what a control's reply deserves, and the single scores that a person can give too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from overread.benchmarks.medcmr import verdict_parser
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Edition
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS_OF
from overread.case import Condition, Decoding
from overread.files import read_toml
from overread.judging import Read
from overread.judging.question import Compared, Deserved, JudgedPart, Question, Wording
from overread.judging.rubric import Rubric

# ---------------------------------------------------------------- rubrics
# Their words stand in rubrics.toml.

DECODING: Final = Decoding(max_tokens=4096, temperature=0.0)

_WORDS: Final = read_toml(Path(__file__).with_name("rubrics.toml"))
REMINDER: Final[str] = _WORDS["reminder"]
_SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "score": ("question", "caption", "truth", "reasoning", "answer"),
    "score_uncaptioned": ("question", "truth", "reasoning", "answer"),
}
RUBRICS: Final[Mapping[str, Rubric]] = {
    question: Rubric(
        name=f"medcmr {question}",
        role="score",
        question=question,
        template=_WORDS["questions"][question],
        sections=_SECTIONS[question],
        system=_WORDS["system"],
    )
    for question in verdict_parser.QUESTIONS
}


# ---------------------------------------------------------------- what is put to judges

FORMS: Final = ("open", "reformulated")
"""The forms whose replies are judged; a letter needs no judge."""


class About(msgspec.Struct, forbid_unknown_fields=True):
    """Which reply of a reader: how the item was put; and what was changed before it was judged."""

    form: str
    image: str
    order: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    variant: str = ""


def question_of(case: MedCase) -> str:
    """Which question is asked of a case: with its caption, where it has one."""
    return "score" if case.caption and case.caption.strip() else "score_uncaptioned"


def said_in(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """The reasoning and the answer of an open reply; None where there is nothing to judge.

    A reply without an answer section, or with nothing in either, is all reasoning. A refusal, an
    empty reply and no reply are sent to nobody: they score 0 by themselves.
    """
    text = row["text"]
    if row["form"] not in FORMS or row["outcome"] not in ("answered", "unparsed"):
        return None
    if text is None or not text.strip():
        return None
    reasoning, answer = row["reasoning"] or "", row["answer"] or ""
    if row["outcome"] == "unparsed" or not (reasoning.strip() or answer.strip()):
        return text, ""
    return reasoning, answer


def _asked(name: str, row: Mapping[str, Any], case: MedCase) -> bool:
    """With the caption where the case has one; else vision is not asked for."""
    if said_in(row) is None or question_of(case) != name:
        return False
    # A control says the same whatever it is shown.
    return not row["check"] or (row["image"] == "original" and row["order"] == 0)


def _material(name: str, row: Mapping[str, Any], case: MedCase) -> dict[str, str]:
    reasoning, answer = said_in(row) or ("", "")
    found = {
        "question": case.question,
        "caption": case.caption or "",
        "truth": case.truth,
        "reasoning": reasoning,
        "answer": answer,
    }
    return {section: found[section] for section in _SECTIONS[name]}


def _read(name: str, text: str, case: MedCase | None, condition: Condition) -> Read:
    return verdict_parser.read_verdict(name, text)


# ---------------------------------------------------------------- what a control's reply deserves
# What a fit judge must say of each control's open reply, score by score.
#
# oracle    says what the caption says and gives the true answer: vision and truth are 3 or more
# letter-a  says nothing of the image and gives a letter: vision and truth are 1 or less
#
# A 2 is wrong of both. Clarity and coherence have no known truth: no judge is checked on them.

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


def _deserved(
    name: str, control: str, case: MedCase, given: Mapping[str, float] | None
) -> Iterator[Deserved]:
    for component in COMPONENTS_OF[name]:
        truth = check_truth(control, case, component)
        if truth is not None:
            said = None if given is None else _high(given[component], truth)
            yield Deserved(truth, said, component)


def _high(score: float, truth: bool) -> bool:
    return score >= _HIGH if truth else score > _LOW


# ---------------------------------------------------------------- the questions


def _scores(name: str, given: Mapping[str, float]) -> Compared:
    return {part: [given.get(part)] for part in COMPONENTS_OF[name]}


def _single_scores(name: str, case: MedCase, given: Mapping[str, float]) -> Iterator[JudgedPart]:
    """Each score of a reply is a unit with its grid as choices."""
    for part in COMPONENTS_OF[name]:
        if part in given:
            yield JudgedPart(part, f"{given[part]:g}")


def _gold(case: MedCase, part: str) -> str:
    """What a person compares with: the caption for vision, the true answer for truth, neither for
    language and logic."""
    return {"visual": case.caption or "", "truth": case.truth}.get(part, "")


def questions(rules: Edition) -> tuple[Question, ...]:
    """With a caption and without, in our own words.

    Clarity and coherence cannot be checked; S goes by the scores that can be, four fifths of it.
    """
    return tuple(
        Question(
            name=name,
            role="score",
            wordings={"": Wording({"": RUBRICS[name]}, REMINDER)},
            about=About,
            asked=partial(_asked, name),
            sections=partial(_material, name),
            reply="reasoning",
            decoding=DECODING,
            reask=rules.reask,
            payload=dict[str, float],
            read=partial(_read, name),
            parts=parts,
            levels={part: verdict_parser.GRIDS[part] for part in parts},
            compared_by=partial(_scores, name),
            deserved=partial(_deserved, name),
            numbers={
                **{part: (part,) for part in parts},
                "score": tuple(part for part in parts if part in KNOWN),
            },
            choices={part: verdict_parser.grid_words(part) for part in parts},
            units=partial(_single_scores, name),
            gold=_gold,
        )
        for name, parts in COMPONENTS_OF.items()
    )
