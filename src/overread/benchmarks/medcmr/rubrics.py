"""What judges are asked, in our own words from the protocol's facts (MEDCMR, "Judging")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.components import COMPONENTS_OF, LINES, QUESTIONS, grid_words
from overread.case import Decoding
from overread.judging.rubric import Rubric, load_rubric, own_words
from overread.judging.verdict import Role

__all__ = [
    "DECODING",
    "QUESTIONS_OF",
    "ROLES",
    "RUBRICS",
    "question_of",
    "rubrics_at",
    "sections",
]

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
