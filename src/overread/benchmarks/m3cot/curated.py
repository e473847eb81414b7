"""Items of curation as M3CoTBench's rows, and the pictures its sets offer for new ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from overread.benchmarks.curated import Candidate, Item, Put
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.m3cot.cases import TASKS, kind_of
from overread.benchmarks.m3cot.trials import INSTRUCTIONS
from overread.case import Picture, Source
from overread.judging.lexicon import same_answer

if TYPE_CHECKING:
    from overread.benchmarks.m3cot.benchmark import M3CoT

LABELS: Final = {"task": tuple(dict.fromkeys(TASKS.values()))}
# By these words a question's type is known (M3COT 1).
_ASKS = {
    "single": "(Select one option)",
    "multiple": "(Select all that apply)",
    "bool": "True or false:",
}


def candidates(bench: M3CoT) -> Iterator[Candidate]:
    """Each image once, with the gold steps of its first case for a caption."""
    seen: set[str] = set()
    for case in bench.cases():
        if case.image in seen:
            continue
        seen.add(case.image)
        yield Candidate(
            picture=Picture(Source(bench.root, case.image)),
            caption=" ".join(step.text for step in case.steps),
            patient=case.patient or "",
            modality=case.modality or "",
            facts={"task": case.task},
        )


def row(item: Item, images: Sequence[str]) -> dict[str, Any] | str:
    """An item as a row of a set of one's own, or why it cannot be one.

    Options stand in the question, and the answer is their letters, as in the published set. An item
    shows one image: whoever publishes puts several side by side.
    """
    if not item.steps:
        return "no_steps"
    if not item.task:
        return "no_task"
    if len(images) != 1:
        return "several_images"
    if item.kind in ("single", "multiple") and not _lettered(item):
        return "no_options"
    question, answer = asked_as(item)
    return {
        "case_id": item.id,
        "kind": item.kind,
        "question": question,
        "image": images[0],
        "answer": answer,
        "task": item.task,
        "steps": [{"type": step.type, "text": step.text} for step in item.steps],
        "examination": item.examination or item.modality,
        "patient": item.patients[0] if len(item.patients) == 1 else "",
    }


def put(item: Item) -> Put:
    """An item as it is asked directly; replies are read by their words."""
    question, answer = asked_as(item)
    text = f"{question.strip()}\n{INSTRUCTIONS['direct']}"
    return Put(text, lambda reply: same_answer(question, answer, reply)[0])


def asked_as(item: Item) -> tuple[str, str]:
    """The question as a row has it, its options in it, and the answer: letters of options."""
    if item.kind in ("single", "multiple"):
        lines = [f"{a}. {text}" for a, text in zip(LETTERS, item.options, strict=False)]
        return "\n".join((_asking(item), *lines)), ", ".join(_lettered(item))
    if item.kind == "bool":
        return _asking(item), str(item.answers[0] == "true")
    return item.question, item.answers[0]


def _lettered(item: Item) -> list[str]:
    """The letters of the right options; none where they cannot be told."""
    letters = [
        letter for letter, text in zip(LETTERS, item.options, strict=False) if text in item.answers
    ]
    return letters if len(item.options) > 1 and len(letters) == len(item.answers) else []


def _asking(item: Item) -> str:
    """The question with the words by which its type is known, where it lacks them."""
    words = _ASKS[item.kind]
    if kind_of(item.question) == item.kind:
        return item.question
    return f"{words} {item.question}" if item.kind == "bool" else f"{item.question} {words}"
