"""The questions put to judges about one reply (M3COT 5, 6, 7): each as one object.

The rubrics' words stand in rubrics.toml. Verdicts, and what a fit judge must say
of each control's reasoned reply (None is what two fit judges may disagree on, as a bare answer may
well state a conclusion: it is no test):

answer     {"match": bool, "final_answer": str}; is the answer right?
precision  [{"type", "judgment", "text"}]; is at least half of the content steps right?
recall     [bool per gold step]; is each in the reply?
order      the rank of each category, 0 where it is absent; do the gold steps' types come in order?

A person may judge the same, except the order: a path is one of 65, and nothing to write into a
cell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.m3cot import authors
from overread.benchmarks.m3cot import verdicts as sound
from overread.benchmarks.m3cot.cases import STEPS, M3Case
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.verdicts import YES_NO, path_of
from overread.case import Condition, Decoding
from overread.files import read_toml
from overread.judging import Read, Role
from overread.judging.question import Compared, Deserved, JudgedPart, Question, Wording
from overread.judging.reading import read_yes_no
from overread.judging.rubric import Rubric

# Judged at temperature 0 throughout; the published order judge had none set (M3COT 10).
DECODING: Final = Decoding(max_tokens=4096, temperature=0.0)
_WORDS: Final = read_toml(Path(__file__).with_name("rubrics.toml"))
REMINDER: Final[str] = _WORDS["reminder"]
REMINDER_YES_NO: Final[str] = _WORDS["reminder_yes_no"]
_ANSWERED: Final = ("question", "answer", "reply")
_GOLD: Final = ("question", "answer", "steps", "reply")


def _rubrics(role: Role, name: str, question: str, sections: tuple[str, ...]) -> dict[str, Rubric]:
    """The rubric of a question, by the kind of question it is about."""
    return {
        kind: Rubric(
            name=f"m3cot {question}",
            role=role,
            question=question,
            template=_WORDS["questions"][name].replace("{hint}", hint),
            sections=sections,
            system=_WORDS["system"],
        )
        for kind, hint in _WORDS["hints"].items()
    }


RUBRICS: Final[Mapping[str, Mapping[str, Rubric]]] = {
    "answer": _rubrics("answer", "answer", "answer", _ANSWERED),
    YES_NO: _rubrics("answer", YES_NO, "answer_yes_or_no", _ANSWERED),
    "precision": _rubrics("steps", "precision", "precision", _GOLD),
    "recall": _rubrics("steps", "recall", "recall", _GOLD),
    "order": _rubrics("order", "order", "order", ("question", "reply")),
}
"""The rubric of each question, by the kind of question it is about.

`yesno` asks what `answer` asks, for a word in place of JSON.
"""


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


def asked(question: str, row: Mapping[str, Any]) -> bool:
    """Whether judges are asked this about a row of answers.

    An empty reply, a refusal and no reply at all are sent to nobody: they are wrong by themselves.
    Steps and order are judged of reasoning only: CoT, and not cut short or turned round. Of timed
    replies only what efficiency needs, the gold steps found.
    """
    text = row["text"]
    if row["outcome"] != "answered" or text is None or not text.strip():
        return False
    reasoned = row["mode"] == "cot" and not row["follow"]
    if row["check"] and not (reasoned and row["image"] == "original" and not row["timed"]):
        return False  # what is true of a control's reply is known of its reasoning
    return question == "recall" and reasoned if row["timed"] else question == "answer" or reasoned


# ---------------------------------------------------------------- verdicts


class About(msgspec.Struct, kw_only=True):
    """Which reply of a reader: the columns of its answer, and what was changed in it."""

    follow: str | None = ""
    image: str = "original"
    mode: str
    timed: bool = False
    variant: str = ""


class AnswerVerdict(msgspec.Struct):
    """Whether the answer is right."""

    match: bool


class StepVerdict(msgspec.Struct):
    """One step of a reply, as a judge took it apart."""

    type: str
    judgment: str | None
    text: str


def read_verdict(
    question: str, text: str | None, edition: Edition, gold: int = 0, rubric: str = ""
) -> Read:
    """A judge's reply to a question under the edition; `gold` counts the gold steps.

    What was asked for with the rubric `yesno` no published script reads: it is read alike in both.
    """
    if rubric == YES_NO:
        read = read_yes_no(text)
        found = {"match": read.value, "final_answer": ""}
        return Read(found, read.how) if read.valid else read
    if edition.verdicts == "published":
        return authors.read_verdict(question, text, gold)
    return sound.read_verdict(question, text, edition, gold)


def _half_right(steps: Sequence[Mapping[str, Any]]) -> Compared:
    """Judges take a reply apart each in its own way: they are compared by whether half is right."""
    content = [step for step in steps if step["type"] in STEPS]
    right = sum(step["judgment"] == "Match" for step in content)
    return {"": [bool(content) and 2 * right >= len(content)]}


# ---------------------------------------------------------------- what controls deserve

_ANSWERS_RIGHT: Final = ("clinician", "answer-only", "scrambled")
_CATEGORY: Final = {**{step: str(step) for step in STEPS}, "analysis": "others"}


def _answer_deserved(control: str, case: M3Case, payload: Any) -> list[Deserved]:
    said = None if payload is None else bool(payload["match"])
    return [Deserved(control in _ANSWERS_RIGHT, said)]


def _precision_deserved(control: str, case: M3Case, payload: Any) -> list[Deserved]:
    said = None if payload is None else bool(_half_right(payload)[""][0])
    return [Deserved(None if control == "answer-only" else control != "rambler", said)]


def _recall_deserved(control: str, case: M3Case, payload: Any) -> list[Deserved]:
    n = len(case.steps)
    said: list[bool | None] = [None] * n
    if payload is not None:
        said = [*map(bool, payload[:n]), *[False] * (n - len(payload))]
    truths: list[bool | None] = [True] * n
    if control == "rambler":
        truths = [place == 0 for place in range(n)]
    if control == "answer-only":
        # Examination, conclusion and analysis may all be what the answer says; a feature is not.
        truths = [False if step.type == "feature" else None for step in case.steps]
    return [Deserved(*one) for one in zip(truths, said, strict=True)]


def _order_deserved(control: str, case: M3Case, payload: Any) -> list[Deserved]:
    """Whether the categories that the gold steps have come in the gold order, none missing."""
    types = [step.type for step in case.steps]
    # A gold path that does not itself go by types, each once, tells nothing.
    plain = len(types) > 1 and types == [kind for kind in STEPS if kind in types]
    known = plain and control not in ("answer-only", "rambler")
    gold, said = tuple(_CATEGORY[kind] for kind in types), None
    if payload is not None:
        said = tuple(name for name in path_of(payload) if name in gold) == gold
    return [Deserved(control != "scrambled" if known else None, said)]


# ---------------------------------------------------------------- the questions


def questions(rules: Edition) -> tuple[Question, ...]:
    """All that judges are asked under these rules."""
    published = rules.verdicts == "published"

    def question(name: str, role: Role, **own: Any) -> Question:
        def read(text: str, case: M3Case | None, condition: Condition) -> Read:
            gold = 0 if case is None else len(case.steps)
            return read_verdict(name, text, rules, gold, str(condition.get("rubric", "")))

        wordings = {"": Wording(RUBRICS[name], "" if published else REMINDER)}
        if name == "answer":
            wordings[YES_NO] = Wording(RUBRICS[YES_NO], "" if published else REMINDER_YES_NO)
        # The authors' script on order asks again, whatever the rule says.
        tries = authors.TRIES[name] - 1 if published else 0
        return Question(
            name=name,
            role=role,
            wordings=wordings,
            kind=lambda case: str(case.kind),
            about=About,
            asked=lambda row, case: asked(name, row),
            sections=lambda row, case: sections(name, case, row["text"]),
            decoding=DECODING,
            reask=max(rules.reask, tries),
            read=read,
            **own,
        )

    return (
        question(
            "answer",
            "answer",
            payload=AnswerVerdict,
            compared_by=lambda payload: {"": [bool(payload["match"])]},
            deserved=_answer_deserved,
            choices={"answer": ("right", "wrong")},
            units=lambda case, payload: [
                JudgedPart("answer", "right" if payload["match"] else "wrong")
            ],
            gold=lambda case, _: case.answer,
        ),
        question(
            "precision",
            "steps",
            payload=list[StepVerdict],
            compared_by=_half_right,
            deserved=_precision_deserved,
            choices={"precision": ("Match", "Wrong", "N/A")},
            units=_own_steps,
            gold=_gold_text,
        ),
        question(
            "recall",
            "steps",
            payload=list[bool],
            compared_by=lambda payload: {"": [bool(hit) for hit in payload]},
            width=lambda case: len(case.steps),
            # Where the gold steps stood in reverse, what is said of each goes back to its place.
            put_back={"steps": lambda p, case: p[::-1] if len(p) == len(case.steps) else p},
            deserved=_recall_deserved,
            choices={"recall": ("Matched", "Unmatched")},
            units=_gold_steps,
            gold=_gold_text,
        ),
        question(
            "order",
            "order",
            payload=dict[str, Any],
            compared_by=lambda payload: {"": [path_of(payload)]},
            # Polite words are no step of a path, but a judge may well take them for others.
            compared_after={"length": lambda payload: {"": [path_of({**payload, "others": 0})]}},
            deserved=_order_deserved,
        ),
    )


def _own_steps(case: M3Case, payload: Any) -> list[JudgedPart]:
    """Each step that a judge found in the reply; restatements are no steps."""
    return [
        JudgedPart("precision", step["judgment"], step["text"])
        for step in payload
        if step["type"] in STEPS
    ]


def _gold_steps(case: M3Case, payload: Any) -> list[JudgedPart]:
    """Each gold step; as many as there are of both: what others' files leave out was not judged."""
    return [
        JudgedPart("recall", "Matched" if hit else "Unmatched", f"{number}. {step.text}")
        for number, (step, hit) in enumerate(zip(case.steps, payload, strict=False), 1)
    ]


def _gold_text(case: M3Case, question: str) -> str:
    """The right answer and the gold steps, counted from 1."""
    steps = (f"{number}. {step.text}" for number, step in enumerate(case.steps, 1))
    return "\n".join((f"Answer: {case.answer}", *steps))
