"""What judges are asked about an open answer (MEDCMR, "Judging").

The four scores and their grids, the rubrics, what is put to a judge, what a control's reply
deserves, and the single scores that a person can give too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.medcmr.cases import MedCase, cases_in
from overread.case import Decoding, Request, Trial
from overread.judging import asking
from overread.judging.rubric import Rubric, frame, load_rubric, own_words
from overread.judging.sheet import Unit
from overread.judging.verdict import Role

if TYPE_CHECKING:
    from overread.benchmarks.benchmark import Tables

__all__ = [
    "CHECKED",
    "CHOICES",
    "COMPONENTS",
    "COMPONENTS_OF",
    "DECODING",
    "FORMS",
    "GRIDS",
    "KNOWN",
    "LINES",
    "QUESTIONS",
    "QUESTIONS_OF",
    "REMINDER",
    "ROLES",
    "RUBRICS",
    "about_of",
    "check_pairs",
    "check_truth",
    "grid_words",
    "judge_trials",
    "question_of",
    "reminded",
    "rubrics_at",
    "said_in",
    "sections",
    "units_of",
]


# ---------------------------------------------------------------- the four scores
# The four scores of an open answer: their names, their grids, and which question asks for which.
#
# S = (clarity + coherence + 4 visual + 4 truth) / 10 of the scores divided by their highest.

COMPONENTS: Final = ("clarity", "coherence", "visual", "truth")
LINES: Final[Mapping[str, str]] = {
    "clarity": "Language Clarity",
    "coherence": "Reasoning Coherence",
    "visual": "Vision Feature Accuracy",
    "truth": "Ground Truth Consistency",
}
"""What each is called in a judge's reply, in the order of its lines (MEDCMR, "Judging")."""
GRIDS: Final[Mapping[str, tuple[float, ...]]] = {
    "clarity": (0, 0.5, 1),
    "coherence": (0, 0.5, 1),
    "visual": (0, 1, 2, 3, 4),
    "truth": (0, 1, 2, 3, 4),
}
"""The scores there are, lowest first."""
COMPONENTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "score": COMPONENTS,
    # Without a caption nothing says what is to be seen.
    "score_uncaptioned": ("clarity", "coherence", "truth"),
}
QUESTIONS: Final = tuple(COMPONENTS_OF)


def grid_words(component: str) -> tuple[str, ...]:
    """The scores of a component as they are written: `0`, `0.5`, `1`."""
    return tuple(f"{score:g}" for score in GRIDS[component])


# ---------------------------------------------------------------- rubrics
# What judges are asked, in our own words from the protocol's facts (MEDCMR, "Judging").

ROLES: Final[tuple[Role, ...]] = ("score",)
QUESTIONS_OF: Final[Mapping[Role, tuple[str, ...]]] = {"score": QUESTIONS}
DECODING: Final = Decoding(max_tokens=4096, temperature=0.0)

_WHAT: Final[Mapping[str, str]] = {
    "clarity": """\
How well can reasoning and answer be understood? Look at the language alone. Something false that is
said clearly is clear.
0: what is meant stays open, or the text contradicts itself
0.5: it can be understood, but has vague spots
1: everything is clear""",
    "coherence": """\
Does the reasoning hold together, one step leading to the next and the last to the answer? Look at
the logic alone. What is false may follow soundly.
0: the logic is broken
0.5: it holds, with small gaps
1: it holds from beginning to end""",
    "visual": """\
Do reasoning and answer describe what the caption describes? Compare structures, densities, shapes,
borders and textures with the caption and with nothing else. Whether the diagnosis is right does not
matter here, and the true answer is not to be looked at.
0: nothing agrees with the caption
1: a few minor features agree
2: some features are right, but major structures are wrong
3: most is right, with slips that stand out
4: every key feature is right""",
    "truth": """\
Do reasoning and answer mean what the true answer means? The same in other words is the same.
0: nothing in common
1: they touch in places, but the concept is another
2: partly right, with major errors
3: the main meaning is there, with clear omissions
4: they mean the same throughout""",
}
_SHOWN: Final[Mapping[str, str]] = {
    "score": "the question, an expert's caption of the image, the true answer,",
    "score_uncaptioned": "the question, the true answer,",
}
_NUMBERS: Final = {3: "three", 4: "four"}
_SYSTEM: Final = "You are an expert in medicine who scores the answers of others fairly."
_SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "score": ("question", "caption", "truth", "reasoning", "answer"),
    "score_uncaptioned": ("question", "truth", "reasoning", "answer"),
}


def _template(question: str) -> str:
    parts = COMPONENTS_OF[question]
    count = _NUMBERS[len(parts)]
    asked = "\n\n".join(f"{LINES[part]}. {_WHAT[part]}" for part in parts)
    lines = "\n".join(f"{LINES[part]}: [{'|'.join(grid_words(part))}]" for part in parts)
    return f"""\
A reader was asked a question about a medical image, reasoned about it and answered. You do not see
the image. You are given {_SHOWN[question]} and the reader's
reasoning and answer. Either of the last two may be empty.

Give {count} scores. Each stands for itself: no score may raise or lower another. Give only scores
that are listed, and nothing between them.

{asked}

Reply with these {count} lines in this order and nothing else, each with one of its numbers in place
of the brackets:
{lines}

{{sections}}"""


RUBRICS: Final[Mapping[str, Rubric]] = {
    question: Rubric(
        name=f"medcmr {question}",
        role="score",
        question=question,
        template=_template(question),
        sections=_SECTIONS[question],
        system=_SYSTEM,
    )
    for question in QUESTIONS
}


def rubrics_at(folder: str | None) -> Mapping[str, Rubric]:
    """The rubrics, with a user's own words where the folder has QUESTION.txt."""
    if folder is None:
        return RUBRICS
    own = own_words(folder, RUBRICS)
    return {
        question: load_rubric(own[question], rubric) if question in own else rubric
        for question, rubric in RUBRICS.items()
    }


def question_of(case: MedCase) -> str:
    """Which question is asked of a case: with its caption, where it has one."""
    return "score" if case.caption and case.caption.strip() else "score_uncaptioned"


def sections(question: str, case: MedCase, reasoning: str, answer: str) -> dict[str, str]:
    """The material of one judgment."""
    found = {
        "question": case.question,
        "caption": case.caption or "",
        "truth": case.truth,
        "reasoning": reasoning,
        "answer": answer,
    }
    return {name: found[name] for name in _SECTIONS[question]}


# ---------------------------------------------------------------- what is put to judges
# The questions put to judges about one open answer, and what their replies are worth.

FORMS: Final = ("open", "reformulated")
"""The forms whose replies are judged; a letter needs no judge."""
REMINDER: Final = (
    "An earlier reply to this could not be read. Reply with the lines asked for alone, each with "
    "its name, a colon and one of its numbers."
)


def about_of(row: Mapping[str, Any], variant: str = "") -> str:
    """Which reply of a reader: its condition, as the verdicts name it; and what was changed."""
    told = {key: row[key] for key in ("form", "image", "order")}
    return msgspec.json.encode(told | ({"variant": variant} if variant else {})).decode()


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


def judge_trials(
    row: Mapping[str, Any],
    role: Role,
    case: MedCase,
    rubrics: Mapping[str, Rubric],
    *,
    varied: bool = False,
) -> Iterator[Trial]:
    """What a judge of this role is asked about one row of answers.

    With the caption where the case has one; else vision is not asked for. `varied`: once more for
    every harmless change of the material.
    """
    said, question = said_in(row), question_of(case)
    if said is None or question not in QUESTIONS_OF.get(role, ()):
        return
    if row["check"] and not (row["image"] == "original" and row["order"] == 0):
        return  # a control says the same whatever it is shown
    rubric = rubrics[question]
    condition: dict[str, str | int] = {
        "role": role,
        "question": question,
        "reader": row["reader"],
        "about": about_of(row),
        "check": row["check"],
        "prompt": rubric.digest,
    }
    shown = sections(question, case, *said)
    yield Trial(case.case_id, condition, Request(frame(rubric, shown), DECODING))
    if not varied:
        return
    from overread.judging.sensitivity import variants

    for variant in variants(rubric, shown, "reasoning"):
        told = condition | {"about": about_of(row, variant.change)}
        yield Trial(case.case_id, told, Request(frame(rubric, variant.sections), DECODING))


def reminded(trial: Trial, attempt: int) -> Trial:
    """The question once more, with the reminder."""
    return asking.reminded(trial, attempt, REMINDER)


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


# ---------------------------------------------------------------- single scores for people
# What judges judged, cut into single scores that a person can give too.
#
# Each score of a reply is a unit with its grid as choices. The person sees what that score is to be
# compared with: the caption for vision, the true answer for truth, neither for language and logic.

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {part: grid_words(part) for part in COMPONENTS}
"""By score, what judge and person may give."""


def units_of(tables: Tables) -> list[Unit]:
    """Every score of a run, with what each judge gave; judges' checks are left out."""
    if tables.verdicts is None:
        return []
    cases = {case.case_id: case for case in cases_in(tables.cases)}
    replies = {
        (row["reader"], row["case"], about_of(row)): row["text"] or ""
        for row in tables.answers.select(
            "reader", "case", "form", "image", "order", "text"
        ).iter_rows(named=True)
    }
    said: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for row in tables.verdicts.filter(~tables.verdicts["check"]).iter_rows(named=True):
        told = {"image": "original", "order": 0} | msgspec.json.decode(row["about"])
        place = (row["reader"], row["case"], about_of(told))
        if row["payload"] is None or row["case"] not in cases or place not in replies:
            continue
        value = msgspec.json.decode(row["payload"])
        for part in COMPONENTS_OF.get(row["question"], ()):
            word = f"{value[part]:g}" if part in value else ""
            if word in CHOICES[part]:
                said.setdefault((*place, part), {})[row["judge"]] = word
    return [
        Unit(
            item=name,
            question=part,
            reader=reader,
            asked=cases[name].question,
            gold=_gold(cases[name], part),
            reply=replies[reader, name, about],
            choices=CHOICES[part],
            verdicts=verdicts,
        )
        for (reader, name, about, part), verdicts in said.items()
    ]


def _gold(case: MedCase, part: str) -> str:
    return {"visual": case.caption or "", "truth": case.truth}.get(part, "")
