"""The questions put to judges about one reply (M3COT 5, 6, 7), and to a person who checks them.

The rubrics are in our own words from the protocol's facts. What judges judged is cut into single
things that a person can judge too:

answer     the reply: right or wrong
precision  each step that a judge found in the reply: Match, Wrong or N/A
recall     each gold step: Matched or Unmatched

Order is left out there: a path is one of 65, and nothing a person would write into a cell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.m3cot.cases import STEPS, Kind, M3Case, cases_in
from overread.case import Decoding, Request, Trial
from overread.judging import Role, asking
from overread.judging.rubric import Rubric, frame, load_rubric, own_words
from overread.judging.sensitivity import variants
from overread.judging.sheet import Unit

if TYPE_CHECKING:
    from overread.benchmarks.base import Tables

__all__ = [
    "CHOICES",
    "DECODING",
    "OTHERS",
    "QUESTIONS_OF",
    "REMINDER",
    "REMINDER_YES_NO",
    "ROLES",
    "RUBRICS",
    "about_of",
    "judge_trials",
    "reminded",
    "rubrics_at",
    "sections",
    "units_of",
]

ROLES: Final[tuple[Role, ...]] = ("answer", "steps", "order")
QUESTIONS_OF: Final[Mapping[Role, tuple[str, ...]]] = {
    "answer": ("answer",),
    "steps": ("precision", "recall"),
    "order": ("order",),
}
# Judged at temperature 0 throughout; the published order judge had none set (M3COT 10).
DECODING: Final = Decoding(max_tokens=4096, temperature=0.0)

_STEP_TYPES: Final = """\
- "modality or examination types": which examination the image comes from;
- "image feature description": what is to be seen in the image;
- "key conclusions": what follows, such as a finding, a diagnosis or the choice of an option;
- "additional analysis": anything further, such as causes, treatment, function or other options;
- "Restatement of the question": words that only repeat what was asked."""
_HOW_STRICTLY: Final = """\
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
{_STEP_TYPES}
3. Judge each step:
- "Match": it says what a reference step says, follows logically, and contradicts neither the
  reference steps nor the correct answer;
- "Wrong": it does not agree with the reference, or contradicts it;
- "N/A": background that can be neither.

{_HOW_STRICTLY}

Reply with one JSON array and nothing else, an object for each step in order:
[{{"step_type": "one of the types above", "Step information": "the step", "judgment": "Match"}}]

{{sections}}"""
_RECALL: Final = f"""\
A reader was asked a question about a medical image and reasoned in steps. You are given the
question, the correct answer, and reference steps that an expert wrote, each with its step_index.

For every reference step, in order, say whether the reader's reply contains it: "Matched" if it
does, "Unmatched" if it does not.

{_HOW_STRICTLY}

Reply with one JSON array and nothing else, an object for each reference step, none left out:
[{{"step_index": 0, "step_type": "its type", "judgment": "Matched"}}]

The types:
{_STEP_TYPES}

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


_GOLD_SECTIONS: Final = ("question", "answer", "steps", "reply")
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
    "precision": dict.fromkeys(_HINTS, _rubric("steps", "precision", _PRECISION, _GOLD_SECTIONS)),
    "recall": dict.fromkeys(_HINTS, _rubric("steps", "recall", _RECALL, _GOLD_SECTIONS)),
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


def about_of(row: Mapping[str, Any], variant: str = "") -> str:
    """Which reply of a reader: its condition, as the verdicts name it; and what was changed."""
    keys = ("follow", "image", "mode", "timed")
    told = {key: row[key] for key in keys} | ({"variant": variant} if variant else {})
    return msgspec.json.encode(told).decode()


def judge_trials(
    row: Mapping[str, Any],
    role: Role,
    case: M3Case,
    rubrics: Mapping[str, Mapping[Kind, Rubric]],
    *,
    other: str = "",
    varied: bool = False,
) -> Iterator[Trial]:
    """What a judge of this role is asked about one row of answers.

    An empty reply, a refusal and no reply at all are sent to nobody: they are wrong by themselves.
    Steps and order are judged of reasoning only: CoT, and not cut short or turned round. Of timed
    replies only what efficiency needs, the gold steps found. `varied`: each question once more
    for every harmless change of its material. `other` is the rubric it is asked with in place of
    the usual one.
    """
    text = row["text"]
    if row["outcome"] != "answered" or text is None or not text.strip():
        return
    reasoned = row["mode"] == "cot" and not row["follow"]
    if row["check"] and not (reasoned and row["image"] == "original" and not row["timed"]):
        return  # what is true of a control's reply is known of its reasoning
    for question in QUESTIONS_OF[role]:
        wanted = question == "recall" and reasoned if row["timed"] else role == "answer" or reasoned
        if not wanted:
            continue
        rubric = rubrics[other or question][case.kind]
        condition: dict[str, str | int] = {
            "role": role,
            "question": question,
            "reader": row["reader"],
            "about": about_of(row),
            "check": row["check"],
            "prompt": rubric.digest,
            "rubric": other,
        }
        shown = sections(question, case, text)
        yield Trial(case.case_id, condition, Request(frame(rubric, shown), DECODING))
        for variant in variants(rubric, shown) if varied else ():
            told = condition | {"about": about_of(row, variant.change)}
            messages = frame(rubric, variant.sections)
            yield Trial(case.case_id, told, Request(messages, DECODING))


REMINDER: Final = (
    "An earlier reply to this was not the JSON that is asked for. Reply with that JSON alone."
)


REMINDER_YES_NO: Final = (
    "An earlier reply to this was neither Yes nor No. Reply with one of these words alone."
)


def reminded(trial: Trial, attempt: int) -> Trial:
    """The question once more, with the reminder."""
    yes_no = trial.condition.get("rubric") == "yesno"
    return asking.reminded(trial, attempt, REMINDER_YES_NO if yes_no else REMINDER)


CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "answer": ("right", "wrong"),
    "precision": ("Match", "Wrong", "N/A"),
    "recall": ("Matched", "Unmatched"),
}


def units_of(tables: Tables) -> list[Unit]:
    """Everything judged in a run, with what each judge said of it; judges' checks are left out.

    Judges cut a reply each in its own way: a step in the words of one is a unit that only those who
    have it in the same words said something of.
    """
    if tables.verdicts is None:
        return []
    cases = {case.case_id: case for case in cases_in(tables.cases)}
    gold = {name: _gold_text(case) for name, case in cases.items()}
    replies = {
        (row["reader"], row["case"], about_of(row)): row["text"] or ""
        for row in tables.answers.iter_rows(named=True)
    }
    said: dict[tuple[str, str, str, str, str], dict[str, str]] = {}
    for row in tables.verdicts.filter(~tables.verdicts["check"]).iter_rows(named=True):
        told = {"follow": "", "image": "original", "timed": False}
        about = about_of(told | msgspec.json.decode(row["about"]))
        place = (row["reader"], row["case"], about)
        if row["payload"] is None or row["case"] not in cases or place not in replies:
            continue
        value = msgspec.json.decode(row["payload"])
        for part, verdict in _parts_of_verdict(row["question"], value, cases[row["case"]]):
            # Of the same words twice in one reply, the first.
            said.setdefault((*place, row["question"], part), {}).setdefault(row["judge"], verdict)
    return [
        Unit(
            item=name,
            question=question,
            reader=reader,
            asked=cases[name].question,
            gold=cases[name].answer if question == "answer" else gold[name],
            reply=replies[reader, name, about],
            part=part,
            choices=CHOICES[question],
            verdicts=verdicts,
        )
        for (reader, name, about, question, part), verdicts in said.items()
    ]


def _gold_text(case: M3Case) -> str:
    """The right answer and the gold steps, counted from 1."""
    steps = (f"{number}. {step.text}" for number, step in enumerate(case.steps, 1))
    return "\n".join((f"Answer: {case.answer}", *steps))


def _parts_of_verdict(question: str, value: Any, case: M3Case) -> Iterator[tuple[str, str]]:
    """The parts of one verdict, each with the word for it; restatements are no steps."""
    if question == "answer":
        yield "", "right" if value["match"] else "wrong"
    elif question == "precision":
        for step in value:
            if step["type"] in STEPS and step["judgment"] in CHOICES[question]:
                yield step["text"], step["judgment"]
    elif question == "recall":
        # As many as there are of both: what others' files leave out was not judged.
        for number, (step, hit) in enumerate(zip(case.steps, value, strict=False), 1):
            yield f"{number}. {step.text}", "Matched" if hit else "Unmatched"
