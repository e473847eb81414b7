"""What judges are asked, in our own words from the protocol's facts (M3COT 5, 6, 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from overread.benchmarks.m3cot.cases import Kind, M3Case
from overread.case import Decoding
from overread.judging.rubric import Rubric, load_rubric, own_words
from overread.judging.verdict import Role

__all__ = ["DECODING", "OTHERS", "QUESTIONS_OF", "ROLES", "RUBRICS", "rubrics_at", "sections"]

ROLES: Final[tuple[Role, ...]] = ("answer", "steps", "order")
QUESTIONS_OF: Final[Mapping[Role, tuple[str, ...]]] = {
    "answer": ("answer",),
    "steps": ("precision", "recall"),
    "order": ("order",),
}
# Judged at temperature 0 throughout; the published order judge had none set (M3COT 10).
DECODING: Final = Decoding(max_tokens=4096, temperature=0.0)

_TYPES: Final = """\
- "modality or examination types": which examination the image comes from;
- "image feature description": what is to be seen in the image;
- "key conclusions": what follows, such as a finding, a diagnosis or the choice of an option;
- "additional analysis": anything further, such as causes, treatment, function or other options;
- "Restatement of the question": words that only repeat what was asked."""
_STRICT: Final = """\
How strictly to compare:
- An examination must be the same one: a CT is no MRI, one MRI sequence is not another, and neither
  is one kind of endoscopy another. Common synonyms of one examination, such as names of the H&E
  stain, are the same.
- A key conclusion must be the same conclusion.
- A description of features, or an additional analysis, agrees if the greater part of it does."""

_ANSWER: Final = """\
A reader was asked a question about a medical image. Find the final answer the reader settled on,
and say whether it is the same as the correct answer.

{hint}

Reply with one JSON object and nothing else:
{"match": true or false, "final_answer": "the reader's final answer"}

{sections}"""
_HINTS: Final[Mapping[Kind, str]] = {
    "multiple": "Several options may be right. The reader must name all of the right ones and no "
    "other; their order does not matter.",
    "single": "One option is right. The reader may name it by its letter or by its content.",
    "bool": "The answer is true or false. Go by what the reader's answer means, not its words.",
    "short": "The answer is free text. Another wording with the same medical meaning is the same.",
}


# For judges that cannot write JSON.
_YES_NO: Final = """\
A reader was asked a question about a medical image. Find the final answer the reader settled on. Is
it the same as the correct answer?

{hint}

Reply with one word and nothing else: Yes if it is the same, No if it is not.

{sections}"""


_PRECISION: Final = f"""\
A reader was asked a question about a medical image and reasoned in steps. You are given the
question, the correct answer, and reference steps that an expert wrote.

1. Cut the reader's reply into single steps, in its order. Keep what each says, and each once.
2. Give each step one type:
{_TYPES}
3. Judge each step:
- "Match": it says what a reference step says, follows logically, and contradicts neither the
  reference steps nor the correct answer;
- "Wrong": it does not agree with the reference, or contradicts it;
- "N/A": background that can be neither.

{_STRICT}

Reply with one JSON array and nothing else, an object for each step in order:
[{{"step_type": "one of the types above", "Step information": "the step", "judgment": "Match"}}]

{{sections}}"""
_RECALL: Final = f"""\
A reader was asked a question about a medical image and reasoned in steps. You are given the
question, the correct answer, and reference steps that an expert wrote, each with its step_index.

For every reference step, in order, say whether the reader's reply contains it: "Matched" if it
does, "Unmatched" if it does not.

{_STRICT}

Reply with one JSON array and nothing else, an object for each reference step, none left out:
[{{"step_index": 0, "step_type": "its type", "judgment": "Matched"}}]

The types:
{_TYPES}

{{sections}}"""
_ORDER: Final = """\
A reader was asked a question about a medical image and reasoned about it. Find out in which order
four kinds of content appear for the first time in its reply:
- modality: which examination the image comes from;
- feature: what is to be seen in the image;
- conclusion: what follows from it, such as a finding, a diagnosis or the chosen answer;
- others: anything further, such as treatment, symptoms, function, knowledge, or options weighed.

For each kind copy the passages of the reply that belong to it, word for word. Give the kind whose
first passage comes earliest the rank 1, the next 2, and so on; a kind that does not occur has the
rank 0 and an empty list.

Reply with one JSON object and nothing else, with all eight keys:
{"modality_order": 0, "feature_order": 0, "conclusion_order": 0, "others_order": 0,
 "modality_subs": [], "feature_subs": [], "conclusion_subs": [], "others_subs": []}

{sections}"""
_SYSTEM: Final = "You are an expert in medicine who checks the answers of others fairly."


def _rubric(role: Role, question: str, template: str, sections: tuple[str, ...]) -> Rubric:
    return Rubric(
        name=f"m3cot {question}",
        role=role,
        question=question,
        template=template,
        sections=sections,
        system=_SYSTEM,
    )


_GOLD: Final = ("question", "answer", "steps", "reply")
RUBRICS: Final[Mapping[str, Mapping[Kind, Rubric]]] = {
    "answer": {
        kind: _rubric(
            "answer", "answer", _ANSWER.replace("{hint}", hint), ("question", "answer", "reply")
        )
        for kind, hint in _HINTS.items()
    },
    "yesno": {
        kind: _rubric(
            "answer",
            "answer_yes_or_no",
            _YES_NO.replace("{hint}", hint),
            ("question", "answer", "reply"),
        )
        for kind, hint in _HINTS.items()
    },
    "precision": dict.fromkeys(_HINTS, _rubric("steps", "precision", _PRECISION, _GOLD)),
    "recall": dict.fromkeys(_HINTS, _rubric("steps", "recall", _RECALL, _GOLD)),
    "order": dict.fromkeys(_HINTS, _rubric("order", "order", _ORDER, ("question", "reply"))),
}
"""The rubric of each question, by the kind of question it is about.

`yesno` asks what `answer` asks, for a word in place of JSON.
"""
OTHERS: Final[Mapping[Role, tuple[str, ...]]] = {"answer": ("yesno",)}
"""The rubrics that a judge may be given in place of the usual one, by role."""


def rubrics_at(folder: str | None) -> Mapping[str, Mapping[Kind, Rubric]]:
    """The rubrics, with a user's own words where the folder has QUESTION.txt."""
    if folder is None:
        return RUBRICS
    own = own_words(folder, RUBRICS)
    return {
        question: {
            kind: load_rubric(own[question], rubric) if question in own else rubric
            for kind, rubric in by_kind.items()
        }
        for question, by_kind in RUBRICS.items()
    }


def sections(question: str, case: M3Case, reply: str) -> dict[str, str]:
    """The material of one judgment."""
    found = {"question": case.question, "reply": reply}
    if question == "order":
        return found
    found["answer"] = case.answer
    if question == "precision":
        found["steps"] = json.dumps([step.text for step in case.steps])
    if question == "recall":
        listed = [{"step_index": k, "content": step.text} for k, step in enumerate(case.steps)]
        found["steps"] = json.dumps(listed)
    return found
