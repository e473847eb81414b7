"""What the numbers of an M3CoT run cannot tell, in whole sentences that an author may paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.reporting import (
    MADE_UP,
    PHANTOM,
    is_lexical,
    listed,
    rate,
    readers_listed,
    says_unseen,
)
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

__all__ = ["limitations"]

_JUDGED: Final = ("accuracy", "precision", "recall", "consistency")
_WORDS: Final = {
    "answer": "answers",
    "precision": "steps of the replies",
    "recall": "gold steps",
    "order": "order of steps",
}


def limitations(measures: Sequence[Measure], dataset: str = "") -> list[str]:
    """What the set and these measures give cause to say, then what holds for every run."""
    index = Index(measures)
    return [
        *([MADE_UP] if dataset.startswith(PHANTOM) else []),
        *_of_judges(index),
        *_of_replies(index),
        *_of_size(index),
        *_not_asked(index),
        *_STANDING,
    ]


def _of_judges(index: Index) -> Iterator[str]:
    judges = sorted(
        {
            record.by["judge"]
            for name in ("verdicts_judged", *_JUDGED)
            for record in index.every(name)
            if "judge" in record.by
        }
    )
    if not judges:
        yield "No judge was asked: answers and steps have no measure of being right."
        return
    for label, why in (
        (UNFIT, "failed on replies of known truth, so that numbers labelled so should not be used"),
        (NOT_CHECKED, "were not tried on enough replies of known truth"),
    ):
        found = _labelled(index, label)
        if found:
            yield f"Judges of the {listed(found)} {why} ({label})."
    if any(is_lexical(judge) for judge in judges):
        yield (
            "The lexical judge compares words and knows no medicine: what it judged is not "
            "comparable with published numbers, nor with those of another judge."
        )
    if len(judges) == 1:
        yield "A single judge judged: how far another would agree is not known."
    moved = [r for r in index.every("judge_shift") if r.value and r.low is not None and r.low > 0]
    if moved:
        yield (
            f"Of a judge's verdicts up to {rate(_most(moved))} changed with something that should "
            "not matter."
        )


def _most(records: Sequence[Measure]) -> Measure:
    return max(records, key=lambda record: record.value or 0.0)


def _labelled(index: Index, label: str) -> list[str]:
    """What the judges with this label judged, in words."""
    by_measure = {
        "accuracy": "answer",
        "precision": "precision",
        "recall": "recall",
        "consistency": "order",
    }
    return [
        _WORDS[question]
        for name, question in by_measure.items()
        if any(record.label == label for record in index.every(name) if record.reader)
    ]


def _of_replies(index: Index) -> Iterator[str]:
    said = {
        "refused": "refused some questions",
        "empty": "gave some blank replies",
        "truncated": "had replies cut off at the token limit",
    }
    for name, words in said.items():
        worst = _worst(index, name)
        if worst:
            readers = readers_listed([record.reader for record in worst])
            yield f"{readers} {words}: at most {rate(_most(worst))} of what was asked in one way."
    invalid = [r for r in index.every("verdicts_invalid") if r.value]
    if invalid:
        yield f"Of a judge's verdicts up to {rate(_most(invalid))} could not be read."
    missing = [r for r in index.every("answered") if r.value is not None and r.value < 1]
    if missing:
        least = min(missing, key=lambda record: record.value or 0.0)
        yield f"Not every item has a reply in words: of one reader only {rate(least)} have."


def _worst(index: Index, name: str) -> list[Measure]:
    return [record for record in index.every(name) if record.reader and record.value]


def _of_size(index: Index) -> Iterator[str]:
    sizes = [record.n for record in index.every("answered") if record.n and not _asked_less(record)]
    if sizes and min(sizes) < _FEW:
        yield f"The run has {min(sizes)} items only: its intervals are wide, and tasks have few."
    own = (*index.every("answered"), *index.every("image_effect"))
    unseeing = [record.reader for record in own if says_unseen(record)]
    if unseeing:
        yield f"Without any picture, from the words alone, reasoned {readers_listed(unseeing)}."


_FEW: Final = 100


def _asked_less(record: Measure) -> bool:
    return "image" in record.by or "follow" in record.by


def _not_asked(index: Index) -> Iterator[str]:
    if not index.every("image_effect"):
        yield (
            "Whether answers and reasoning depend on the image was not asked: right steps may come "
            "from the words of the question."
        )
    if not index.every("answer_kept"):
        yield "Whether the answer follows from the reasoning that precedes it was not asked."


_STANDING: Final = (
    "The gold steps are one path that experts wrote down; a sound argument by another path scores "
    "as wrong or missing.",
    "Judges are language models that see no image: they compare words with the gold steps, and a "
    "judge that is fit on plain cases may still err on hard ones. A sample judged by a person "
    "says how far.",
    "Agreement with a clinician's steps on examination questions is not clinical performance.",
    "Items may have been in a model's training data; nothing here can rule that out.",
)
